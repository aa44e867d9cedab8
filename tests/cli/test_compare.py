"""``dragoman compare``: what goes where, and with which exit status."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.run.comparison.variant import run_variant
from tests.run.test_compare import VARIANTS, write_files


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["dragoman.run.compare"], "run_job", run_variant)


def test_the_table_is_data_and_the_rest_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_files(tmp_path, VARIANTS, "updates = 3")
    command = ["compare", str(file), "--run", str(tmp_path / "run")]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out.startswith("variant ")
    assert [line.split()[0] for line in out.splitlines()[1:8] if line] == [
        *("base", "C", "N", "others", "LSTM")
    ]
    assert "[2/3] N = 2, seed 1" in err
    assert "variant  " not in err
    assert main([*command, "--json"]) == 0
    out, err = capsys.readouterr()
    numbers = json.loads(out)
    assert [row["updates"] for row in numbers["rows"]] == [3, 3, 3]
    assert numbers == json.loads((tmp_path / "run/comparison.json").read_text(encoding="utf-8"))
    assert err.count("finished earlier") == 3


def test_minutes_take_the_place_of_the_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_files(tmp_path, '[[variant]]\nname = "base"\n')
    command = ["compare", str(file), "--run", str(tmp_path / "run"), "--minutes", "0.002"]
    assert main(command) == 0
    assert "0.002 minutes of training for each variant" in capsys.readouterr().out


def test_a_wrong_file_is_two_and_has_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_files(tmp_path, VARIANTS.replace("layers=2", "layer=2"))
    assert main(["compare", str(file), "--run", str(tmp_path / "run")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"error: {file}: variant 'N = 2': model.layer: unknown key; did you mean layers?" in err
    file = write_files(tmp_path / "set")
    assert main(["compare", str(file), "--run", "run", "--set", "model.layer=2"]) == 2
    assert "model.layer: unknown key; did you mean layers?" in capsys.readouterr().err
    assert main(["compare", str(tmp_path / "tree.toml")]) == 2
    assert "no such file; did you mean" in capsys.readouterr().err


def test_compare_explains_itself_without_torch() -> None:
    code = (
        "import sys\n"
        "from dragoman.cli.main import main\n"
        "assert main(['compare', '--help']) == 0\n"
        "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for option in ("--minutes", "--run", "--json", "--restart", "--device"):
        assert option in done.stdout


@pytest.mark.slow
def test_one_interrupt_saves_and_is_130(tmp_path: Path) -> None:
    file = write_files(tmp_path, VARIANTS, "updates = 100000")
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", "compare", str(file), "--run", str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "validation: loss" in line:
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert out == ""
    assert "(interrupted); saved" in err
    assert list((tmp_path / "run/base/checkpoints").glob("step-*"))
    assert not (tmp_path / "run/n-2").exists()
