"""``engine = "ctranslate2"`` through the translator."""

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman import Draft, Sampling
from dragoman.bundle import load_bundle, save_bundle
from dragoman.errors import ConfigError, ModelError
from dragoman.interop import CTRANSLATE2_FOLDER, write_ctranslate2
from dragoman.translator import Translator
from dragoman.translator.ctranslate2_engine import ctranslate2_engine
from tests.fixtures import GERMAN, tiny_bundle, tiny_folder

pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")


def test_it_translates_as_the_torch_engine_does(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    write_ctranslate2(folder / CTRANSLATE2_FOLDER, load_bundle(folder))
    texts = [*GERMAN, "", "12"]
    ours = Translator.load(folder).translate(texts, beam=1, max_length=8)
    translator = Translator.load(folder, engine="ctranslate2")
    found = translator.translate(texts, beam=1, max_length=8)
    assert [t.text for t in found] == [t.text for t in ours]
    assert [t.score for t in found] == pytest.approx([t.score for t in ours], abs=1e-4)
    with pytest.raises(ConfigError, match="banned_words: are not offered by the engine ctr"):
        translator.translate(GERMAN, banned_words=["the"])


def test_the_message_of_a_missing_folder_can_be_run(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    with pytest.raises(ModelError, match="holds no CTranslate2 model; write it with: ") as caught:
        Translator.load(folder, engine="ctranslate2")
    command = str(caught.value).partition("write it with: dragoman ")[2].split()
    subprocess.run([sys.executable, "-m", "dragoman", *command], check=True)
    Translator.load(folder, engine="ctranslate2").translate(GERMAN[:1], beam=1, max_length=4)


def test_a_folder_of_other_weights_is_refused(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    write_ctranslate2(folder / CTRANSLATE2_FOLDER, load_bundle(folder))
    save_bundle(folder, tiny_bundle(seed=2), "# card\n")
    with pytest.raises(ModelError, match="was not written from the weights beside it; write it"):
        Translator.load(folder, engine="ctranslate2")


def test_other_devices_are_refused(tmp_path: Path) -> None:
    bundle = tiny_bundle()
    bundle.model.to("meta")
    with pytest.raises(ConfigError, match="device: 'meta' is not offered by the engine ctransl"):
        ctranslate2_engine(tmp_path, bundle, "auto")


def test_drafts_and_draws_are_refused(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    write_ctranslate2(folder / CTRANSLATE2_FOLDER, load_bundle(folder))
    translator = Translator.load(folder, engine="ctranslate2")
    with pytest.raises(ConfigError, match="draft: the engine ctranslate2 cannot read several"):
        translator.translate(GERMAN, beam=1, draft=Draft(None))
    for draft in ("copy", folder):
        with pytest.raises(ConfigError, match="draft: the engine ctranslate2 cannot read several"):
            Draft.load(draft, engine="ctranslate2")
    with pytest.raises(ConfigError, match="engine ctranslate2: is for a search"):
        translator.translate(GERMAN, sampling=Sampling())
