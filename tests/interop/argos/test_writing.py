"""What lies in a package, and what none can hold."""

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch, load_ctranslate2
from dragoman.errors import ConfigError, MissingExtraError, ModelError
from dragoman.interop.argos import write_argos
from dragoman.interop.argos.agreeing import refuse_other_cuts
from dragoman.interop.ctranslate2.limits import beyond_ctranslate2
from dragoman.models import Learned, ModelConfig, build_model, read_config
from dragoman.tokenization import TokenizerConfig, learn_tokenizer, to_sentencepiece
from tests.fixtures import ENGLISH, GERMAN
from tests.interop.argos.bundles import package, writing_bundle
from tests.interop.models import our_search, random_bundle, sources, tokenizers
from tests.models.choices import TRANSFORMERS

library = pytest.importorskip("sentencepiece", reason="needs sentencepiece, which tests have")
ctranslate2 = pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")
ROOT = "translate-de_en-1_0"


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_it_is_one_folder_with_what_argos_translate_reads(tmp_path: Path) -> None:
    found = members(package(tmp_path, writing_bundle()))
    assert {name.split("/")[0] for name in found} == {ROOT}
    metadata = json.loads(found[f"{ROOT}/metadata.json"])
    assert metadata["from_code"] == "de"
    assert metadata["from_name"] == "German"
    assert metadata["to_code"] == "en"
    assert metadata["type"] == "translate"
    assert f"{ROOT}/minisbd/lines.onnx" in found
    assert f"{ROOT}/README.md" in found


def test_pieces_are_called_as_sentencepiece_calls_them(tmp_path: Path) -> None:
    bundle = writing_bundle(joint=False)
    found = members(package(tmp_path, bundle))
    model = library.SentencePieceProcessor(model_proto=found[f"{ROOT}/sentencepiece.model"])
    names = json.loads(found[f"{ROOT}/model/source_vocabulary.json"])
    assert names == [model.id_to_piece(number) for number in range(model.get_piece_size())]
    names = json.loads(found[f"{ROOT}/model/target_vocabulary.json"])
    assert [name.replace("▁", " ") for name in names] == bundle.target_tokenizer.names()


def test_the_inner_model_translates_to_the_same_ids(tmp_path: Path) -> None:
    bundle = random_bundle({})
    with zipfile.ZipFile(package(tmp_path, bundle)) as packed:
        packed.extractall(tmp_path)  # ours
    inner = load_ctranslate2(tmp_path / ROOT / "model")
    ids = {name: number for number, name in enumerate(inner.target)}
    for source in sources():
        result = inner.translator.translate_batch(
            [[inner.source[number] for number in source]], beam_size=1, max_decoding_length=14
        )
        found = [ids[name] for name in result[0].hypotheses[0]]
        config = BeamSearch(beam=1, min_length=2)
        assert found == [*our_search(bundle, source, config, 14)[0].ids]


def test_the_same_model_gives_the_same_file(tmp_path: Path) -> None:
    bundle = writing_bundle()
    first = package(tmp_path, bundle).read_bytes()
    assert package(tmp_path, bundle).read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["de_en.argosmodel"]


def test_sentences_may_be_left_to_the_client(tmp_path: Path) -> None:
    found = members(package(tmp_path, writing_bundle(), sentences="client"))
    assert not [name for name in found if "minisbd" in name]
    with pytest.raises(ConfigError, match="sentences: 'x' is not a choice; choose lines or client"):
        package(tmp_path, writing_bundle(), sentences="x")


def nothing_is_written(folder: Path, bundle: Bundle, message: str, **options: Any) -> None:
    folder.mkdir(exist_ok=True)
    languages = {"source_language": "de", "target_language": "en", **options}
    with pytest.raises(ConfigError, match=message):
        write_argos(folder / "x.argosmodel", bundle, **languages)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_choices_of_a_model_are_written_or_refused_by_name(name: str, tmp_path: Path) -> None:
    bundle = random_bundle(TRANSFORMERS[name])
    config = bundle.config
    assert isinstance(config, ModelConfig)
    places = [mistake.place for mistake in beyond_ctranslate2(config)]
    if any(isinstance(each, Learned) for each in (config.positions, config.target_positions)):
        places.append("positions")  # by hand: those of the table are few
    if places:
        nothing_is_written(tmp_path, bundle, rf"^model\.{places[0]}: ")
    else:
        assert package(tmp_path, bundle).exists()


