"""A run is not lost: kills at any byte, full disks, damaged files, signals (field reports 17, 21).

Real processes, real signals and real small file systems; see ``faults.py``.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from dragoman.errors import CheckpointError
from dragoman.recipe import recipe_toml
from dragoman.run import train
from dragoman.training import (
    AdamConfig,
    Finished,
    Notice,
    Progress,
    Weights,
    checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from dragoman.training.checkpoint import clean
from tests.run import faults
from tests.run.test_resume import assert_same_bits, rates_and_losses, recipe_for, tensors

OFTEN = {"checkpoint_every": 2, "keep": 3, "average_last": 2}
NO_DISK = 77  # exit status: a file system of one's own is not allowed here


def written_recipe(folder: Path, **training: object) -> Path:
    """Write the recipe of ``recipe_for`` to a file."""
    file = folder / "recipe.toml"
    file.write_text(recipe_toml(recipe_for(folder, **{**OFTEN, **training})), encoding="utf-8")
    return file


def train_command(folder: Path, run: Path, **training: object) -> list[str]:
    return ["train", str(written_recipe(folder, **training)), "--run", str(run)]


def assert_same_run(one: Path, two: Path) -> None:
    """Weights, moments, losses, rates and the model of the end are equal, bit for bit."""
    assert_same_bits(tensors(one), tensors(two))
    assert rates_and_losses(one) == rates_and_losses(two)
    models = [(run / "model.safetensors").read_bytes() for run in (one, two)]
    assert models[0] == models[1]


def leftovers(run: Path) -> list[Path]:
    return [path for path in run.rglob("*") if ".writing-" in path.name or "damaged" in path.name]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing happened to; 12 updates."""
    folder = tmp_path_factory.mktemp("straight")
    log = folder / "log"
    status = faults.run(log, faults.command, *train_command(folder, folder / "run"))
    assert status == 0, log.read_text()
    return folder / "run"


# Killed while saving: a model so small that hundreds of saves can be tried.


def tiny(steps: int) -> Weights:
    torch.manual_seed(3)
    weights = Weights(nn.Linear(4, 2), AdamConfig())
    for step in range(1, steps + 1):
        weights.backward(weights.model(torch.randn(5, 4)).square().sum())
        weights.step(step, 0.01)
    return weights


def save_and_clean(kill: Callable[[int, Path], None], count: int, folder: Path) -> None:
    weights = tiny(2)
    kill(count, folder)
    save_checkpoint(folder, weights, Progress(step=2, target_tokens=20))
    clean(folder, keep=1)


def save_and_give_up(kill: Callable[[int, Path], None], count: int, folder: Path) -> None:
    try:
        save_and_clean(kill, count, folder)
    except KeyboardInterrupt:
        os._exit(130)


def assert_newest_is_whole(folder: Path) -> None:
    """The newest checkpoint loads with what was saved; it is that of update 1 or 2."""
    newest, loaded = checkpoints(folder)[-1], tiny(0)
    step = load_checkpoint(newest, loaded).step
    assert newest.name == f"step-{step:08d}"
    known = tiny(step)
    assert_same_bits(known.tensors() | known.moments(), loaded.tensors() | loaded.moments())


def kill_everywhere(kill: Callable[[int, Path], None], counts: range, folder: Path) -> int:
    """Kill a save at each of ``counts``, until one gets through."""
    torch.set_num_threads(1)
    for count in counts:
        shutil.rmtree(folder, ignore_errors=True)
        save_checkpoint(folder, tiny(1), Progress(step=1, target_tokens=10))
        status = faults.forked(save_and_give_up, kill, count, folder)
        assert_newest_is_whole(folder)
        save_checkpoint(folder, tiny(2), Progress(step=2, target_tokens=20))
        clean(folder, keep=1)
        assert [path.name for path in folder.iterdir()] == ["step-00000002"]
        assert_newest_is_whole(folder)
        if status == 0:
            sys.stdout.write(f"got through at {count}\n")
            return 0
        assert status in (-signal.SIGKILL, 130)
    return 1


