"""The search of a packed model finds what ``search`` finds on the same log-probabilities."""

from typing import Any

import pytest
import torch

from dragoman.decoding import BeamSearch, FusedEngine, Symbols, TorchEngine, search
from dragoman.decoding.fused import FusedModel, FusedSession, fused_search
from dragoman.errors import ModelError
from dragoman.nn import EncoderDecoder
from tests.decoding.fused.test_session import made

SYMBOLS = Symbols(1, 2, (0, 1, 3))
SEARCHES: list[dict[str, Any]] = [
    {"beam": 1},
    {"beam": 4},
    {"beam": 5, "n_best": 5, "alpha": 0.0},
    {"beam": 3, "n_best": 2, "alpha": -0.5},
    {"beam": 4, "length_penalty": "average", "alpha": 1.0, "patience": 1.0},
    {"beam": 2, "patience": 0.5, "word_reward": 0.3},
    {"beam": 4, "n_best": 3, "min_length": 5},
    {"beam": 60, "n_best": 20},  # wider than the vocabulary
]


def ending(seed: int) -> EncoderDecoder:
    """Make a model that ends a translation now and then, as fresh weights seldom do."""
    torch.manual_seed(seed)
    model = made()
    with torch.no_grad():
        model.generator.table[2] *= 2.5
    return model


def sources(seed: int) -> list[list[int]]:
    rng = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 9, (6,), generator=rng).tolist()
    return [[*torch.randint(4, 50, (n,), generator=rng).tolist(), 2] for n in lengths]


@pytest.mark.parametrize("config", SEARCHES, ids=str)
@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_it_finds_what_search_finds_to_the_bit(config: dict[str, Any], kind: Any) -> None:
    packed = FusedModel.of(ending(1), kind)
    wanted, ended = BeamSearch(**config), 0
    for seed in range(4):
        given = sources(seed)
        limits = [1 + (place + seed) * 3 for place in range(len(given))]
        expected = search(FusedSession(packed, given), wanted, SYMBOLS, limits)
        found = fused_search(FusedSession(packed, given), wanted, SYMBOLS, limits)
        assert found == expected
        ended += sum(not h.truncated for answer in found for h in answer)
    assert ended > 5


@pytest.mark.parametrize("config", SEARCHES, ids=str)
def test_in_float32_it_finds_what_the_model_finds(config: dict[str, Any]) -> None:
    model = ending(1)
    wanted, given = BeamSearch(**config), sources(7)
    limits = [12] * len(given)
    found = FusedEngine.of(model, "float32").search(given, wanted, SYMBOLS, limits)
    expected = TorchEngine(model.eval()).search(given, wanted, SYMBOLS, limits)
    for one, other in zip(found, expected, strict=True):
        assert [h.ids for h in one] == [h.ids for h in other]
        assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-4)
        assert [h.truncated for h in one] == [h.truncated for h in other]


@pytest.mark.parametrize(
    "config",
    [{"no_repeat_ngram": 1}, {"repetition_penalty": 1.5}, {"groups": 2}, {"coverage": 0.2}],
    ids=str,
)
def test_wishes_that_need_more_are_granted_too(config: dict[str, Any]) -> None:
    model, given = ending(2), sources(3)
    limits, prefixes = [12] * len(given), [[5, 6][: place % 3] for place in range(len(given))]
    wanted = BeamSearch(beam=4, n_best=2, **config)
    found = FusedEngine.of(model, "float32").search(
        given, wanted, SYMBOLS, limits, prefixes=prefixes
    )
    expected = TorchEngine(model).search(given, wanted, SYMBOLS, limits, prefixes=prefixes)
    assert [[h.ids for h in answer] for answer in found] == [
        [h.ids for h in answer] for answer in expected
    ]


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
def test_what_is_found_does_not_depend_on_neighbours(kind: Any) -> None:
    engine = FusedEngine.of(ending(3), kind)
    given, wanted = sources(5), BeamSearch(beam=3, n_best=2)
    together = engine.search(given, wanted, SYMBOLS, [15] * len(given))
    for source, answer in zip(given, together, strict=True):
        alone = engine.search([source], wanted, SYMBOLS, [15])[0]
        assert [h.ids for h in alone] == [h.ids for h in answer]
        if kind == "int8":
            assert alone == answer  # to the bit


def test_damaged_weights_are_reported() -> None:
    model = ending(1)
    with torch.no_grad():
        next(model.decoder.layers[0].parameters())[0, 0] = torch.nan
    for kind in ("float32", "int8"):
        with pytest.raises(ModelError, match="not numbers"):
            fused_search(
                FusedSession(FusedModel.of(model, kind), sources(1)), BeamSearch(), SYMBOLS, [9] * 6
            )


@pytest.mark.parametrize("bits", [-1, 0x7FFFFFFF])
def test_no_bits_that_are_no_number_pass_as_one_in_bfloat16(bits: int) -> None:
    model = ending(1)
    gain: Any = model.decoder.layers[0].attention_residual.norm
    with torch.no_grad():
        gain.gain.view(torch.int32)[::7] = bits
    with pytest.raises(ModelError, match="not numbers"):
        FusedEngine.of(model, "bfloat16").search(sources(1), BeamSearch(), SYMBOLS, [9] * 6)


def test_a_room_that_another_thread_takes_first_is_made_anew() -> None:
    class Emptied(list[Any]):
        """Looks as if it held a room that is gone when it is taken."""

        def __len__(self) -> int:
            return 1

    engine = FusedEngine.of(ending(1), "float32")
    engine._rooms = Emptied()  # pyright: ignore[reportPrivateUsage]  # what another thread leaves
    assert len(engine.search(sources(1), BeamSearch(), SYMBOLS, [9] * 6)) == 6


def test_limits_must_fit_the_sentences() -> None:
    packed = FusedModel.of(ending(1), "float32")
    for limits in ([5], [0] * 6):
        with pytest.raises(ValueError, match="limits"):
            fused_search(FusedSession(packed, sources(1)), BeamSearch(), SYMBOLS, limits)
