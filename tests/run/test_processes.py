"""Runs of several real processes: the same result, stops, resumes and faults (FR 19, 20)."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import Tensor

from dragoman.recipe import Recipe, parse_recipe, recipe_toml
from dragoman.run import train
from dragoman.training import Finished, Started, Validated, average_checkpoints
from dragoman.training.distributed import read_whole
from tests.fixtures import write_corpus

ROOT = Path(__file__).parents[2]
UPDATES, STOP = 6, 3


def recipe_for(folder: Path, *settings: str) -> Recipe:
    """36 pairs in some 8 uneven batches an epoch; a rate that does not blow up rounding."""
    source, target = write_corpus(folder)
    table: dict[str, object] = {
        "data": {"train": {"source": str(source), "target": str(target)}, "hold_out": 4},
        "tokenizer": {"size": 300},
        "model": {"layers": 1, "d_model": 16, "heads": 2, "d_ff": 32, "dropout": 0.0},
        "training": {
            "steps": UPDATES,
            "batch_tokens": 96,
            "warmup": 0,
            "schedule": {"kind": "constant", "peak": 1e-3},
            "clip_norm": 1.0,
            "checkpoint_every": 2,
            "log_every": 1,
            "deterministic": True,
        },
        "validation": {"every": 3, "metrics": []},
        "decoding": {"beam": 1, "max_length": 8},
    }
    return parse_recipe(table, settings)


def recipe_file(folder: Path, name: str, *settings: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(recipe_toml(recipe_for(folder, *settings)), encoding="utf-8")
    return path


def torchrun(warm: Path | None, processes: int, *arguments: str | Path) -> list[str]:
    """Make the command; ``--`` keeps ``--run`` from being taken for an option of torchrun."""
    cold = [sys.executable, "-m", "torch.distributed.run"]
    command = [*(cold if warm is None else [str(warm / "torchrun")]), "--standalone"]
    return [*command, "--nproc-per-node", str(processes), "-m", "--", *map(str, arguments)]


def environment() -> dict[str, str]:
    only = {"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}
    return {**os.environ, "OMP_NUM_THREADS": "1", **only}


def launch(warm: Path, processes: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        torchrun(warm, processes, *arguments),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=150,
    )


def trained(run: Path, step: int = UPDATES) -> dict[str, Tensor]:
    """Read weights and moments of a checkpoint, whoever saved it."""
    path = run / f"checkpoints/step-{step:08d}"
    weights = {f"weight {name}": x for name, x in read_whole(path, "model").items()}
    return weights | read_whole(path, "optimizer")


def assert_same(run: Path, expected: Path, *, tolerance: float = 1e-6) -> None:
    found, wanted = trained(run), trained(expected)
    assert found.keys() == wanted.keys()
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, wanted[name], atol=tolerance, rtol=0, msg=name)


def events(run: Path, kind: type) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == kind.__name__]


ACCUMULATE = {n: f"training.accumulate={n}" for n in (1, 2)}
SPLIT = 'training.sharding="full"'
AVERAGE = "training.ema=0.9"
DROPOUT = "model.dropout=0.2"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of one process: straight ones, and one that stops for others to go on."""
    folder = tmp_path_factory.mktemp("alone")
    for n, accumulate in ACCUMULATE.items():
        list(train(recipe_for(folder, accumulate), folder / f"straight-{n}"))
    list(train(recipe_for(folder, AVERAGE), folder / "averaged"))
    list(train(recipe_for(folder, DROPOUT, ACCUMULATE[2]), folder / "dropout"))
    return folder


