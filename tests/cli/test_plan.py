import json
from pathlib import Path

import pytest

from dragoman.cli.main import main


def write_recipe(folder: Path) -> str:
    path = folder / "small.toml"
    path.write_text(
        '[data]\ntrain = { source = "a", target = "b" }\n[tokenizer]\nsize = 300\n'
        "[model]\nlayers = 1\nd_model = 16\nheads = 2\nd_ff = 32\n"
        "[training]\nsteps = 10\nbatch_tokens = 128\n",
        encoding="utf-8",
    )
    return str(path)


def test_a_plan_is_printed_without_reading_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--hardware", "h100:8", "--hardware", "rtx4090", "--price", "2"]
    assert main(["plan", write_recipe(tmp_path), *asked]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("small: ")
    assert "\nh100:8  NVIDIA H100 SXM, fp32; 80 GB at 3,350 GB/s\n" in out
    assert "\nrtx4090:1  NVIDIA GeForce RTX 4090, fp32; 24 GB at 1,008 GB/s\n" in out
    assert " at 2 a device and hour\n" in out
    assert err == ""


def test_programs_get_json_and_overrides_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--hardware", "a100", "--set", "training.steps=7", "--utilization", "0.5", "--json"]
    assert main(["plan", write_recipe(tmp_path), *asked]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == 7
    (plan,) = found["plans"]
    assert plan["utilization"] == 0.5
    assert plan["seconds"] == pytest.approx(7 * plan["update_seconds"])
    # By hand: operations over half of 19.5 TFLOP/s, but so small an update waits to be started.
    share = plan["operations_per_update"] / (0.5 * 19.5e12)
    assert plan["update_seconds"] == max(share, plan["at_best_seconds"])


def test_this_machine_is_timed_and_its_figures_are_no_guess(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write_recipe(tmp_path)
    deterministic = ["--set", "training.deterministic=true"]
    assert main(["plan", recipe, "--hardware", "cpu:1", "--length", "8", *deterministic]) == 0
    out = capsys.readouterr().out
    assert "\ncpu:1  1 thread of this machine, fp32; " in out
    assert ", reckoned: products at the " in out
    assert "guess" not in out
    assert main(["plan", recipe, "--hardware", "cpu:99999", *deterministic]) == 2
    assert capsys.readouterr().err.startswith("error: --hardware: this machine has ")


def test_unknown_hardware_is_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", write_recipe(tmp_path), "--hardware", "h1000"]) == 2
    assert capsys.readouterr().err.startswith("error: --hardware: 'h1000' is not known; try p100")
