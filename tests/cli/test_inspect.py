"""``dragoman inspect``: what goes where, and with which exit status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.main import main
from tests.inspection.runs import STARTED, WHOLE, write_run


def write_recipe(folder: Path, training: str) -> Path:
    path = folder / "small.toml"
    path.write_text(
        '[data]\ntrain = { source = "a", target = "b" }\n'
        f"[model]\nd_model = 64\nheads = 4\n[training]\n{training}\n",
        encoding="utf-8",
    )
    return path


def test_a_run_is_summed_up_on_standard_output_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", WHOLE)
    assert main(["inspect", "run", str(run)]) == 0
    out, err = capsys.readouterr()
    assert "best validation   update 200, loss 3.000 nats, bleu 21.50, chrf 40.00\n" in out
    assert err == f"{run}/run.png holds the picture\n"
    assert (run / "run.png").read_bytes().startswith(b"\x89PNG")


def test_json_and_the_picture_go_where_they_should(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", WHOLE)
    picture = tmp_path / "elsewhere.png"
    assert main(["inspect", "run", str(run), "--json", "--output", str(picture)]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["best"]["step"] == 200
    assert picture.exists()
    assert not (run / "run.png").exists()


def test_without_matplotlib_the_text_comes_and_the_way_to_the_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", WHOLE)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["inspect", "run", str(run)]) == 0
    out, err = capsys.readouterr()
    assert "updates           300 of 400\n" in out
    assert err == (
        "no picture: the picture of a run needs an extra; "
        "install it with: pip install 'dragoman[plot]'\n"
    )
    assert main(["inspect", "run", str(run), "--output", str(tmp_path / "a.png")]) == 2
    assert capsys.readouterr().err.startswith("error: the picture of a run needs an extra;")


def test_what_is_no_run_is_two_and_has_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*arguments: str) -> str:
        assert main(["inspect", "run", *arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        return err

    run = write_run(tmp_path / "run", WHOLE)
    assert refused(str(tmp_path / "rum")) == (
        f"error: {tmp_path}/rum: no such run folder; did you mean {run}?\n"
    )
    assert "is no run: it has no metrics.jsonl; it holds the runs run" in refused(str(tmp_path))
    assert "error: --output: x.pdf is not named .png" in refused(str(run), "--output", "x.pdf")
    write_run(run, [STARTED])
    assert f"error: {run}/metrics.jsonl: no update is logged yet" in refused(str(run))
    write_run(run, [])
    assert f"error: {run}/metrics.jsonl: no update is logged yet" in refused(str(run))


def test_a_picture_that_cannot_be_written_is_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", WHOLE)
    place = tmp_path / "none/run.png"
    assert main(["inspect", "run", str(run), "--output", str(place)]) == 2
    assert f"error: {place}: cannot be written: No such file" in capsys.readouterr().err


def test_a_schedule_is_printed_before_any_data_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule = 'schedule = { kind = "inverse_sqrt", factor = 0.8 }'
    recipe = write_recipe(tmp_path, f"steps = 1600\nwarmup = 400\n{schedule}")
    picture = tmp_path / "rates.png"
    assert main(["inspect", "schedule", str(recipe), "--output", str(picture)]) == 0
    out, err = capsys.readouterr()
    # The peak is 0.8 / 8 / 20, with roots of 64 and 400; update s of the rise has s / 400 of it.
    assert out.splitlines() == [
        "inverse_sqrt, factor 0.8, warmup 400, d_model 64, 1,600 updates",
        "",
        "update      rate",
        "     1  1.25e-05",
        "     2  2.50e-05",
        "   200  2.50e-03",
        "   400  5.00e-03  highest",
        "   800  3.54e-03",
        " 1,200  2.89e-03",
        " 1,600  2.50e-03",
    ]
    assert err == f"{picture} holds the picture\n"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_schedule_follows_settings_and_is_json_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write_recipe(tmp_path, "steps = 1600\nwarmup = 400")
    command = ["inspect", "schedule", str(recipe), "--json", "--set", "training.steps=8"]
    changes = ["training.warmup=4", "training.schedule={kind='constant', peak=0.5}"]
    assert main([*command, *(f"--set={change}" for change in changes)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "updates": 8,
        "warmup": 4,
        "rates": [
            {"update": 1, "learning_rate": 0.125},
            {"update": 2, "learning_rate": 0.25},
            {"update": 4, "learning_rate": 0.5},
            {"update": 6, "learning_rate": 0.5},
            {"update": 8, "learning_rate": 0.5},
        ],
    }


def test_epochs_need_a_number_of_updates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write_recipe(tmp_path, "epochs = 3\nwarmup = 4")
    assert main(["inspect", "schedule", str(recipe)]) == 2
    assert capsys.readouterr().err.startswith(
        f"error: {recipe}: training.epochs: how many updates 3 epochs are depends on the data; "
        "give --steps"
    )
    assert main(["inspect", "schedule", str(recipe), "--steps", "20"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("    20  ")


def test_a_wrong_recipe_is_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = write_recipe(tmp_path, "wramup = 4")
    assert main(["inspect", "schedule", str(recipe)]) == 2
    assert "training.wramup: unknown key; did you mean warmup?" in capsys.readouterr().err
    assert main(["inspect", "schedule", str(recipe), "--output", "x"]) == 2
    assert "--output: x is not named .png" in capsys.readouterr().err


def test_inspect_explains_itself_without_torch() -> None:
    code = (
        "import sys\n"
        "from dragoman.cli.main import main\n"
        "for command in ([], ['run'], ['schedule']):\n"
        "    assert main(['inspect', *command, '--help']) == 0\n"
        "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for word in ("run", "schedule", "RUN", "RECIPE", "--output", "--json", "--set", "--steps"):
        assert word in done.stdout
