"""Every choice of ``[model]`` as graphs: the numbers are ours, in every way of feeding them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch
from dragoman.errors import ConfigError
from dragoman.interop.onnx import beyond_onnx, write_onnx
from dragoman.interop.onnx.session import OnnxSession
from dragoman.models import build_model, read_config
from dragoman.nn import CausalLM, EncoderDecoder, EncoderOnly
from tests.interop.models import SPECIAL, our_search, random_bundle, sources, tokenizers
from tests.interop.onnx.graphs import (
    assert_same,
    fed_in_parts,
    one_stack,
    padded_pairs,
    reader,
    translator,
)
from tests.models.choices import BASELINES, ONE_STACK, TRANSFORMERS

pytest.importorskip("onnx", reason="needs onnx: the extra onnx")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: the extra onnx")

EXTRA: dict[str, dict[str, Any]] = {
    "starts-with-padding": {"starts_with_padding": True},
    "local-nothing-but-itself": {"attention": {"kind": "local", "keys": 1}},
    "sparse-without-global": {
        "attention": {"kind": "sparse", "keys": 3, "global_positions": []},
    },
    "scaled-local-shaw": {
        "attention": {"kind": "local", "keys": 5, "scale": 0.7},
        "positions": {"kind": "shaw", "clip": 2},
        "kv_heads": 2,
    },
    "additive-grouped": {"attention": {"kind": "additive"}, "kv_heads": 2},
    "linear-biased": {"attention": {"kind": "linear"}, "attention_bias": True, "kv_heads": 1},
    "pre-gated-rms": {"norm": "rms", "norm_order": "pre", "feedforward": "gated"},
    "alibi-odd-heads": {"positions": {"kind": "alibi"}, "heads": 3, "d_k": 8},
}
CHOICES = TRANSFORMERS | EXTRA
ENCODERS: dict[str, dict[str, Any]] = {
    "states": {"head": "none"},
    "vectors": {"head": "pooled"},
    "classes": {"head": "class", "classes": ["a", "b", "c"]},
    "classes-unpooled": {"head": "class", "classes": ["a", "b", "c"], "pooled": False},
    "tags": {"head": "tags", "classes": ["a", "b", "c"]},
    "segments": {"segments": 2, "embedding_norm": True, "activation": "gelu"},
    "narrow-pieces": {"embedding_width": 16, "tied": "none", "output_bias": True},
    "narrow-up-to-the-norm": {
        "embedding_width": 16,
        "embedding_projection": "last",
        "embedding_norm": True,
        "segments": 2,
    },
}
IMAGES: dict[str, dict[str, Any]] = {
    "images": {},
    "images-learned": {"positions": {"kind": "learned", "max_length": 13}, "norm_order": "pre"},
    "images-rotary": {"positions": {"kind": "rotary"}, "embedding_norm": True},
}


@pytest.mark.parametrize("name", CHOICES)
def test_an_encoder_decoder_gives_our_logits_whole_in_parts_and_alone(
    name: str, tmp_path: Path
) -> None:
    bundle = random_bundle(CHOICES[name])
    assert isinstance(bundle.model, EncoderDecoder)
    source, target = padded_pairs()
    with torch.inference_mode():
        ours = bundle.model(source, target)
    opened = translator(tmp_path / "model", bundle)
    start = opened.start(sources())
    real = target != SPECIAL.padding
    whole, _ = start.feed(target.numpy())
    assert_same(whole[real.numpy()], ours[real])
    assert_same(fed_in_parts(start, target)[real.numpy()], ours[real])
    for row in (0, 2, 5):  # of different length, without padding
        ids = sources(seed=6)[row]
        alone = opened.log_probs(sources()[row], ids)
        assert_same(alone, ours[row, : len(ids) + 1].log_softmax(-1))


@pytest.mark.parametrize("name", ["paper", "linear-grouped", "local-rotary", "shaw", "learned"])
def test_searches_find_what_ours_find(name: str, tmp_path: Path) -> None:
    bundle = random_bundle(CHOICES[name])
    opened = translator(tmp_path / "model", bundle)
    for beam in (1, 4):
        config = BeamSearch(beam=beam, length_penalty="average", alpha=1.0)
        together = opened.search(sources(), config, [14] * len(sources()))
        for source, found in zip(sources(), together, strict=True):
            (ours,) = our_search(bundle, source, config, 14)
            assert found == list(ours.ids)
            assert opened.translate(source, beam=beam, max_length=14) == found


@pytest.mark.parametrize("name", [*ONE_STACK, *EXTRA])
def test_a_decoder_alone_gives_our_logits_whole_and_in_parts(name: str, tmp_path: Path) -> None:
    choices = {key: each for key, each in CHOICES[name].items() if key != "starts_with_padding"}
    bundle = one_stack(choices, architecture="decoder-only")
    assert isinstance(bundle.model, CausalLM)
    _, texts = padded_pairs()
    with torch.inference_mode():
        ours = bundle.model(texts)
    opened = reader(tmp_path / "model", bundle)
    start = OnnxSession(opened.graph, {}, opened.graph.nothing(len(texts)))
    real = texts != SPECIAL.padding
    assert_same(fed_in_parts(start, texts)[real.numpy()], ours[real])
    for row in (0, 2):
        ids = texts[row][real[row]].tolist()
        assert_same(opened.outputs(ids), ours[row, : len(ids)])


@pytest.mark.parametrize("name", [*ONE_STACK, *EXTRA, *ENCODERS])
def test_an_encoder_alone_gives_our_outputs(name: str, tmp_path: Path) -> None:
    choices = ENCODERS.get(name) or CHOICES.get(name) or {}
    choices = {key: each for key, each in choices.items() if key != "starts_with_padding"}
    bundle = one_stack(choices, architecture="encoder-only")
    assert isinstance(bundle.model, EncoderOnly)
    texts, _ = padded_pairs()
    segments = torch.arange(texts.size(1)).ge(4).long().expand(texts.shape)
    with torch.inference_mode():
        ours = bundle.model(texts, segments if choices.get("segments") else None)
        single = bundle.model(texts[:1, :2])
    opened = reader(tmp_path / "model", bundle)
    theirs = opened.graph.run({"ids": texts.numpy(), "segments": segments.numpy()})
    (found,) = theirs.values()
    if ours.dim() == 3:
        real = texts != SPECIAL.padding
        assert_same(found[real.numpy()], ours[real])
    else:
        assert_same(found, ours)
    assert_same(opened.outputs(texts[0, :2].tolist()), single[0])


@pytest.mark.parametrize("name", IMAGES)
def test_an_encoder_of_images_gives_our_outputs(name: str, tmp_path: Path) -> None:
    images = {"height": 6, "width": 8, "channels": 3, "patch": 2}
    kind = {"architecture": "encoder-only", "head": "class", "classes": ["a", "b"]}
    bundle = one_stack(IMAGES[name], images=images, **kind)
    pixels = torch.rand(5, 6, 8, 3, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        ours = bundle.model(pixels)  # pyright: ignore  # an encoder of images
    opened = reader(tmp_path / "model", bundle)
    assert_same(opened.graph.run({"images": pixels.numpy()})["logits"], ours)
    assert_same(opened.outputs_of_image(pixels[0].numpy()), ours[0])


@pytest.mark.parametrize("name", BASELINES)
def test_what_is_no_transformer_is_refused_before_anything_is_written(
    name: str, tmp_path: Path
) -> None:
    config = read_config({"layers": 1, "d_model": 32, "vocabulary": 290, **BASELINES[name]})
    bundle = Bundle(config, build_model(config), tokenizers()[:1])
    kind = config.architecture
    with pytest.raises(ConfigError, match=f"model.architecture: a {kind} model is not written as"):
        write_onnx(tmp_path / "model", bundle)
    assert not list(tmp_path.iterdir())
    assert [each.place for each in beyond_onnx(config)] == ["architecture"]


def test_two_hypotheses_of_a_source_read_it_without_a_copy(tmp_path: Path) -> None:
    bundle = random_bundle({})
    opened = translator(tmp_path / "model", bundle)
    start = opened.start(sources()[:3])
    both = OnnxSession(start.graph, start.memory, start.graph.nothing(6))
    ids = np.array([[1, 5], [1, 9], [1, 5], [1, 9], [1, 5], [1, 9]])
    logits, _ = both.feed(ids)
    for column, piece in enumerate((5, 9)):
        alone, _ = start.feed(np.array([[1, piece]] * 3))
        np.testing.assert_allclose(logits[column::2], alone, rtol=1e-4, atol=1e-4)


def test_positions_have_no_end_where_they_are_computed(tmp_path: Path) -> None:
    bundle = random_bundle({"decoder_positions": {"kind": "rotary"}})
    assert isinstance(bundle.model, EncoderDecoder)
    rng = torch.Generator().manual_seed(2)
    source, target = (torch.randint(4, 290, (1, 700), generator=rng) for _ in range(2))
    with torch.inference_mode():
        ours = bundle.model(source, target)
    opened = translator(tmp_path / "model", bundle)
    session = OnnxSession.start(opened.encoder, opened.step, source.numpy())
    assert_same(session.feed(target.numpy())[0], ours)
