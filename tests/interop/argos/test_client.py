"""Argos Translate itself, on packages that we write: the same text as ours."""

import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import Bundle
from dragoman.errors import ModelError
from dragoman.interop.argos import ArgosClient, as_argos, comparable_search
from dragoman.interop.argos.parts import LONGEST
from dragoman.translator import Translator
from tests.fixtures import ENGLISH, GERMAN
from tests.interop.argos.bundles import package, writing_bundle
from tests.interop.models import tokenizers

pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")
pytest.importorskip("sentencepiece", reason="needs sentencepiece, which tests have")
with_client = pytest.mark.skipif(
    find_spec("argostranslate") is None, reason="needs argostranslate, which make test installs"
)

LONG_LINE = " ".join(f"Der Hund schläft, {number} mal. Wir gehen!" for number in range(30))
TEXTS = [
    *GERMAN,
    *ENGLISH,
    "",
    "   ",
    "  der hund schläft .  ",
    "der hund\ndie katze\n\nein buch",
    "\n\nein buch",
    "неизвестно 未知 🦊 </s> <unk> a_b",
    "12345",
    LONG_LINE,
]


def ours(bundle: Bundle, texts: list[str], beam: int) -> list[str]:
    translator, search = Translator(bundle), comparable_search(beam)
    tokenizer = bundle.target_tokenizer
    ids = {name: number for number, name in enumerate(tokenizer.pieces(range(tokenizer.size)))}

    def translate(sentences: list[str]) -> list[list[int]]:
        found = translator.translate(
            sentences,
            beam=beam,
            alpha=search.alpha,
            length_penalty=search.length_penalty,
            patience=search.patience,
            min_length=search.min_length,
            max_length=LONGEST,
            copy_without_letters=False,
        )
        tokens = (each.hypotheses[0].tokens for each in found)
        return [[ids[name] for name in each if name != "</s>"] for each in tokens]

    return [as_argos(text, translate, tokenizer) for text in texts]


def client(path: Path) -> ArgosClient:
    return ArgosClient(path=path, source_language="de", target_language="en")


@with_client
@pytest.mark.parametrize(("beam", "joint"), [(1, True), (4, False)])
def test_it_translates_to_the_same_text(beam: int, joint: bool, tmp_path: Path) -> None:
    bundle = writing_bundle(joint=joint)
    path = package(tmp_path, bundle)
    assert client(path).translate(TEXTS, beam=beam) == ours(bundle, TEXTS, beam)


@with_client
def test_a_package_it_cannot_use_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "x.argosmodel").write_bytes(b"no zip")
    with pytest.raises(ModelError, match=r"x\.argosmodel: Argos Translate cannot use it: .*zip"):
        client(tmp_path / "x.argosmodel").translate(["a"])


def test_without_the_library_its_name_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> subprocess.CompletedProcess[str]:
        error = "Traceback\n  ...\nModuleNotFoundError: No module named 'argostranslate'\n"
        return subprocess.CompletedProcess([], 1, "", error)

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(ModelError, match="has no Argos Translate; install it with: pip install"):
        client(tmp_path / "x.argosmodel").translate(["a"])


def test_what_it_does_around_a_model_is_written_down() -> None:
    # By hand, from its code: lines apart, white space off, "_" a space, no empty line in front.
    tokenizer = tokenizers()[0]
    asked: list[str] = []

    def translate(sentences: list[str]) -> list[list[int]]:
        asked.extend(sentences)
        return [tokenizer.encode(f" {sentence}_x") for sentence in sentences]

    assert as_argos("\n a  b \n\nc\t", translate, tokenizer) == "a  b x\n\nc x"
    assert asked == ["a  b", "c"]
