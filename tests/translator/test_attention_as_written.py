"""The attention of a translation is that by which it was written, whatever its text is cut into."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.bundle import load_bundle
from dragoman.decoding import Ensemble, FusedEngine, Sampling, TorchEngine
from dragoman.nn import EncoderDecoder, MultiHeadAttention
from dragoman.translator import (
    Translation,
    Translator,
    attention_as_written,
    attention_note,
    attention_of_ids,
)
from tests.fixtures import GERMAN, encoder_decoder, tiny_bundle, tiny_folder, tiny_translator

SOURCE = GERMAN[0]


@pytest.fixture
def translator() -> Translator:
    return tiny_translator(layers=2)


def encoded_anew(translator: Translator, translation: Translation) -> tuple[int, ...]:
    return tuple(translator.bundle.target_tokenizer.encode(translation.text))


@contextmanager
def watched(model: EncoderDecoder) -> Iterator[dict[str, list[torch.Tensor]]]:
    """Note, by the formula of the paper, the weights of each step while a search runs."""
    steps: dict[str, list[torch.Tensor]] = {"decoder": [], "cross": []}

    def kernel_of(kind: str) -> Any:
        def kernel(q: Any, k: Any, v: Any, visible: Any = None, **given: Any) -> torch.Tensor:
            scale = given.get("scale") or q.size(-1) ** -0.5
            scores = q @ k.transpose(-1, -2) * scale
            if visible is not None:
                scores = scores.masked_fill(~visible, -torch.inf)
            weights = scores.softmax(-1)
            steps[kind].append(weights[0, :, -1])
            return weights @ v

        return kernel

    held: list[tuple[MultiHeadAttention, Any]] = []
    for layer in model.decoder.layers:
        for kind, name in (("decoder", "attention"), ("cross", "cross_attention")):
            module = layer.get_submodule(name)
            assert isinstance(module, MultiHeadAttention)
            held.append((module, module.kernel))
            module.kernel = kernel_of(kind)
    yield steps
    for module, kernel in held:
        module.kernel = kernel


def test_weights_are_those_formed_at_each_step_of_the_search(translator: Translator) -> None:
    with watched(encoder_decoder(translator.bundle)) as steps:
        (found,) = translator.translate([SOURCE], beam=1, max_length=10)
    (written,) = found.hypotheses[0].written
    assert written[: 10 - 1] != encoded_anew(translator, found)[: 10 - 1]  # or it proves nothing
    (maps,) = attention_as_written(translator.bundle, found)
    assert maps.written_pieces == found.tokens
    assert len(steps["cross"]) == 2 * len(written)  # the layers in turn at each step
    for layer in range(2):
        cross = torch.stack(steps["cross"][layer::2], 1)  # (H, T, S)
        np.testing.assert_allclose(maps.cross[layer], cross.numpy(), atol=1e-5)
        for row, weights in enumerate(steps["decoder"][layer::2]):
            shown = maps.decoder[layer][:, row, : row + 1]
            np.testing.assert_allclose(shown, weights.numpy(), atol=1e-5)
    read_again = translator.attention([SOURCE], [found.text])[0]
    assert read_again.written_pieces != maps.written_pieces
    for weights in (maps.encoder, maps.decoder, maps.cross):
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_looking_at_every_hypothesis_changes_no_translation(
    beam: int, translator: Translator
) -> None:
    asked: dict[str, Any] = {"beam": beam, "n_best": beam, "max_length": 9}
    before = translator.translate(GERMAN, **asked)
    for translation in before:
        for number, candidate in enumerate(translation.hypotheses):
            (maps,) = attention_as_written(translator.bundle, translation, number)
            assert maps.written_pieces == candidate.tokens
    assert translator.translate(GERMAN, **asked) == before  # texts, ids, scores


def test_each_part_of_a_long_text_is_shown_on_its_own() -> None:
    translator = tiny_translator(learned=12)
    (found,) = translator.translate(["der hund schläft . " * 4], max_length=5, beam=2)
    assert found.parts > 1
    maps = attention_as_written(translator.bundle, found)
    assert len(maps) == found.parts
    assert tuple(piece for part in maps for piece in part.written_pieces) == found.tokens
    tokenizer = translator.bundle.source_tokenizer
    for part, read in zip(maps, found.read, strict=True):
        assert part.source_pieces == (*tokenizer.pieces(read), "</s>")


STEERED: dict[str, dict[str, Any]] = {
    "a forced beginning": {"prefix": "the cat"},
    "a required word": {"required": ["milk"]},
    "a glossary": {"glossary": [("hund", "dog")]},
    "a banned word": {"banned_words": ["the"]},
    "drawn": {"sampling": Sampling(seed=3), "n_best": 2},
    "chosen by risk": {"mbr": 4},
}


@pytest.mark.parametrize("name", STEERED)
def test_whatever_steered_the_search_its_pieces_are_shown(
    name: str, translator: Translator
) -> None:
    (found,) = translator.translate([SOURCE], max_length=12, **STEERED[name])
    for number, candidate in enumerate(found.hypotheses):
        (maps,) = attention_as_written(translator.bundle, found, number)
        assert maps.written_pieces == candidate.tokens
        assert candidate.text == translator.bundle.target_tokenizer.decode(candidate.written[0])


def test_what_was_copied_has_no_attention(translator: Translator) -> None:
    (found,) = translator.translate(["123 !"])
    assert found.copied
    assert attention_as_written(translator.bundle, found) == []


def test_there_must_be_such_a_hypothesis(translator: Translator) -> None:
    (found,) = translator.translate([SOURCE], max_length=4)
    with pytest.raises(ValueError, match="hypothesis 1 of 1"):
        attention_as_written(translator.bundle, found, 1)


REFUSED: dict[str, tuple[list[int], list[int], str]] = {
    "outside the source": ([300], [2], "source: id 300, at 0"),
    "below": ([-1], [2], "source: id -1, at 0"),
    "padding is read": ([9, 0], [2], "source: id 0, at 1"),
    "outside the target": ([9], [9, 300, 2], "target: id 300, at 1"),
    "a start within": ([9], [1, 2], "target: id 1, at 0"),
    "an end within": ([9], [9, 2, 9, 2], "target: id 2, at 1"),
    "padding is written": ([9], [9, 0], "target: id 0, at 1"),
    "nothing": ([9], [], "target: no ids"),
    "a long source": ([9] * 12, [2], "source: 13 pieces, the model has 12 positions"),
    "a long target": ([9], [*[9] * 12, 2], "target: 13 pieces, the model has 12 positions"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_ids_that_no_search_reads_or_writes_are_refused(name: str) -> None:
    source, target, problem = REFUSED[name]
    with pytest.raises(ValueError, match=problem):
        attention_of_ids(tiny_bundle(learned=12), source, target)


def test_as_many_pieces_as_there_are_positions_are_shown() -> None:
    maps = attention_of_ids(tiny_bundle(learned=12), [9] * 11, [9] * 12)  # cut off after the last
    assert maps.cross.shape[2:] == (12, 12)


def test_an_engine_that_writes_by_other_weights_is_named(translator: Translator) -> None:
    pytest.importorskip("numba", reason="needs numba: the extra fast")
    model = translator.model
    assert attention_note(translator.engine) == ""
    assert "fused translates in int8" in attention_note(FusedEngine.of(model, "int8"))
    assert attention_note(FusedEngine.of(model, "float32")) == ""
    ensemble = Ensemble([encoder_decoder(tiny_bundle(seed=seed)) for seed in (1, 2)])
    assert attention_note(TorchEngine(ensemble)).startswith("2 models translate together")


def test_ctranslate2_writes_pieces_whose_attention_is_shown(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")
    from dragoman.interop import CTRANSLATE2_FOLDER, write_ctranslate2

    folder = tiny_folder(tmp_path / "model")
    write_ctranslate2(folder / CTRANSLATE2_FOLDER, load_bundle(folder))
    translator = Translator.load(folder, engine="ctranslate2")
    (found,) = translator.translate([SOURCE], max_length=8)
    (maps,) = attention_as_written(translator.bundle, found)
    assert maps.written_pieces == found.tokens
    assert attention_note(translator.engine) == ""
    whole = Translator.load(folder, engine="ctranslate2", dtype="int8")
    assert "ctranslate2 translates in int8" in attention_note(whole.engine)