@pytest.mark.parametrize(
    ("kill", "counts", "least"),
    [
        (faults.kill_at_byte, range(0, 10_000, 61), 1_000),
        (faults.kill_at_operation, range(1, 100), 10),
        (faults.interrupt_at_operation, range(1, 100), 10),
    ],
)
def test_a_kill_at_any_point_of_a_save_leaves_a_whole_checkpoint(
    kill: Callable[[int, Path], None], counts: range, least: int, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    status = faults.run(log, kill_everywhere, kill, counts, tmp_path / "checkpoints")
    assert status == 0, log.read_text()
    assert int(log.read_text().split()[-1]) > least


def test_a_run_killed_at_one_byte_after_another_ends_with_the_same_bits(
    straight: Path, tmp_path: Path
) -> None:
    rng, log, run = random.Random(1), tmp_path / "log", tmp_path / "run"
    arguments = train_command(tmp_path, run)
    # The run writes about 900 KB: tokenizer, recipe, checkpoints and best weights.
    for most in (100, 20_000, 200_000, 400_000, 400_000, 400_000):
        count = rng.randrange(most)
        status = faults.run(log, faults.command_killed_at_byte, count, run, *arguments)
        assert status == -signal.SIGKILL, log.read_text()
    assert faults.run(log, faults.command, *arguments) == 0, log.read_text()
    assert_same_run(straight, run)
    assert not leftovers(run)


def test_a_run_killed_at_any_time_ends_with_the_same_bits(straight: Path, tmp_path: Path) -> None:
    rng, log, run = random.Random(2), tmp_path / "log", tmp_path / "run"
    arguments = train_command(tmp_path, run)
    for _ in range(4):
        process = faults.start(log, faults.command, *arguments)
        process.join(timeout=rng.uniform(0.1, 0.8))
        process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL), log.read_text()
    assert faults.run(log, faults.command, *arguments) == 0, log.read_text()
    assert_same_run(straight, run)
    assert not leftovers(run)


# Disks.


def fill_up_then_go_on(disk: Path, arguments: list[str], copy: Path) -> int:
    """Train with less and less room, each time to the error, then with enough."""
    if not faults.own_disk(disk, "2m"):
        return NO_DISK
    ballast = disk / "ballast"
    for room in (4_096, 40_960, 327_680):
        free = os.statvfs(disk)
        ballast.write_bytes(b"x" * (free.f_bavail * free.f_frsize - room))
        status = faults.forked(faults.command, *arguments)
        assert status == 2, status
        ballast.unlink()
    assert faults.forked(faults.command, *arguments) == 0
    shutil.copytree(disk / "run", copy)
    return 0


def test_a_full_disk_is_an_error_that_can_be_mended(straight: Path, tmp_path: Path) -> None:
    disk, log = tmp_path / "disk", tmp_path / "log"
    disk.mkdir()
    arguments = train_command(tmp_path, disk / "run")
    status = faults.run(log, fill_up_then_go_on, disk, arguments, tmp_path / "run")
    if status == NO_DISK:
        pytest.skip("no file system of one's own is allowed here")
    said = log.read_text()
    assert status == 0, said
    errors = [line for line in said.splitlines() if line.startswith("error:")]
    assert len(errors) == 3
    assert all(f"error: {disk}/run" in error for error in errors)
    assert all("No space left on device" in error for error in errors)
    assert all("make room" in error and "same command" in error for error in errors)
    assert "/checkpoints/step-" in errors[-1]
    assert "Traceback" not in said
    assert_same_run(straight, tmp_path / "run")
    assert not leftovers(tmp_path / "run")


def exceed_a_quota(size: int, arguments: list[str]) -> int:
    with faults.largest_file(size):
        return faults.command(*arguments)


