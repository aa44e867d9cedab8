"""A package is held to the model that it was written from, by ids and by texts."""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.errors import ModelError
from dragoman.interop.argos import ArgosParts, certificate, certify_argos
from tests.interop.argos.bundles import package, writing_bundle
from tests.interop.argos.test_client import with_client
from tests.interop.models import random_bundle

pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")
pytest.importorskip("sentencepiece", reason="needs sentencepiece, which tests have")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave Argos Translate out, which takes seconds to start."""

    def find_none(_: str) -> None:
        return None

    monkeypatch.setattr(certificate, "find_spec", find_none)
    monkeypatch.setattr(certificate, "_DRAWN", 1)


@pytest.mark.usefixtures("alone")
def test_a_package_agrees_with_its_model(tmp_path: Path) -> None:
    # Drawn weights write all sorts of pieces, unknown ones and broken characters too.
    bundle = random_bundle({"norm_order": "pre", "attention_bias": True})
    found = certify_argos(package(tmp_path, bundle), bundle)
    assert found.largest < found.tolerance
    assert found.client.startswith("ctranslate2.Translator with sentencepiece")
    names = [each.name for each in found.searches]
    assert names == ["ids, greedy", "ids, beam 4", "texts, greedy", "texts, beam 4"]
    assert all(each.equal + each.ties == each.probes for each in found.searches)


@pytest.mark.usefixtures("alone")
def test_two_vocabularies_agree(tmp_path: Path) -> None:
    bundle = writing_bundle(joint=False)
    found = certify_argos(package(tmp_path, bundle), bundle)
    assert [each.ties for each in found.searches] == [0, 0, 0, 0]


@with_client
def test_argos_translate_is_asked_where_it_is_installed(tmp_path: Path) -> None:
    bundle = writing_bundle()
    found = certify_argos(package(tmp_path, bundle), bundle)
    assert found.client == "argostranslate"
    assert [each.equal for each in found.searches] == [each.probes for each in found.searches]


@pytest.mark.usefixtures("alone")
def test_another_weight_is_found_out(tmp_path: Path) -> None:
    bundle = writing_bundle()
    path = package(tmp_path, bundle)
    with torch.no_grad():
        bundle.model.get_parameter("encoder.layers.1.feed_forward.inner.weight").add_(0.01)
    with pytest.raises(ModelError, match=r"log-probabilities differ .* at most 1e-04 is allowed"):
        certify_argos(path, bundle)
    found = certify_argos(path, bundle, exact=False)
    assert found.largest > 1e-4
    assert found.as_json()["tolerance"] is None


@pytest.mark.usefixtures("alone")
def test_weights_in_fewer_bits_are_written_down(tmp_path: Path) -> None:
    bundle = writing_bundle()
    found = certify_argos(package(tmp_path, bundle, quantization="int8"), bundle, exact=False)
    assert 1e-4 < found.largest < 2


@pytest.mark.usefixtures("alone")
def test_another_text_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = writing_bundle()
    path = package(tmp_path, bundle)
    translate = ArgosParts.translate

    def lie(self: ArgosParts, texts: Sequence[str], *, beam: int) -> list[str]:
        found = translate(self, texts, beam=beam)
        return [*found[:3], f"{found[3]}!", *found[4:]]

    monkeypatch.setattr(ArgosParts, "translate", lie)
    with pytest.raises(ModelError, match=r"translates 'Ein Hund .*!' \(greedy\), Dragoman to"):
        certify_argos(path, bundle)


@pytest.mark.usefixtures("alone")
def test_pieces_in_another_order_are_found_out(tmp_path: Path) -> None:
    bundle: Bundle = writing_bundle()
    path, other = package(tmp_path, bundle), tmp_path / "other.argosmodel"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("shared_vocabulary.json"):
                names = json.loads(content)
                names[265], names[270] = names[270], names[265]
                content = json.dumps(names).encode()
            new.writestr(name, content)
    with pytest.raises(ModelError, match=r"differ from Dragoman's|translates"):
        certify_argos(other, bundle)
