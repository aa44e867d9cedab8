"""Going out and coming in as users meet it: options, folders that are there, kinds of source."""

import json
import pickle
import shutil
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from dragoman.bundle import Bundle, load_bundle, save_bundle
from dragoman.errors import ConfigError, ModelError
from dragoman.interop import (
    PROOF,
    ExportOptions,
    ImportOptions,
    export_bundle,
    formats,
    import_model,
    probes,
    write_ctranslate2,
)
from dragoman.interop import certificate as certificates
from dragoman.interop.importing import KINDS, Source, find_kind
from dragoman.run import export
from tests.fixtures import tiny_bundle
from tests.interop.models import random_bundle

FLOAT = ExportOptions()


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return tiny_bundle()


@pytest.fixture(scope="module")
def written(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written") / "ct2"
    export_bundle(bundle, "ctranslate2", folder, FLOAT, card="# Card\n\nof the model\n")
    return folder


def test_the_card_tells_use_certificate_and_model(written: Path) -> None:
    card = (written / "README.md").read_text()
    assert "ctranslate2.Translator" in card
    assert "greedy: the same for 26 of 26" in card
    assert card.rstrip().endswith("of the model")
    assert json.loads((written / PROOF).read_text())["probes"] == 26


def test_a_folder_that_an_export_made_is_replaced_and_no_other(
    bundle: Bundle, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    export_bundle(bundle, "ctranslate2", folder, FLOAT)
    export_bundle(bundle, "ctranslate2", folder, FLOAT)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    with pytest.raises(ConfigError, match="holds something else"):
        export_bundle(bundle, "ctranslate2", other, FLOAT)
    with pytest.raises(ConfigError, match="holds something else"):
        import_model(folder, other)
    assert [each.name for each in other.iterdir()] == ["thesis.txt"]


def test_a_folder_is_replaced_by_the_same_conversion_alone(
    written: Path, bundle: Bundle, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    import_model(written, model)
    import_model(written, model)
    before = (model / "model.safetensors").read_bytes()
    with pytest.raises(ConfigError, match="holds something else"):
        export_bundle(bundle, "ctranslate2", model, FLOAT)  # the model itself, say
    with pytest.raises(ConfigError, match="ct2; choose a new folder"):
        import_model(written, written)
    (model / "notes.txt").write_text("years of work")
    with pytest.raises(ConfigError, match=r"holds something else \(notes.txt\)"):
        import_model(written, model)
    assert (model / "model.safetensors").read_bytes() == before
    assert (written / "model.bin").is_file()


def test_cards_say_how_the_folder_they_lie_in_is_used(
    written: Path, bundle: Bundle, tmp_path: Path
) -> None:
    import_model(written, tmp_path / "model")
    used = "Use it with `dragoman translate FOLDER < text`"
    assert used in (tmp_path / "model" / "README.md").read_text()
    export(tmp_path / "model", "ctranslate2", tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert "Imported model" in card
    assert used not in card


def test_an_option_that_says_nothing_to_a_format_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    options = ExportOptions(quantization="int8", source_language="de")
    with pytest.raises(ConfigError) as refused:
        export_bundle(bundle, "huggingface", tmp_path / "out", options)
    assert [m.place for m in refused.value.mistakes] == ["--quantization", "--source-language"]
    with pytest.raises(ConfigError, match="choose from ctranslate2, huggingface, onnx, argos"):
        export_bundle(bundle, "tensorflow", tmp_path / "out", FLOAT)
    with pytest.raises(ConfigError, match="give --source-language de --target-language en"):
        export_bundle(bundle, "argos", tmp_path / "out", FLOAT)
    with pytest.raises(
        ConfigError, match="quantization: 'float16' is not a choice; choose from float32, int8"
    ):
        export_bundle(bundle, "onnx", tmp_path / "out", ExportOptions(quantization="float16"))
    assert list(tmp_path.iterdir()) == []


def test_a_client_that_computes_something_else_leaves_nothing(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(folder: Path, _: Bundle, **options: Any) -> None:
        write_ctranslate2(folder, tiny_bundle(seed=2), **options)

    monkeypatch.setattr(formats, "write_ctranslate2", wrong)
    with pytest.raises(ModelError, match=r"differs from Dragoman .* nothing was written"):
        export_bundle(bundle, "ctranslate2", tmp_path / "out", FLOAT)
    assert list(tmp_path.iterdir()) == []


def test_an_import_reads_what_an_export_wrote_and_is_used_like_any_model(
    bundle: Bundle, written: Path, tmp_path: Path
) -> None:
    import_model(written, tmp_path / "back")
    back = load_bundle(tmp_path / "back")
    assert back.config == bundle.config
    card = (tmp_path / "back" / "README.md").read_text()
    assert "from ctranslate2: ct2" in card
    assert "sha256" in card


def test_a_folder_with_a_package_is_read_as_the_package(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def refused(source: Path, _: ImportOptions) -> Any:
        read.append(source)
        raise ModelError("enough")

    monkeypatch.setitem(cast("dict[str, Source]", KINDS), "argos", Source(refused, ()))
    package = tmp_path / "out" / "translate-de_en-1_0.argosmodel"
    package.parent.mkdir()
    package.write_bytes(b"")
    with pytest.raises(ModelError, match="enough"):
        import_model(package.parent, tmp_path / "model")
    assert read == [package]


def test_what_their_eps_makes_is_allowed_on_the_way_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "DRAWN", 3)  # what eps makes is in each
    monkeypatch.setattr(certificates, "WRITTEN", 8)
    options = {"positions": {"kind": "learned", "max_length": 64}, "embedding_norm": True}
    bundle = random_bundle(options)
    with torch.no_grad():
        for name, weight in bundle.model.named_parameters():
            if name.endswith("table"):
                weight.mul_(0.015)  # eps weighs most against small sums
    out = export_bundle(bundle, "huggingface", tmp_path / "bart", FLOAT)
    back = import_model(tmp_path / "bart", tmp_path / "model")
    assert out.largest > 1e-4
    assert back.largest > 1e-4
    assert back.tolerance == out.tolerance == 1e-3


def test_options_that_say_nothing_to_a_source_are_refused(written: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--heads: says nothing to ctranslate2"):
        import_model(written, tmp_path / "back", ImportOptions(heads=4))
    with pytest.raises(ConfigError, match="'paper' is none"):
        import_model(written, tmp_path / "back", ImportOptions(kind="paper"))
    assert list(tmp_path.iterdir()) == []


def test_the_kind_of_a_source_is_found_by_looking(
    bundle: Bundle, written: Path, tmp_path: Path
) -> None:
    assert find_kind(written) == "ctranslate2"
    hugging = tmp_path / "hf"
    hugging.mkdir()
    (hugging / "config.json").write_text('{"model_type": "marian"}')
    assert find_kind(hugging) == "huggingface"
    (hugging / "encoder.onnx").write_bytes(b"")
    with pytest.raises(ModelError, match="use the model folder that it was made from"):
        find_kind(hugging)
    (tmp_path / "checkpoint.pt").write_bytes(b"PK")
    assert find_kind(tmp_path / "checkpoint.pt") == "checkpoint"
    assert find_kind(tmp_path) == "checkpoint"
    (tmp_path / "a.argosmodel").write_bytes(b"")
    assert find_kind(tmp_path / "a.argosmodel") == "argos"
    save_bundle(tmp_path / "ours", bundle, "")
    with pytest.raises(ModelError, match="is a model folder of Dragoman already"):
        find_kind(tmp_path / "ours")
    with pytest.raises(ModelError, match="no such file or folder"):
        import_model(tmp_path / "nowhere", tmp_path / "back")


class Payload:
    """Writes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return (open, (str(self.mark), "w"))


@pytest.mark.parametrize(
    "kind", [None, "huggingface", "ctranslate2", "argos", "fairseq", "joeynmt"]
)
def test_a_pickle_is_refused_whatever_it_is_called(kind: str | None, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    data = pickle.dumps(Payload(mark))
    for name in ("model.bin", "config.json", "model.pt", "a.argosmodel"):
        folder = tmp_path / f"{name}-folder"
        folder.mkdir()
        (folder / name).write_bytes(data)
        for source in (folder, folder / name):
            with pytest.raises((ModelError, ConfigError)):
                import_model(source, tmp_path / "back", ImportOptions(kind=kind))
    assert not mark.exists()
    assert not (tmp_path / "back").exists()


def test_a_pickle_in_place_of_any_file_of_a_folder_is_refused(
    written: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    for name in sorted(each.name for each in written.iterdir()):
        folder = tmp_path / f"without-{name}"
        shutil.copytree(written, folder)
        (folder / name).write_bytes(pickle.dumps(Payload(mark)))
        with pytest.raises(ModelError, match=name):
            import_model(folder, tmp_path / "back")
    assert not mark.exists()
    assert not (tmp_path / "back").exists()