@pytest.mark.parametrize("size", [2_000, 30_000])
def test_a_quota_is_an_error_that_can_be_mended(size: int, straight: Path, tmp_path: Path) -> None:
    log, run = tmp_path / "log", tmp_path / "run"
    arguments = train_command(tmp_path, run)
    assert faults.run(log, exceed_a_quota, size, arguments) == 2
    said = log.read_text()
    assert f"error: {run}" in said
    assert "File too large" in said
    assert "make room" in said
    assert "Traceback" not in said
    assert faults.run(log, faults.command, *arguments) == 0, log.read_text()
    assert_same_run(straight, run)


def go_on_read_only(disk: Path, begin: list[str], arguments: list[str], copy: Path) -> int:
    """Train half, make the disk read-only, then writable again."""
    if not faults.own_disk(disk, "4m"):
        return NO_DISK
    assert faults.forked(faults.command, *begin) == 0
    before = {path: path.stat().st_mtime_ns for path in disk.rglob("*")}
    faults.remount(disk, "4m", read_only=True)
    assert faults.forked(faults.command, *arguments) == 2
    assert before == {path: path.stat().st_mtime_ns for path in disk.rglob("*")}
    faults.remount(disk, "4m", read_only=False)
    assert faults.forked(faults.command, *arguments) == 0
    shutil.copytree(disk / "run", copy)
    return 0