@pytest.fixture(scope="module")
def two(alone: Path, warm: Path) -> Path:
    """Runs of two processes, all made by one launch."""
    folder = alone
    half = f"training.stop_after={STOP}"
    list(train(recipe_for(folder, ACCUMULATE[2], half), folder / "from-one"))
    runs: list[tuple[str, str]] = []

    def add(run: str, *settings: str) -> None:
        runs.append((str(recipe_file(folder, str(len(runs)), *settings)), str(folder / run)))

    for n, accumulate in ACCUMULATE.items():
        add(f"two-{n}", accumulate)
        add(f"split-{n}", accumulate, SPLIT)
    add("two-dropout", DROPOUT, ACCUMULATE[2])
    add("from-one", ACCUMULATE[2])
    add("for-one", ACCUMULATE[2], half)
    add("split-for-one", ACCUMULATE[1], SPLIT, half)
    add("split-averaged", AVERAGE, SPLIT)
    for name, settings in {"dropout": (DROPOUT,), "split-dropout": (DROPOUT, SPLIT)}.items():
        add(f"{name}-straight", *settings)
        add(f"{name}-stopped", *settings, half)
        add(f"{name}-stopped", *settings)
    add("split-spare", SPLIT, "training.activation_checkpointing=true", 'training.precision="bf16"')
    add("two-1", ACCUMULATE[1], "training.warmup=7")  # another recipe
    add("two-1", ACCUMULATE[1])  # finished
    listed = folder / "runs.json"
    listed.write_text(json.dumps(runs), encoding="utf-8")
    done = launch(warm, 2, "tests.run.processes", "together", listed)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("accumulate", ACCUMULATE)
@pytest.mark.parametrize("kind", ["two", "split"])
def test_two_processes_make_the_updates_of_one(two: Path, kind: str, accumulate: int) -> None:
    run, straight = two / f"{kind}-{accumulate}", two / f"straight-{accumulate}"
    assert_same(run, straight)
    for ours, theirs in zip(events(run, Validated), events(straight, Validated), strict=True):
        assert ours["loss_nats"] == pytest.approx(theirs["loss_nats"], abs=1e-5)
    ours, theirs = (read_whole(path, "model") for path in (run, straight))  # averages of the last
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name], atol=1e-6, rtol=0)


def test_batches_dealt_out_whole_meet_the_dropout_of_one_process(two: Path) -> None:
    assert_same(two / "two-dropout", two / "dropout")


def test_three_processes_make_the_updates_of_one(alone: Path, warm: Path) -> None:
    runs = [
        (str(recipe_file(alone, f"three-{name}", *settings)), str(alone / f"three-{name}"))
        for name, settings in {"1": (ACCUMULATE[1],), "2": (ACCUMULATE[2], SPLIT)}.items()
    ]
    listed = alone / "three.json"
    listed.write_text(json.dumps(runs), encoding="utf-8")
    done = launch(warm, 3, "tests.run.processes", "together", listed)
    assert done.returncode == 0, done.stderr
    for accumulate in ACCUMULATE:
        assert_same(alone / f"three-{accumulate}", alone / f"straight-{accumulate}")


def test_two_processes_go_on_from_what_one_saved(two: Path) -> None:
    assert [event["step"] for event in events(two / "from-one", Started)] == [0, STOP]
    assert_same(two / "from-one", two / "straight-2")


@pytest.mark.parametrize(
    ("run", "settings"),
    [("for-one", [ACCUMULATE[2]]), ("split-for-one", [ACCUMULATE[1], SPLIT])],
)
def test_one_process_goes_on_from_what_two_saved(two: Path, run: str, settings: list[str]) -> None:
    list(train(recipe_for(two, *settings), two / run))
    assert [event["step"] for event in events(two / run, Started)] == [0, STOP]
    assert_same(two / run, two / f"straight-{settings[0][-1]}")
    assert (two / run / f"checkpoints/step-{UPDATES:08d}/model.safetensors").exists()


@pytest.mark.parametrize("kind", ["dropout", "split-dropout"])
def test_as_many_processes_go_on_bit_for_bit(two: Path, kind: str) -> None:
    assert [event["step"] for event in events(two / f"{kind}-stopped", Started)] == [0, STOP]
    assert_same(two / f"{kind}-stopped", two / f"{kind}-straight", tolerance=0)


def test_split_weights_have_the_same_moving_average(two: Path) -> None:
    assert_same(two / "split-averaged", two / "averaged")
    ours, theirs = (read_whole(two / run, "model") for run in ("split-averaged", "averaged"))
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name], atol=1e-6, rtol=0)


