"""``dragoman verify-resume``: real processes once, then what goes where."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.main import main
from dragoman.recipe import recipe_toml
from dragoman.run import Comparison, ResumeCheck
from tests.run.test_resume import recipe_for


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(recipe_toml(recipe_for(tmp_path)), encoding="utf-8")
    return path


def test_three_processes_prove_that_a_recipe_goes_on_where_it_stopped(
    recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Each process has a hash seed of its own (field report 13).
    command = ["verify-resume", str(recipe), "--updates", "6", "--stop-at", "3"]
    assert main([*command, "--set", "training.precision=bf16"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "6 updates straight, and stopped after update 3"
    rows = [line for line in lines if line.endswith("equal")]
    assert {row[:20].strip() for row in rows} >= {"order of the data", "weights", "moments", "rate"}
    assert len(rows) == len(lines) - 3
    assert err.splitlines()[-1] == "equal: stopping and going on is the same as never stopping"


def test_a_difference_is_two_and_named(
    recipe: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def found(*args: object, **options: object) -> ResumeCheck:
        asked.extend([args[1], options])
        comparisons = (
            Comparison("rate", "updates", 12),
            Comparison("weights", "tensors", 25, "w differs by up to 1.0e-03"),
        )
        return ResumeCheck(updates=12, stop_at=5, place="here", comparisons=comparisons)

    monkeypatch.setattr(dragoman, "verify_resume", found, raising=False)
    command = ["verify-resume", str(recipe), "--run", "somewhere", "--device", "cpu"]
    assert main(command) == 2
    assert asked == [Path("somewhere"), {"updates": 12, "stop_at": 5, "device": "cpu"}]
    out, err = capsys.readouterr()
    assert "weights             25 tensors          w differs by up to 1.0e-03" in out
    assert "error: weights: w differs by up to 1.0e-03; this is a bug in dragoman" in err
    assert main([*command, "--json"]) == 2
    summary = json.loads(capsys.readouterr().out)
    assert (summary["equal"], summary["comparisons"][0]["count"]) == (False, 12)


def test_a_wrong_setting_is_two_and_has_its_place(
    recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify-resume", str(recipe), "--set", "training.warm=3"]) == 2
    assert "training.warm: unknown key; did you mean warmup?" in capsys.readouterr().err
    assert main(["verify-resume", str(recipe), "--stop-at", "12"]) == 2
    assert "stop_at: 12 of 12 updates leaves nothing" in capsys.readouterr().err


def test_it_explains_itself_without_torch() -> None:
    code = (
        "import sys\n"
        "from dragoman.cli.main import main\n"
        "assert main(['verify-resume', '--help']) == 0\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for option in ("--updates", "--stop-at", "--run", "--set", "--json", "--device"):
        assert option in done.stdout