def test_a_read_only_folder_is_an_error_and_nothing_is_half_written(
    straight: Path, tmp_path: Path
) -> None:
    disk, log = tmp_path / "disk", tmp_path / "log"
    disk.mkdir()
    arguments = train_command(tmp_path, disk / "run")
    begin = [*arguments, "--set", "training.stop_after=5"]
    status = faults.run(log, go_on_read_only, disk, begin, arguments, tmp_path / "run")
    if status == NO_DISK:
        pytest.skip("no file system of one's own is allowed here")
    said = log.read_text()
    assert status == 0, said
    assert f"error: {disk}/run: cannot be written: Read-only file system" in said
    assert "Traceback" not in said
    assert_same_run(straight, tmp_path / "run")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_without_permission_is_an_error(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(CheckpointError, match=r"locked/run: cannot be written: Permission denied"):
        list(train(recipe_for(tmp_path), locked / "run"))
    assert not list(locked.iterdir())


# Checkpoints that people or disks took away or changed.


@pytest.fixture(scope="module")
def half(straight: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that stopped after update 7, with checkpoints of updates 2, 4, 6 and 7."""
    folder = tmp_path_factory.mktemp("half")
    log = folder / "log"
    arguments = [*train_command(folder, folder / "run"), "--set", "training.stop_after=7"]
    assert faults.run(log, faults.command, *arguments) == 0, log.read_text()
    found = [int(path.name[5:]) for path in checkpoints(folder / "run/checkpoints")]
    assert found == [4, 6, 7]
    return folder


def go_on(half: Path, folder: Path) -> str:
    """Finish a copy of ``half`` in ``folder``; give what was said."""
    log = folder / "log"
    arguments = train_command(half, folder / "run")
    assert faults.run(log, faults.command, *arguments) == 0, log.read_text()
    return log.read_text()


def flip_a_bit(file: Path, place: float) -> None:
    data = bytearray(file.read_bytes())
    data[int(place * (len(data) - 1))] ^= 1
    file.write_bytes(data)


def cut_in_half(file: Path, place: float) -> None:
    file.write_bytes(file.read_bytes()[: int(place * file.stat().st_size)])


@pytest.mark.parametrize(
    ("harm", "name", "place"),
    [
        (flip_a_bit, "model.safetensors", 0.0),
        (flip_a_bit, "model.safetensors", 0.6),
        (flip_a_bit, "optimizer.safetensors", 0.5),
        (flip_a_bit, "optimizer.safetensors", 1.0),
        (flip_a_bit, "state.json", 0.3),
        (flip_a_bit, "state.json", 0.9),
        (cut_in_half, "model.safetensors", 0.0),
        (cut_in_half, "optimizer.safetensors", 0.5),
        (cut_in_half, "state.json", 0.5),
        (cut_in_half, "state.json", 0.0),
    ],
)
def test_a_damaged_checkpoint_is_skipped_for_the_one_before(
    harm: Callable[[Path, float], None],
    name: str,
    place: float,
    straight: Path,
    half: Path,
    tmp_path: Path,
) -> None:
    shutil.copytree(half / "run", tmp_path / "run")
    newest = tmp_path / "run/checkpoints/step-00000007"
    harm(newest / name, place)
    said = go_on(half, tmp_path)
    assert f"{newest}: is damaged" in said
    assert "step-00000007 is kept as damaged-step-00000007" in said
    assert "from update 6" in said
    assert_same_run(straight, tmp_path / "run")


def test_a_newer_checkpoint_that_is_damaged_does_not_take_the_place_of_a_good_one(
    half: Path, tmp_path: Path
) -> None:
    # As the newest it used to count as the one to keep, and what was saved before it did not.
    shutil.copytree(half / "run", tmp_path / "run")
    flip_a_bit(tmp_path / "run/checkpoints/step-00000007/model.safetensors", 0.5)
    shutil.rmtree(tmp_path / "run/checkpoints/step-00000006")
    arguments = [*train_command(half, tmp_path / "run"), "--set", "training.stop_after=5"]
    log = tmp_path / "log"
    assert faults.run(log, faults.command, *arguments) == 0, log.read_text()
    assert checkpoints(tmp_path / "run/checkpoints")[-1].name == "step-00000005"


@pytest.mark.parametrize(
    ("deleted", "begins"), [((4,), 7), ((7,), 6), ((4, 6), 7), ((6, 7), 4), ((4, 6, 7), 0)]
)
def test_deleted_checkpoints_cost_their_updates_only(
    deleted: tuple[int, ...], begins: int, straight: Path, half: Path, tmp_path: Path
) -> None:
    shutil.copytree(half / "run", tmp_path / "run")
    for step in deleted:
        shutil.rmtree(tmp_path / f"run/checkpoints/step-{step:08d}")
    said = go_on(half, tmp_path)
    assert f"from update {begins}\n" in said or begins == 0
    assert_same_run(straight, tmp_path / "run")


def test_when_no_checkpoint_can_be_read_nothing_is_changed(half: Path, tmp_path: Path) -> None:
    shutil.copytree(half / "run", tmp_path / "run")
    found = checkpoints(tmp_path / "run/checkpoints")
    for path in found:
        flip_a_bit(path / "model.safetensors", 0.5)
    log = tmp_path / "log"
    assert faults.run(log, faults.command, *train_command(half, tmp_path / "run")) == 2
    assert "no checkpoint can be read; use --restart" in log.read_text()
    assert checkpoints(tmp_path / "run/checkpoints") == found


# Signals.


def send_after_an_update(signals: list[int], log: Path, arguments: list[str]) -> int:
    """Begin a run, and send it signals, one at a time, when it has made its first update."""
    process = faults.start(log, faults.command, *arguments)
    assert process.pid is not None
    for number in signals:
        _wait_for("step       1" if number == signals[0] else "stopping", log)
        os.kill(process.pid, number)
    process.join(timeout=120)
    assert process.exitcode is not None
    return process.exitcode


def _wait_for(text: str, log: Path) -> None:
    end = time.monotonic() + 120
    while text not in (log.read_text() if log.exists() else ""):
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("signals", "status", "reason"),
    [
        ([signal.SIGINT], 130, "interrupted"),
        ([signal.SIGTERM], 143, "terminated"),
        ([signal.SIGTERM, signal.SIGTERM, signal.SIGTERM], 143, "terminated"),
        ([signal.SIGINT, signal.SIGTERM], 130, "interrupted"),
    ],
)
def test_a_signal_saves_and_the_run_goes_on(
    signals: list[int], status: int, reason: str, straight: Path, tmp_path: Path
) -> None:
    log, run = tmp_path / "log", tmp_path / "run"
    arguments = train_command(tmp_path, run, checkpoint_every=100, average_last=1)
    assert send_after_an_update(signals, log, arguments) == status, log.read_text()
    said = log.read_text()
    assert "stopping after this update" in said
    stopped = next(line for line in said.splitlines() if line.startswith("stopped after update"))
    assert f"({reason}); saved {run}/checkpoints/step-" in stopped
    assert stopped.endswith("; the same command goes on from there")
    assert len(checkpoints(run / "checkpoints")) == 1
    assert faults.run(log, faults.command, *arguments) == 0, log.read_text()
    assert_same_bits(tensors(straight), tensors(run))
    assert rates_and_losses(straight) == rates_and_losses(run)


def test_ctrl_c_twice_leaves_at_once_and_harms_nothing(straight: Path, tmp_path: Path) -> None:
    log, run = tmp_path / "log", tmp_path / "run"
    arguments = train_command(tmp_path, run)
    status = send_after_an_update([signal.SIGINT, signal.SIGINT], log, arguments)
    assert status == 130, log.read_text()
    assert "Traceback" not in log.read_text()
    assert faults.run(log, faults.command, *arguments) == 0, log.read_text()
    assert_same_run(straight, run)
    assert not leftovers(run)


# What changed between two sittings.


def test_an_edited_tokenizer_is_named_and_refused(half: Path, tmp_path: Path) -> None:
    shutil.copytree(half / "run", tmp_path / "run")
    file = tmp_path / "run/tokenizer.json"
    whole = file.read_bytes()
    edited = json.loads(whole)
    vocabulary = edited["model"]["vocab"]
    one, two = "<0xF8>", "<0xF9>"  # no text holds these bytes, so all ids stay
    vocabulary[one], vocabulary[two] = vocabulary[two], vocabulary[one]
    file.write_text(json.dumps(edited), encoding="utf-8")
    recipe = recipe_for(half, **OFTEN)
    with pytest.raises(CheckpointError, match=r"tokenizer\.json: is not the tokenizer that this"):
        list(train(recipe, tmp_path / "run"))
    file.write_bytes(whole)
    assert isinstance(list(train(recipe, tmp_path / "run"))[-1], Finished)


def test_an_edited_tokenizer_that_makes_other_ids_is_refused_even_if_accepted(
    half: Path, tmp_path: Path
) -> None:
    shutil.copytree(half / "run", tmp_path / "run")
    file = tmp_path / "run/tokenizer.json"
    edited = json.loads(file.read_bytes())
    vocabulary = edited["model"]["vocab"]
    one, two = " .", "e"
    vocabulary[one], vocabulary[two] = vocabulary[two], vocabulary[one]
    file.write_text(json.dumps(edited), encoding="utf-8")
    recipe = recipe_for(half, **OFTEN)
    with pytest.raises(CheckpointError, match="not what this run began with"):
        list(train(recipe, tmp_path / "run", accept_changes=True))


def test_accepted_changes_are_said(half: Path, tmp_path: Path) -> None:
    shutil.copytree(half / "run", tmp_path / "run")
    recipe = recipe_for(half, warmup=5, **OFTEN)
    with pytest.raises(CheckpointError, match=r"training\.warmup: 5 was 4"):
        list(train(recipe, tmp_path / "run"))
    events = list(train(recipe, tmp_path / "run", accept_changes=True))
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert any("changed since the run began: training.warmup: 5 was 4" in text for text in notices)
    assert "changed since the run began" in (tmp_path / "run/metrics.jsonl").read_text()