def test_split_weights_learn_in_half_precision_with_layers_computed_twice(two: Path) -> None:
    (found,) = events(two / "split-spare", Finished)
    assert found["step"] == UPDATES
    ours = trained(two / "split-spare")
    for name, weight in trained(two / "straight-1").items():
        if name.startswith("weight"):  # six updates of at most about the rate each
            torch.testing.assert_close(ours[name], weight, atol=2 * UPDATES * 1e-3, rtol=0)
    assert {weight.dtype for weight in ours.values()} == {torch.float32}


def test_split_checkpoints_are_averaged_by_one_process(two: Path) -> None:
    split, whole = (
        average_checkpoints(sorted((two / run / "checkpoints").iterdir()))
        for run in ("split-1", "straight-1")
    )
    assert split.keys() == whole.keys()
    for name, weight in split.items():
        torch.testing.assert_close(weight, whole[name], atol=1e-6, rtol=0)


def test_an_error_of_the_first_process_is_said_once(two: Path) -> None:
    first, second = ((two / f"two-1.error-{rank}").read_text(encoding="utf-8") for rank in (0, 1))
    assert "training.warmup: 7 was 0" in first
    assert second == "LeaderFailed: "


def test_sigterm_to_torchrun_saves_and_the_run_goes_on(tmp_path: Path) -> None:
    long = ("training.steps=100000", "training.checkpoint_every=50000")
    recipe, run = recipe_file(tmp_path, "long", *long), tmp_path / "run"
    with subprocess.Popen(
        # Cold: with tests/warm.py the first process now and then did not say that it was stopping.
        torchrun(None, 2, "dragoman", "train", recipe, "--run", run),
        cwd=ROOT,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        lines: list[str] = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith("step       4"):
                process.send_signal(signal.SIGTERM)
                break
        lines += process.stderr.readlines()
        process.wait(timeout=60)
    said = "".join(lines)
    assert said.count("stopping after this update") == 1
    assert said.count("step       2 ") == 1  # the second process prints nothing
    (saved,) = (run / "checkpoints").iterdir()
    step = int(saved.name.removeprefix("step-"))
    assert f"stopped after update {step} of 100,000 (terminated)" in said
    assert (run / "model.safetensors").exists()
    more = list(train(recipe_for(tmp_path, *long, f"training.stop_after={step + 1}"), run))
    assert [event.step for event in more if isinstance(event, Started)] == [step]


def faulty(warm: Path, folder: Path, fault: str, *settings: str) -> tuple[str, float]:
    """Run with a fault in process 2; give standard error and the seconds until all had ended."""
    begun = time.monotonic()
    recipe = recipe_file(folder, fault, *settings)
    arguments = ("tests.run.processes", fault, "train", recipe, "--run", folder / "run")
    done = launch(warm, 2, *arguments)
    assert done.returncode != 0
    return done.stderr, time.monotonic() - begun


def test_a_process_that_raises_in_step_3_ends_all_with_its_traceback(
    warm: Path, tmp_path: Path
) -> None:
    said, seconds = faulty(warm, tmp_path, "raises")
    assert seconds < 60  # far less than the 600 s for which one waits for another
    assert "in odd_sentence" in said
    summary = said.partition("Root Cause")[2]
    assert "rank      : 1" in summary
    assert "step       2 " in said
    assert "step       3 " not in said


def test_a_process_that_hangs_is_named_and_all_end_in_time(warm: Path, tmp_path: Path) -> None:
    said, seconds = faulty(warm, tmp_path, "hangs", "training.process_timeout=3")
    assert seconds < 60  # it sleeps for 300 s
    assert "process 2 was killed or hangs (limit 3 s)" in said


def test_an_over_long_pair_that_only_one_process_sees_ends_all(warm: Path, tmp_path: Path) -> None:
    said, seconds = faulty(warm, tmp_path, "over-long")
    assert seconds < 60
    own = [line for line in said.splitlines() if line.startswith(f"error: {tmp_path}")]
    assert len(own) == 1
    assert "are over the limits 4 and 4" in own[0]
    assert "process 2 ended with DataError" in said
