import json
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn: the extra serve")

from dragoman.errors import ConfigError
from dragoman.serving import Limits, load_served
from dragoman.serving.loading import languages_of
from dragoman.serving.server import _listen  # pyright: ignore[reportPrivateUsage]  # serve never returns
from dragoman.translator import Translator
from tests.fixtures import tiny_folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command, and give it with its address."""
    command = [sys.executable, "-m", "dragoman", "serve", f"de-en={tiny_folder(tmp_path / 'm')}"]
    command += ["--port", "0", "--engine", "torch"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("listening at http://127.0.0.1:")
    yield process, line.split()[-1]
    process.kill()
    process.communicate()


def post(address: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(
        f"{address}/v1/translate", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
def test_a_server_asked_to_stop_finishes_what_it_accepted(
    asked: signal.Signals, server: tuple[subprocess.Popen[str], str]
) -> None:
    process, address = server
    assert post(address, {"text": "der hund ."})["model"] == "de-en"
    answers: list[dict[str, Any]] = []
    texts = [f"der hund {number} schläft ." for number in range(150)]
    asking = threading.Thread(target=lambda: answers.append(post(address, {"text": texts})))
    asking.start()
    time.sleep(0.3)
    process.send_signal(asked)
    asking.join(60)
    assert len(answers[0]["translations"]) == 150
    assert process.wait(30) == 0
    assert process.stderr is not None
    assert "all that was accepted has been answered" in process.stderr.read()


def test_a_model_has_translated_before_it_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths: list[int] = []
    translate = Translator.translate

    def noted(translator: Translator, texts: list[str], **options: Any) -> Any:
        widths.append(options["beam"])
        return translate(translator, texts, **options)

    monkeypatch.setattr(Translator, "translate", noted)
    load_served([str(tiny_folder(tmp_path / "model"))], Limits(), engine="torch")
    assert widths == [1, 4]


def test_the_name_of_a_model_or_its_recipe_tells_the_languages(tmp_path: Path) -> None:
    assert languages_of("de-en", tmp_path) == ("de", "en")
    assert languages_of("zh-Hant-TW-en", tmp_path) == ("zh-Hant-TW", "en")
    assert languages_of("model", tmp_path) == (None, None)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[data]\ntrain = {source = "a/train.sw.gz", target = "a/train.en"}\n')
    assert languages_of("model", tmp_path) == ("sw", "en")
    recipe.write_text('[data]\ntrain = [{source = "a.x", target = "b", target_language = "pt"}]\n')
    assert languages_of("model", tmp_path) == (None, "pt")


def test_two_models_of_one_name_are_refused(tmp_path: Path) -> None:
    folder = str(tiny_folder(tmp_path / "m"))
    with pytest.raises(ConfigError, match="two models are named 'm'"):
        load_served([folder, folder], Limits())


def test_a_port_that_is_taken_is_refused() -> None:
    taken = _listen("127.0.0.1", 0)
    with pytest.raises(ConfigError, match="in use"):
        _listen("127.0.0.1", taken.getsockname()[1])
    taken.close()
