import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from dragoman.errors import CheckpointError, DragomanError
from dragoman.training import translation_loss
from dragoman.training.distributed import (
    Alone,
    ShardReader,
    join_group,
    load_moments,
    load_shards,
    shard_files,
    write_shard,
)
from dragoman.training.distributed.joined import buckets
from tests.training.processes import SAVED, make_optimizer, tiny_model, windows

ROOT = Path(__file__).parents[2]
Weights = tuple[dict[str, Tensor], Tensor]


def launch(
    warm: Path, name: str, folder: Path, processes: int, *, timeout_seconds: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a function of processes.py under torchrun, on the loopback interface only."""
    command = [str(warm / "torchrun"), "--standalone"]
    command += ["--nproc-per-node", str(processes), "-m", "tests.training.processes"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if sys.platform == "linux":
        environment["GLOO_SOCKET_IFNAME"] = "lo"
    return subprocess.run(
        [*command, name, str(folder), str(timeout_seconds)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )


def one_process(first: int = 0, last: int | None = None, start: Path | None = None) -> Weights:
    """Make the same updates in a plain loop, which knows nothing of groups."""
    model = tiny_model()
    optimizer = make_optimizer(model)
    if start is not None:
        with ShardReader(shard_files(start, "model")) as reader:
            load_shards(dict(model.named_parameters()), reader, Alone())
        with ShardReader(shard_files(start, "optimizer")) as reader:
            load_moments(model, optimizer, reader, Alone())
    norms: list[Tensor] = []
    for window in windows()[first:last]:
        total = sum(batch.target_tokens for batch in window)
        for batch in window:
            (translation_loss(model, batch, smoothing=0.1) / total).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5))
        optimizer.step()
        optimizer.zero_grad()
    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    return weights, torch.stack(norms)


def assert_same(weights: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert weights.keys() == expected.keys()
    for name, weight in weights.items():
        torch.testing.assert_close(weight, expected[name], atol=1e-6, rtol=0)


@pytest.fixture(scope="module")
def expected() -> Weights:
    return one_process()


@pytest.fixture(scope="module", params=[2, 3])
def finished(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, warm: Path
) -> Path:
    """A folder in which 2 or 3 processes talked, trained in both ways, and saved."""
    folder = tmp_path_factory.mktemp(f"processes-{request.param}")
    done = launch(warm, "all", folder, request.param)
    assert done.returncode == 0, done.stderr
    return folder


def test_processes_with_whole_weights_make_the_updates_of_one(
    finished: Path, expected: Weights
) -> None:
    assert_same(load_file(finished / "parallel"), expected[0])
    norms = load_file(finished / "norms")["norms"]
    torch.testing.assert_close(norms, expected[1], atol=1e-6, rtol=1e-6)


def test_processes_with_split_weights_make_the_updates_of_one(
    finished: Path, expected: Weights
) -> None:
    assert_same(load_file(finished / "split"), expected[0])


def test_one_process_goes_on_from_what_several_saved(finished: Path, expected: Weights) -> None:
    weights, _ = one_process(first=SAVED, start=finished)
    assert_same(weights, expected[0])


@pytest.mark.parametrize("finished", [2], indirect=True)
def test_three_processes_go_on_from_what_two_saved(
    finished: Path, expected: Weights, warm: Path
) -> None:
    done = launch(warm, "resumed", finished, 3)
    assert done.returncode == 0, done.stderr
    assert_same(load_file(finished / "resumed"), expected[0])


def test_split_weights_compute_in_bfloat16_with_gradients_in_float32(finished: Path) -> None:
    model, loss = tiny_model(), torch.zeros(())
    for batch in windows()[0]:
        one = translation_loss(model, batch, smoothing=0.1)
        loss += one.detach()
        one.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
    half = load_file(finished / "half")
    torch.testing.assert_close(half["loss"], loss, rtol=0.01, atol=0)
    torch.testing.assert_close(half["norm"], norm, rtol=0.03, atol=0)


def test_each_process_saves_only_its_rows(finished: Path) -> None:
    files = sorted(finished.glob("model-*"))
    size, whole = len(files), sum(p.nbytes for p in tiny_model().parameters())
    for file in files:
        kept = sum(tensor.nbytes for tensor in load_file(file).values())
        assert kept < whole / size * 1.15


def test_a_process_that_raises_ends_all_with_its_traceback(warm: Path, tmp_path: Path) -> None:
    start = time.monotonic()
    done = launch(warm, "raises", tmp_path, 2)
    assert done.returncode != 0
    assert time.monotonic() - start < 30  # far less than the 60 s for which one waits for another
    assert "in odd_sentence" in done.stderr
    summary = done.stderr.partition("Root Cause")[2]
    assert "rank      : 1" in summary
    assert "ValueError: odd sentence" in summary


def test_a_process_that_hangs_is_named_by_the_others_which_end_in_time(
    warm: Path, tmp_path: Path
) -> None:
    start = time.monotonic()
    done = launch(warm, "hangs", tmp_path, 3, timeout_seconds=3)
    assert done.returncode != 0
    assert time.monotonic() - start < 30  # it sleeps for 300 s
    assert (  # process 3 says the same
        "error: process 1 of 3: waited for one that is gone: process 2 was killed or hangs "
        "(limit 3 s); the same command goes on from the newest checkpoint"
    ) in done.stderr


def test_a_process_that_is_killed_ends_all(warm: Path, tmp_path: Path) -> None:
    start = time.monotonic()
    done = launch(warm, "killed", tmp_path, 2)
    assert done.returncode != 0
    assert time.monotonic() - start < 30
    assert "Signal 9" in done.stderr


def test_without_torchrun_a_process_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    group = join_group("cpu")
    assert isinstance(group, Alone)
    assert (group.rank, group.size, group.leader) == (0, 1, True)
    with group.guard():
        group.sum_([torch.ones(1)])
        assert group.tell("a") == "a"
        assert group.collect("a") == ["a"]
        assert group.agree(torch.ones(1)).tolist() == [1]
    with pytest.raises(ValueError, match="as it is"), group.guard():
        raise ValueError("as it is")


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(DragomanError, match="process 2 of this machine has no GPU, there are 1"):
        join_group("cuda")


def test_processes_that_do_not_come_are_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", **place}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(DragomanError, match="other processes cannot be reached"):
        join_group("cpu", timeout_seconds=1)


def test_buckets_hold_neighbours_of_one_dtype_up_to_a_size() -> None:
    # 4 bytes an element: 3 + 2 elements fill 20 bytes, 9 alone are more.
    a, b, c, d = torch.ones(3), torch.ones(2), torch.ones(9), torch.ones(1)
    e = torch.ones(1, dtype=torch.float64)
    made = [[tensor.numel() for tensor in bucket] for bucket in buckets([a, b, c, d, e], 20)]
    assert made == [[3, 2], [9], [1], [1]]


def written(folder: Path) -> list[Path]:
    """Ten rows in two files, as two processes write them."""
    whole = torch.arange(20.0).reshape(10, 2)
    for rank, rows in enumerate((whole[:5], whole[5:])):
        places = {"table": (5 * rank, [10, 2])}
        path = folder / f"model-0000{rank + 1}-of-00002.safetensors"
        save_file({"table": rows.contiguous()}, path, metadata={"shards": json.dumps(places)})
    return shard_files(folder, "model")


def test_rows_are_read_across_files(tmp_path: Path) -> None:
    with ShardReader(written(tmp_path)) as reader:
        assert reader.shape("table") == (10, 2)
        assert reader.read("table", 3, 7)[:, 0].tolist() == [6, 8, 10, 12]
        assert reader.read("table").shape == (10, 2)
        assert reader.read("table", 5, 6).tolist() == [[10, 11]]
        assert reader.read("table", 4, 4).shape == (0, 2)


def test_one_process_writes_and_reads_whole_tensors(tmp_path: Path) -> None:
    tensors = {"table": torch.randn(3, 2), "step": torch.tensor(7.0), "none": torch.empty(0, 4)}
    path = write_shard(tmp_path, "model", tensors, Alone())
    assert path.name == "model-00001-of-00001.safetensors"
    with ShardReader(shard_files(tmp_path, "model")) as reader:
        for name, tensor in tensors.items():
            assert torch.equal(reader.read(name), tensor)


def test_an_ordinary_file_is_read_in_the_same_way(tmp_path: Path) -> None:
    save_file({"table": torch.arange(6.0).reshape(3, 2)}, tmp_path / "model.safetensors")
    with ShardReader(shard_files(tmp_path, "model")) as reader:
        assert reader.read("table", 1, 2).tolist() == [[2, 3]]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    written(tmp_path)[0].unlink()
    with pytest.raises(
        CheckpointError, match=r"model-00001-of-00002.*no such file; it is one of 2"
    ):
        shard_files(tmp_path, "model")
    with pytest.raises(CheckpointError, match=r"optimizer.safetensors: no such file"):
        shard_files(tmp_path, "optimizer")


def test_missing_and_doubled_rows_are_refused(tmp_path: Path) -> None:
    first, second = written(tmp_path)
    with pytest.raises(CheckpointError, match="table: rows from 5 are missing"):
        ShardReader([first])
    with pytest.raises(CheckpointError, match="does not fit the other files"):
        ShardReader([second])
    with pytest.raises(CheckpointError, match="does not fit the other files"):
        ShardReader([first, first, second])


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    first, second = written(tmp_path)
    first.write_bytes(first.read_bytes()[:-3])
    with pytest.raises(CheckpointError, match=r"model-00001-of-00002.*cannot be read"):
        ShardReader([first, second])


def test_tensors_that_do_not_fit_are_named(tmp_path: Path) -> None:
    with ShardReader(written(tmp_path)) as reader:
        with pytest.raises(CheckpointError, match=r"table is \(10, 2\).*needs \(9, 2\)"):
            load_shards({"table": torch.zeros(9, 2)}, reader, Alone())
        with pytest.raises(CheckpointError, match="other is missing"):
            load_shards({"other": torch.zeros(9, 2)}, reader, Alone())
