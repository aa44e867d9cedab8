"""``dragoman inspect`` of recipes and models: what goes where, and with which exit status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.main import main
from tests.cli.test_inspect import write_recipe
from tests.fixtures import tiny_folder

COMMANDS = ("masks", "positions", "activations", "field", "heads", "embedding", "model")


def test_pictures_come_where_they_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe, model = write_recipe(tmp_path, "steps = 9"), tiny_folder(tmp_path / "tiny")
    for number, command in enumerate(
        (
            ["masks"],
            ["masks", str(recipe), "--set=model.attention={kind='local', keys=3}"],
            ["positions", str(model), "--length=5"],
            ["positions", str(recipe), "--set=model.positions='alibi'"],
            ["model", str(model)],
            ["activations"],
            ["field", "--positions=5"],
        )
    ):
        picture = tmp_path / f"{number}.png"
        assert main(["inspect", *command, "--png", str(picture)]) == 0
        out, err = capsys.readouterr()
        assert out
        assert err == f"{picture} holds the picture\n"
        assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_recipe_is_read_with_its_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write_recipe(tmp_path, "steps = 9")
    changed = "--set=model.attention={kind='local', keys=3}"
    assert main(["inspect", "masks", str(recipe), changed, "--length=3", "--padding=0"]) == 0
    assert capsys.readouterr().out.splitlines()[:4] == [
        "encoder self-attention: 3 keys around",
        "  █ █ ·",
        "  █ █ █",
        "  · █ █",
    ]


def test_a_model_is_counted_with_the_vocabulary_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = str(write_recipe(tmp_path, "steps = 9"))
    assert main(["inspect", "model", recipe, "--json", "--set=tokenizer.size=600"]) == 0
    found = json.loads(capsys.readouterr().out)
    embedding = {"part": "source input embedding", "layers": 1, "each": 38400, "total": 38400}
    assert found["parts"][0] == embedding  # 600 x 64
    assert found["parameters"] == sum(part["total"] for part in found["parts"])
    changes = ["--set=tokenizer.joint=false", "--set=tokenizer.size=500"]
    assert main(["inspect", "model", recipe, *changes]) == 0
    assert "embedding, 500 x 64" in capsys.readouterr().out
    recipes = Path(__file__).parents[2] / "recipes"
    assert main(["inspect", "model", str(recipes / "digits.toml")]) == 0
    out, err = capsys.readouterr()
    assert "16 patches, to 64" in out
    assert err == "note: the data says how many classes there are; two are assumed\n"


def test_what_is_wrong_is_two_and_has_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*command: str) -> str:
        assert main(["inspect", *command]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        return err

    model = str(tiny_folder(tmp_path / "tiny"))
    for command in (["masks"], ["activations"], ["field"], ["positions", model], ["model", model]):
        assert "--png: a.pdf is not named .png" in refused(*command, "--png=a.pdf")
    assert "--padding: 12 of 12 positions leave nothing to see" in refused("masks", "--padding=12")
    assert "--keys: 4 is even" in refused("field", "--keys=4")
    assert "--set: changes a recipe, and this is a model" in refused("masks", model, "--set=a=1")
    assert "none.toml: no such file" in refused("positions", str(tmp_path / "none.toml"))
    (tmp_path / "empty").mkdir()
    assert "holds no model" in refused("positions", str(tmp_path / "empty"))


def test_files_are_written_even_if_nobody_reads_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = str(tiny_folder(tmp_path / "tiny"))
    monkeypatch.setattr(sys, "stdout", None)
    for command, option in (
        (["field", "--positions=3"], "png"),
        (["model", model], "png"),
        (["attention", model, "--source=der hund"], "html"),
    ):
        file = tmp_path / f"{command[0]}.{option}"
        assert main(["inspect", *command, f"--{option}={file}"]) == 2
        assert file.exists()


def test_help_loads_no_torch() -> None:
    code = (
        "import sys\n"
        "from dragoman.cli.main import main\n"
        f"for command in {('attention', *COMMANDS)!r}:\n"
        "    assert main(['inspect', command, '--help']) == 0\n"
        "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for word in ("--npz", "--html", "RECIPE|MODEL", "--length", "--kernel", "--padding"):
        assert word in done.stdout
