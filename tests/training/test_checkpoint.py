from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from dragoman.errors import CheckpointError, ModelError
from dragoman.training import (
    AdamConfig,
    Progress,
    Weights,
    average_checkpoints,
    average_tensors,
    checkpoint_step,
    checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from dragoman.training.checkpoint import clean

FILES = ("model.safetensors", "optimizer.safetensors", "state.json")


def trained(steps: int = 3) -> Weights:
    torch.manual_seed(3)
    weights = Weights(nn.Linear(4, 2), AdamConfig(), average=0.9)
    for step in range(1, steps + 1):
        weights.backward(weights.model(torch.randn(5, 4)).square().sum())
        weights.step(step, 0.01)
    return weights


def test_a_checkpoint_gives_back_weights_moments_and_progress(tmp_path: Path) -> None:
    weights = trained()
    progress = Progress(step=3, batches={"epoch": 2, "batch": 5}, target_tokens=70, best=1.5)
    path = save_checkpoint(tmp_path, weights, progress)
    assert path.name == "step-00000003"
    other = trained(steps=0)
    assert load_checkpoint(path, other) == progress
    for kept, given in ((weights.tensors(), other.tensors()), (weights.moments(), other.moments())):
        assert kept.keys() == given.keys()
        assert all(torch.equal(kept[name], given[name]) for name in kept)
    moments = {name.rpartition(".")[2] for name in other.moments()}
    assert moments == {"exp_avg", "exp_avg_sq", "step", "average"}


def test_checkpoints_hold_no_pickle(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, trained(), Progress(step=1))
    assert sorted(file.name for file in path.iterdir()) == [*FILES]


def test_checkpoints_are_listed_by_step_and_only_whole_ones(tmp_path: Path) -> None:
    weights = trained()
    for step in (10, 9, 100):
        save_checkpoint(tmp_path, weights, Progress(step=step))
    (tmp_path / ".step-00000200.writing-1").mkdir()
    (tmp_path / "notes").mkdir()
    assert [checkpoint_step(path) for path in checkpoints(tmp_path)] == [9, 10, 100]
    assert checkpoints(tmp_path / "none") == []
    assert clean(tmp_path, keep=2) == [".step-00000200.writing-1"]
    assert [checkpoint_step(path) for path in checkpoints(tmp_path)] == [10, 100]
    assert (tmp_path / "notes").is_dir()


def test_a_failed_write_says_what_to_do_and_leaves_the_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Field report 21: the disk is full half-way through the second file.
    weights = trained()
    save_checkpoint(tmp_path, weights, Progress(step=1))
    written: list[str] = []
    real = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        written.append(self.name)
        if self.name == "optimizer.safetensors":
            real(self, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(CheckpointError, match="No space left on device; make room"):
        save_checkpoint(tmp_path, weights, Progress(step=2))
    assert "optimizer.safetensors" in written
    assert [entry.name for entry in tmp_path.iterdir()] == ["step-00000001"]
    assert load_checkpoint(tmp_path / "step-00000001", weights).step == 1


def one_bit_less(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        *((name, lambda data: data[:-3]) for name in FILES),
        *((name, one_bit_less) for name in FILES),
        ("state.json", lambda data: b"[]"),
        ("state.json", lambda data: b'{"step": 1}'),
    ],
)
def test_a_damaged_checkpoint_is_named(
    name: str, spoil: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    weights = trained()
    path = save_checkpoint(tmp_path, weights, Progress(step=1))
    (path / name).write_bytes(spoil((path / name).read_bytes()))
    with pytest.raises(CheckpointError, match="step-00000001: is damaged"):
        load_checkpoint(path, weights)


# Field report 22: averaging.
def test_the_average_is_the_plain_mean_of_section_6_1() -> None:
    # By hand: (1 + 2 + 6) / 3 and (0 - 3 + 3) / 3.
    given = [{"w": torch.tensor(v)} for v in ([1.0, 0.0], [2.0, -3.0], [6.0, 3.0])]
    torch.testing.assert_close(average_tensors(given)["w"], torch.tensor([3.0, 0.0]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_averaging_equal_weights_gives_the_same_bits(dtype: torch.dtype, count: int) -> None:
    weight = torch.randn(50, generator=torch.Generator().manual_seed(1)).to(dtype)
    averaged = average_tensors([{"w": weight.clone()} for _ in range(count)])["w"]
    assert averaged.dtype == dtype
    assert torch.equal(averaged, weight)


def test_counters_are_those_of_the_newest() -> None:
    averaged = average_tensors([{"step": torch.tensor(3)}, {"step": torch.tensor(8)}])
    assert averaged["step"].item() == 8


def test_half_precision_is_averaged_in_float32() -> None:
    # 2048 + 1 is 2048 in float16; the mean of 2048, 2050 and 2052 is 2050 only with wide sums.
    given = [{"w": torch.tensor([v], dtype=torch.float16)} for v in (2048, 2050, 2052)]
    assert average_tensors(given)["w"].item() == 2050


def test_checkpoints_of_different_runs_are_refused(tmp_path: Path) -> None:
    for name, weights in (
        ("a", {"w": torch.zeros(2)}),
        ("b", {"w": torch.zeros(3)}),
        ("c", {"v": torch.zeros(2)}),
    ):
        (tmp_path / name).mkdir()
        save_file(weights, tmp_path / name / "model.safetensors")
    for other in ("b", "c"):
        with pytest.raises(CheckpointError, match="average checkpoints of one run"):
            average_checkpoints([tmp_path / "a", tmp_path / other])
    with pytest.raises(ModelError, match="no such file"):
        average_checkpoints([tmp_path / "none"])
    with pytest.raises(CheckpointError, match="no checkpoints"):
        average_checkpoints([])
    same = average_checkpoints([tmp_path / "a", tmp_path / "a"])
    assert torch.equal(same["w"], load_file(tmp_path / "a/model.safetensors")["w"])
