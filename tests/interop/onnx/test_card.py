"""The program on the card of a folder."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
import torch

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch, decode
from dragoman.interop.onnx import OnnxTranslator, open_onnx, write_onnx
from dragoman.models import read_config
from dragoman.nn import CausalLM, EncoderDecoder
from dragoman.tokenization import Imported, ImportedTokenizer, SpecialIds
from tests.interop.models import SIZES, SPECIAL, random_bundle, sources
from tests.interop.onnx.cards import program_of, run_card
from tests.interop.onnx.graphs import assert_same, drawn, one_stack
from tests.tokenization.foreign import LINES, settings_of

pytest.importorskip("onnx", reason="needs onnx: the extra onnx")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: the extra onnx")


GREEDY = BeamSearch(beam=1, max_length=200)


def library_text(file: Path, ids: Sequence[int]) -> str:
    """Turn ids into text as the library does: ours is better at bytes that are no UTF-8."""
    return tokenizers.Tokenizer.from_file(str(file)).decode(list(ids))


@pytest.mark.parametrize(
    "positions", [{"kind": "sinusoidal"}, {"kind": "learned", "max_length": 30}]
)
def test_the_program_on_the_card_translates_as_our_greedy_search(
    positions: dict[str, Any], tmp_path: Path
) -> None:
    folder, bundle = tmp_path / "model", random_bundle({"positions": positions}, joint=False)
    assert isinstance(bundle.model, EncoderDecoder)
    write_onnx(folder, bundle)
    texts = ["Ein Mann", "Zwei Hunde laufen.", "", "Das Kind 😀"]
    config = BeamSearch(beam=1, max_length=bundle.model.max_target_length or 200)
    found = decode(bundle.model, bundle.source_tokenizer.encode_many(texts), config, SPECIAL)
    assert run_card(folder, *texts) == "".join(
        f"{library_text(folder / 'target.tokenizer.json', best.ids)}\n"
        for best, *_ in found  # pyright: ignore  # there was room
    )


def test_the_program_on_the_card_of_a_language_model_continues_text(tmp_path: Path) -> None:
    learned = {"positions": {"kind": "learned", "max_length": 12}}
    bundle = one_stack(learned, architecture="decoder-only")
    assert isinstance(bundle.model, CausalLM)
    write_onnx(tmp_path / "model", bundle)
    ids = [SPECIAL.start, *bundle.source_tokenizer.encode("A man")]
    while len(ids) < 12 + 1:  # the last piece is not fed
        with torch.no_grad():
            scores = bundle.model(torch.tensor([ids]))[0, -1]
        scores[[SPECIAL.padding, SPECIAL.start, SPECIAL.unknown]] = -torch.inf
        best = int(scores.argmax())
        if best == SPECIAL.end:
            break
        ids.append(best)
    expected = library_text(tmp_path / "model" / "tokenizer.json", ids[1:])
    assert run_card(tmp_path / "model", "A man") == expected + "\n"


def test_the_program_on_the_card_of_an_encoder_prints_its_outputs(tmp_path: Path) -> None:
    choices = {"head": "class", "classes": ["a", "b"], "segments": 2}
    bundle = one_stack(choices, architecture="encoder-only")
    write_onnx(tmp_path / "model", bundle)
    ids = [SPECIAL.start, *bundle.source_tokenizer.encode("A man"), SPECIAL.end]
    with torch.inference_mode():
        (ours,) = bundle.model(torch.tensor([ids]))  # pyright: ignore  # an encoder
    name, numbers = run_card(tmp_path / "model", "A man").split(maxsplit=1)
    assert name == "logits"
    assert json.loads(numbers) == pytest.approx(ours.tolist(), rel=1e-4, abs=1e-4)


def test_the_program_on_the_card_of_an_encoder_of_images_reads_files(tmp_path: Path) -> None:
    images = {"height": 4, "width": 4, "channels": 1, "patch": 2}
    kind = {"architecture": "encoder-only", "head": "pooled"}
    bundle = one_stack({}, images=images, **kind)
    write_onnx(tmp_path / "model", bundle)
    names = sorted(file.name for file in (tmp_path / "model").iterdir())
    assert names == ["README.md", "config.json", "encoder.onnx"]
    pixels = np.random.default_rng(1).random((4, 4, 1), dtype=np.float32)
    np.save(tmp_path / "picture.npy", pixels)
    with torch.inference_mode():
        (ours,) = bundle.model(torch.tensor(pixels)[None])  # pyright: ignore  # an encoder
    name, numbers = run_card(tmp_path / "model", str(tmp_path / "picture.npy")).split(maxsplit=1)
    assert name == "vectors"
    assert json.loads(numbers) == pytest.approx(ours.tolist(), rel=1e-4, abs=1e-4)


def test_what_stands_around_texts_is_that_of_the_model(tmp_path: Path) -> None:
    framed = {"source_before": [7], "source_after": [2, 8], "target_before": [2, 9]}
    folder, bundle = tmp_path / "model", random_bundle(framed)
    assert isinstance(bundle.model, EncoderDecoder)
    write_onnx(folder, bundle)
    opened = open_onnx(folder, bundle, threads=1)
    assert isinstance(opened, OnnxTranslator)
    for source, target in zip(sources(4), sources(4, seed=6), strict=True):
        with torch.inference_mode():
            ours = bundle.model(torch.tensor([[7, *source, 2, 8]]), torch.tensor([[2, 9, *target]]))
        assert_same(opened.log_probs(source, target), ours[0, 1:].log_softmax(-1))
    config = BeamSearch(beam=4, length_penalty="average", alpha=1.0, max_length=14)
    for source, (best, *_) in zip(sources(), decoded(bundle, sources(), config), strict=True):
        assert opened.translate(source, beam=4, max_length=14) == list(best.ids)
    (best, *_) = decoded(bundle, bundle.source_tokenizer.encode_many(["A man"]), GREEDY)[0]
    expected = library_text(folder / "tokenizer.json", best.ids)
    assert run_card(folder, "A man") == f"{expected}\n"


LISTED = ("</s>", "<unk>", "<pad>", *(word for line in LINES for word in line.split()))
VOCABULARIES: dict[str, tuple[str, dict[str, Any]]] = {
    "unigram": ("unigram", {"special": SpecialIds(padding=0, start=0, end=1, unknown=2)}),
    "byte-level": ("byte-level", {"special": SpecialIds(padding=0, start=0, end=0, unknown=0)}),
    "longer": (
        "byte-fallback",
        {"special": SpecialIds(padding=0, start=1, end=2, unknown=0), "size": 600},
    ),
    "listed": (
        "words",
        {
            "special": SpecialIds(padding=2, start=2, end=0, unknown=1),
            "names": tuple(dict.fromkeys(LISTED)),
        },
    ),
}


@pytest.mark.parametrize("name", VOCABULARIES)
def test_vocabularies_of_other_toolkits_keep_their_ids(name: str, tmp_path: Path) -> None:
    kind, facts = VOCABULARIES[name]
    tokenizer = ImportedTokenizer(settings_of(kind), Imported(**facts))
    sizes = {"vocabulary": tokenizer.size, "padding": tokenizer.special.padding}
    learned = {"positions": {"kind": "learned", "max_length": 120}}
    config = read_config({**SIZES, **sizes, **learned, "starts_with_padding": True})
    bundle = Bundle(config, drawn(config), (tokenizer,))
    write_onnx(tmp_path / "model", bundle)
    lines = (*LINES, "", "The old river")
    found = decoded(bundle, tokenizer.encode_many(lines), GREEDY)
    expected = "".join(f"{tokenizer.decode(best.ids)}\n" for best, *_ in found)
    assert run_card(tmp_path / "model", *lines) == expected


@pytest.mark.parametrize("name", VOCABULARIES)
def test_the_program_takes_no_typed_symbol_for_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, facts = VOCABULARIES[name]
    tokenizer = ImportedTokenizer(settings_of(kind), Imported(**facts))
    sizes = {"vocabulary": tokenizer.size, "padding": tokenizer.special.padding}
    config = read_config({**SIZES, **sizes})
    write_onnx(tmp_path / "model", Bundle(config, drawn(config), (tokenizer,)))
    program = program_of(tmp_path / "model").partition("encoder, step =")[0]
    monkeypatch.chdir(tmp_path / "model")
    names: dict[str, Any] = {}
    exec(program, names)
    symbols = " ".join(("</s>", "<pad>", "<unk>", "<s>", "<|endoftext|>", "<extra_id_0>"))
    allowed = {tokenizer.special.unknown} - {tokenizer.special.end, tokenizer.special.padding}
    given = {*names["encode"](f"The {symbols} river{symbols}")}
    assert not given & ({*tokenizer.controls.values()} - allowed)


def decoded(bundle: Bundle, ids: Sequence[Sequence[int]], config: BeamSearch) -> list[Any]:
    """Translate with our own search."""
    assert isinstance(bundle.model, EncoderDecoder)
    return decode(bundle.model, ids, config, bundle.frame)
