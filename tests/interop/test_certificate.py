import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.errors import ModelError
from dragoman.interop import certify
from dragoman.interop.certificate import difference
from dragoman.interop.own_side import Own
from tests.fixtures import encoder_decoder, tiny_bundle
from tests.interop.models import random_bundle, sources

Array = NDArray[np.float32]


class Twin(Own):
    """Another program with the same model: our own, under another name."""

    name = "twin"


def changed(weight: str, by: float) -> Bundle:
    """Make the model of ``tiny_bundle`` with one weight that is off."""
    bundle = tiny_bundle(layers=2)
    with torch.no_grad():
        encoder_decoder(bundle).get_parameter(weight).view(-1)[::3] += by
    return bundle


def test_a_model_agrees_with_itself() -> None:
    found = certify(tiny_bundle(), Twin(tiny_bundle()))
    assert found.largest == 0
    assert [(each.name, each.equal, each.ties) for each in found.searches] == [
        ("greedy", found.probes, 0),
        ("beam 4", found.probes, 0),
    ]
    assert found.probes > 20


def test_probes_hold_empty_long_and_unseen_text() -> None:
    sources: list[list[int]] = []

    class Noting(Twin):
        def translate(self, source: Sequence[int], *, beam: int, max_length: int) -> list[int]:
            sources.append(list(source))
            return super().translate(source, beam=beam, max_length=max_length)

    bundle = tiny_bundle()
    certify(bundle, Noting(bundle))
    tokenizer = bundle.source_tokenizer
    assert [] in sources
    assert max(map(len, sources)) >= 60
    assert any("☃" in tokenizer.decode(source) for source in sources)


@pytest.mark.parametrize(
    ("weight", "layer"),
    [
        ("source_input.embedding.table", "source_input"),
        ("encoder.layers.0.feed_forward.inner.bias", "encoder.layers.0"),
        ("encoder.layers.1.attention.output.weight", "encoder.layers.1"),
        ("decoder.layers.1.cross_attention.output.weight", "decoder.layers.1"),
    ],
)
def test_the_first_layer_that_differs_is_named(weight: str, layer: str) -> None:
    with pytest.raises(ModelError, match=f"twin: differs .* first in {layer} "):
        certify(tiny_bundle(layers=2), Twin(changed(weight, 3.0)))


def test_a_difference_within_the_tolerance_passes_and_is_written_down() -> None:
    weight = "decoder.layers.1.feed_forward.output.bias"
    found = certify(tiny_bundle(layers=2), Twin(changed(weight, 1e-5)))
    assert 0 < found.largest <= found.tolerance == 1e-4
    for each in found.searches:
        assert each.equal + each.ties == each.probes


def test_numbers_in_fewer_bits_may_differ() -> None:
    bundle = tiny_bundle(layers=2)
    found = certify(
        bundle, Twin(changed("decoder.layers.1.cross_attention.output.weight", 3.0)), exact=False
    )
    assert found.largest > 0.01
    assert math.isinf(found.tolerance)
    assert found.as_json()["tolerance"] is None
    assert any(each.equal < each.probes for each in found.searches)


def test_log_probabilities_of_the_target_alone_are_enough() -> None:
    class Tells(Twin):
        def log_probs(
            self, source: Sequence[int], target: Sequence[int], *, given: bool = False
        ) -> Array:
            return super().log_probs(source, target, given=True)

    assert certify(tiny_bundle(), Tells(tiny_bundle())).largest == 0
    off = changed("decoder.layers.1.cross_attention.output.weight", 3.0)
    with pytest.raises(ModelError, match="differs"):
        certify(tiny_bundle(layers=2), Tells(off))


def test_another_translation_with_the_same_log_probabilities_is_refused() -> None:
    class Shorter(Twin):
        def translate(self, source: Sequence[int], *, beam: int, max_length: int) -> list[int]:
            return super().translate(source, beam=beam, max_length=max_length)[:-1]

    with pytest.raises(ModelError, match="twin: probe 0 is translated as"):
        certify(tiny_bundle(), Shorter(tiny_bundle()))


def test_a_choice_between_equal_candidates_hangs_on_rounding() -> None:
    bundle = tiny_bundle()
    model = encoder_decoder(bundle)
    with torch.no_grad():
        model.generator.table.zero_()  # every piece is as probable as any other
    assert Own(bundle).undecided([5, 6], beam=1, max_length=5, noise=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_probes_searched_together_are_translated_as_alone(beam: int) -> None:
    own, how = Own(random_bundle({})), {"beam": beam, "max_length": 15}
    together = own.translate_all([*sources(), []], **how)
    assert together == [own.translate(source, **how) for source in [*sources(), []]]
    assert len({len(ids) for ids in together}) > 1  # they end at different steps
    assert own.translate_all([], **how) == []


def test_a_clear_choice_does_not_hang_on_rounding() -> None:
    bundle = tiny_bundle()
    assert not Own(bundle).undecided([5, 6], beam=1, max_length=5, noise=1e-9)


def test_probes_fit_the_positions_of_both_sides() -> None:
    bundle = tiny_bundle(learned=9)
    assert certify(bundle, Twin(bundle)).largest == 0


def test_other_shapes_differ_without_end() -> None:
    assert difference(np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)) == math.inf


def test_infinities_agree_only_with_themselves() -> None:
    one = np.array([-np.inf, 0.0], np.float32)
    assert difference(one, one.copy()) == 0
    assert difference(one, np.array([0.0, 0.0], np.float32)) == math.inf
    assert difference(np.array([0.0], np.float32), np.array([np.nan], np.float32)) == math.inf


def test_large_numbers_may_differ_by_a_part_of_them() -> None:
    one, two = np.array([-1000.0], np.float32), np.array([-1000.5], np.float32)
    assert difference(one, two) == pytest.approx(5e-4)
