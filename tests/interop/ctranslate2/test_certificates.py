"""Certificates of both ways: the library on what we read, and on what we wrote."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import Bundle
from dragoman.errors import ModelError
from dragoman.interop import (
    certify,
    certify_reader,
    import_ctranslate2,
    open_ctranslate2,
    write_ctranslate2,
)
from dragoman.interop.certificate import Certificate
from dragoman.interop.ctranslate2 import CTranslate2Side
from tests.interop.ctranslate2.binaries import PRETRAINED
from tests.interop.models import random_bundle

pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")


def certificate(folder: Path, bundle: Bundle) -> Certificate:
    side = open_ctranslate2(folder, bundle)
    if isinstance(side, CTranslate2Side):
        return certify(bundle, side)
    return certify_reader(bundle, side)


def assert_all_equal(found: Certificate) -> None:
    assert found.largest < 1e-4
    assert all(each.equal == each.probes > 0 for each in found.searches)


@pytest.mark.skipif(not PRETRAINED.is_dir(), reason="needs ../shared/data/pretrained")
@pytest.mark.parametrize(
    "name",
    [
        "ct2-aren-transliteration/v1-aren-transliteration",
        "ct2-aren-transliteration/v2-aren-transliteration-i8",
        "ct2-opennmt-lm",
    ],
)
def test_published_folders_are_certified(name: str) -> None:
    folder = PRETRAINED / name
    assert_all_equal(certificate(folder, import_ctranslate2(folder)))


@pytest.mark.parametrize(
    "choices",
    [
        {"norm_order": "pre", "positions": {"kind": "t5"}},
        {"source_before": [5], "source_after": [], "target_before": [7]},
        {"architecture": "decoder-only", "positions": {"kind": "alibi"}},
        {"architecture": "encoder-only", "head": "pooled"},
    ],
    ids=str,
)
def test_folders_of_ours_are_certified(choices: dict[str, Any], tmp_path: Path) -> None:
    bundle = random_bundle(choices)
    write_ctranslate2(tmp_path / "model", bundle)
    assert_all_equal(certificate(tmp_path / "model", bundle))


def test_another_model_is_not_certified(tmp_path: Path) -> None:
    write_ctranslate2(tmp_path / "model", random_bundle({}))
    with pytest.raises(ModelError, match=r"ctranslate2.Translator: differs from Dragoman by"):
        certificate(tmp_path / "model", random_bundle({}, seed=4))