def test_many_learned_positions_are_enough(tmp_path: Path) -> None:
    learned = {"kind": "learned", "max_length": 512}
    assert package(tmp_path, random_bundle({"positions": learned})).exists()
    learned["max_length"] = 511
    message = "model.positions: Argos Translate fails on text of more than 511 pieces"
    nothing_is_written(tmp_path / "x", random_bundle({"positions": learned}), message)


@pytest.mark.parametrize("architecture", ["decoder-only", "encoder-only"])
def test_what_does_not_translate_is_refused(architecture: str, tmp_path: Path) -> None:
    choices = {"layers": 1, "d_model": 32, "vocabulary": 290, "architecture": architecture}
    config = read_config(choices)
    bundle = Bundle(config, build_model(config), tokenizers()[:1])
    nothing_is_written(tmp_path, bundle, rf"model\.architecture: {architecture} is no translator")


@pytest.mark.parametrize("kind", ["wordpiece", "word"])
def test_vocabularies_that_it_cannot_hold_are_refused(kind: Any, tmp_path: Path) -> None:
    config = TokenizerConfig(kind=kind, size=290)
    other = learn_tokenizer([*GERMAN, *ENGLISH] * 4, config)
    bundle = random_bundle({})
    refused = Bundle(bundle.config, bundle.model, (other,))
    nothing_is_written(tmp_path, refused, r"tokenizer\.kind: .* no place in SentencePiece")
    both = Bundle(bundle.config, bundle.model, (tokenizers()[0], other))
    nothing_is_written(tmp_path, both, r"tokenizer\.target\.kind: .* no place in SentencePiece")


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        write_argos(
            tmp_path / "x",
            random_bundle({"positions": {"kind": "alibi"}}),
            source_language="../../m",
            target_language="en",
        )
    assert [mistake.place for mistake in caught.value.mistakes] == [
        "source_language",
        "model.positions",
    ]


@pytest.mark.parametrize("code", ["../../m", "", "d", "de/x", "C:\\x", "de_DE"])
def test_what_is_no_language_code_is_refused(code: str, tmp_path: Path) -> None:
    message = "source_language: .* is not the code of a language"
    nothing_is_written(tmp_path, writing_bundle(), message, source_language=code)


def test_a_language_is_not_translated_to_itself(tmp_path: Path) -> None:
    message = "target_language: 'de' is the source language too"
    nothing_is_written(tmp_path, writing_bundle(), message, target_language="de")


def test_a_file_that_cuts_otherwise_is_refused() -> None:
    tokenizer, other = tokenizers()
    refuse_other_cuts(tokenizer, to_sentencepiece(tokenizer))
    with pytest.raises(ModelError, match=r"SentencePiece cuts .* into .*, the vocabulary into"):
        refuse_other_cuts(other, to_sentencepiece(tokenizer))


def test_without_sentencepiece_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(MissingExtraError, match=r"dragoman\[argos\]"):
        refuse_other_cuts(tokenizers()[0], b"")


def test_when_the_disk_is_full_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dragoman.interop.argos.writing.shutil.copyfileobj", fail)
    with pytest.raises(OSError, match="No space left"):
        package(tmp_path, writing_bundle())
    assert not list(tmp_path.iterdir())


def test_the_model_stays_as_it_was(tmp_path: Path) -> None:
    bundle = writing_bundle()
    before = {name: weight.clone() for name, weight in bundle.model.state_dict().items()}
    package(tmp_path, bundle, quantization="int8")
    for name, weight in bundle.model.state_dict().items():
        assert torch.equal(weight, before[name])
