"""Certificates of folders, as every export has one."""

from pathlib import Path

import pytest

from dragoman.errors import ModelError
from dragoman.interop import certify, certify_reader
from dragoman.interop.onnx import OnnxReader, OnnxTranslator, open_onnx, write_onnx
from dragoman.nn import EncoderDecoder
from tests.interop.models import random_bundle
from tests.interop.onnx.graphs import one_stack, reader, translator

pytest.importorskip("onnx", reason="needs onnx: the extra onnx")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: the extra onnx")


def test_a_translator_gets_its_certificate(tmp_path: Path) -> None:
    bundle = random_bundle({"positions": {"kind": "learned", "max_length": 24}, "kv_heads": 2})
    certificate = certify(bundle, translator(tmp_path / "model", bundle))
    assert certificate.client.startswith("onnxruntime 1.")
    assert certificate.largest < 1e-4
    for searched in certificate.searches:
        assert searched.equal + searched.ties == searched.probes
        assert searched.equal > searched.probes / 2


@pytest.mark.parametrize("architecture", ["decoder-only", "encoder-only"])
def test_a_model_of_one_text_gets_its_certificate(architecture: str, tmp_path: Path) -> None:
    bundle = one_stack({}, architecture=architecture)
    certificate = certify_reader(bundle, reader(tmp_path / "model", bundle))
    assert certificate.largest < 1e-4


def test_integers_get_one_that_says_how_far_off_they_are(tmp_path: Path) -> None:
    bundle = random_bundle({})
    write_onnx(tmp_path / "model", bundle, quantization="int8")
    opened = open_onnx(tmp_path / "model", bundle, threads=1)
    assert isinstance(opened, OnnxTranslator)
    assert certify(bundle, opened, exact=False).largest > 1e-4
    with pytest.raises(ModelError, match="differs from Dragoman by"):
        certify(bundle, opened)


def test_the_first_part_that_differs_is_named(tmp_path: Path) -> None:
    bundle = random_bundle({"norm_order": "pre"})
    assert isinstance(bundle.model, EncoderDecoder)
    opened = translator(tmp_path / "model", bundle)
    # What the folder was not written from: one weight of one part.
    bundle.model.decoder.layers[1].cross_attention.output.weight.data[3, 5] += 1  # pyright: ignore  # a layer
    with pytest.raises(ModelError, match=r"log-probabilities, first in decoder\.layers\.1 \(by"):
        certify(bundle, opened)
    assert not list((tmp_path / "model").glob(".*"))


def test_another_model_of_one_text_is_refused(tmp_path: Path) -> None:
    bundle = one_stack({}, architecture="decoder-only")
    opened = reader(tmp_path / "model", bundle)
    assert isinstance(opened, OnnxReader)
    next(bundle.model.parameters()).data[:, 0] += 0.5
    with pytest.raises(ModelError, match=r"differs from Dragoman by .* in outputs"):
        certify_reader(bundle, opened)
