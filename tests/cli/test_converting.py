import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman import atomic
from dragoman.cli.main import main
from tests.fixtures import tiny_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("model") / "m")


def test_a_model_goes_out_comes_back_and_translates_the_same(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, back, text = tmp_path / "hf", tmp_path / "back", tmp_path / "text"
    text.write_text("der hund schläft .\nwir gehen .\n", encoding="utf-8")
    assert main(["export", str(model), str(out), "--to", "huggingface"]) == 0
    assert main(["import", str(out), "--to", str(back), "--json"]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0].startswith("compared with transformers MarianMTModel on 27 probes")
    assert json.loads(lines[-1])["probes"] == 27
    assert f"{out} holds the model" in shown.err
    translated: list[str] = []
    for each in (model, back):
        assert main(["translate", str(each), "--input", str(text), "--engine", "torch"]) == 0
        translated.append(capsys.readouterr().out)
    assert translated[0] == translated[1] != ""


def test_a_folder_inside_the_model_folder_is_the_default_and_the_engine_finds_it(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text"
    text.write_text("wir gehen .\n", encoding="utf-8")
    assert main(["export", str(model), "--to", "ctranslate2"]) == 0
    assert (model / "ctranslate2" / "model.bin").exists()
    capsys.readouterr()
    asked = ["translate", str(model), "--input", str(text), "--beam", "1"]
    assert main([*asked, "--engine", "ctranslate2"]) == 0
    theirs = capsys.readouterr().out
    assert main([*asked, "--engine", "torch"]) == 0
    assert capsys.readouterr().out == theirs


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["export", "MODEL"], "--to: is missing; say which format: ctranslate2"),
        (["export", "MODEL", "--to", "word"], "'word' is no format; choose from ctranslate2"),
        (["export", "MODEL", "--to", "onnx", "--target-language", "en"], "says nothing to onnx"),
        (["export", "nowhere", "--to", "onnx"], "nowhere: no such model folder"),
        (["import", "nowhere", "--to", "OUT"], "nowhere: no such file or folder"),
        (["import", "MODEL", "--to", "OUT"], "is a model folder of Dragoman already"),
        (["import", "MODEL", "--to", "OUT", "--norm-order", "in"], "choose from post, pre"),
        (["import", "MODEL", "--to", "OUT", "--cut", "words"], "choose from pieces, characters"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_to_do(
    arguments: list[str],
    reason: str,
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = {"MODEL": str(model), "OUT": str(tmp_path / "out")}
    assert main([places.get(each, each) for each in arguments]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_signal_leaves_nothing_half_written(
    number: int,
    status: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(_: Path, __: str, folder: Path, **___: Any) -> None:
        with atomic.new_folder(folder) as aside:
            (aside / "part").write_text("half")
            os.kill(os.getpid(), number)
            signal.sigtimedwait([], 10)

    monkeypatch.setattr(dragoman, "export", stopped, raising=False)
    assert main(["export", "MODEL", str(tmp_path / "out"), "--to", "onnx"]) == status
    assert capsys.readouterr().err == f"{said}; nothing was written\n"
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
