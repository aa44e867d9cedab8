"""What ``torchrun`` starts in test_distributed.py: one function for each kind of run.

python -m torch.distributed.run --standalone --nproc-per-node 2 -m tests.training.processes NAME DIR
"""

import hashlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from dragoman.data import Batch, placeholder, share
from dragoman.errors import DragomanError
from dragoman.models import ModelConfig, build_model
from dragoman.nn import DecoderLayer, EncoderDecoder, EncoderLayer
from dragoman.training import AdamConfig, build_optimizer, set_rate, translation_loss
from dragoman.training.distributed import (
    Group,
    LossModule,
    ShardReader,
    clip_gradients,
    full_tensors,
    gradient_norm,
    join_group,
    load_moments,
    load_shards,
    moments,
    shard,
    shard_files,
    sum_gradients,
    write_shard,
)

UPDATES, SAVED = 4, 2


def tiny_model() -> EncoderDecoder:
    """Sizes that no number of processes divides; one table for three uses."""
    config = ModelConfig(vocabulary=23, layers=2, d_model=20, heads=2, d_ff=35, dropout=0.0)
    model = build_model(config, torch.Generator().manual_seed(1))
    assert isinstance(model, EncoderDecoder)
    return model


def windows() -> list[list[Batch]]:
    """Batches of each update: some go round, some are divided, one has two rows for all."""
    rng = torch.Generator().manual_seed(5)

    def batch(rows: int, source: int, target: int) -> Batch:
        def ids(length: int) -> Tensor:
            return torch.randint(4, 23, (rows, length), generator=rng)

        return Batch(
            pairs=np.arange(rows),
            source=ids(source),
            target_in=ids(target),
            target_out=ids(target),
            target_tokens=rows * target,
            padding=0,
        )

    return [[batch(2 + j, 3 + j, 4 + i * j) for j in range(n)] for i, n in enumerate((5, 4, 1, 6))]


def make_optimizer(module: nn.Module) -> torch.optim.Optimizer:
    optimizer = build_optimizer(module.parameters(), AdamConfig())
    set_rate(optimizer, 1e-3)
    return optimizer


def split_part(window: Sequence[Batch], group: Group) -> list[Batch]:
    """Take this process's share, filled up to as many batches as every other process has."""
    mine = share(window, group.rank, group.size)
    rounds = int(group.agree(torch.tensor(len(mine)), "max"))
    return mine + [placeholder(window[0])] * (rounds - len(mine))


def train_parallel(model: EncoderDecoder, group: Group) -> list[float]:
    """Make all updates with whole weights in every process; give the gradient norms."""
    optimizer, norms = make_optimizer(model), list[float]()
    weights = list(model.parameters())
    for window in windows():
        total = sum(batch.target_tokens for batch in window)
        for batch in share(window, group.rank, group.size):
            (translation_loss(model, batch, smoothing=0.1) / total).backward()
        sum_gradients(weights, group)
        norms.append(gradient_norm(weights))
        clip_gradients(weights, norms[-1], 0.5)
        optimizer.step()
        optimizer.zero_grad()
    return norms


def sharded(model: EncoderDecoder, dtype: torch.dtype | None = None) -> LossModule:
    loss = LossModule(model, lambda batch: translation_loss(model, batch, smoothing=0.1))  # type: ignore[arg-type]  # every batch here is of this kind
    layers = [m for m in model.modules() if isinstance(m, EncoderLayer | DecoderLayer)]
    shard(loss, layers, dtype=dtype)
    return loss


def sharded_update(
    loss: LossModule, optimizer: torch.optim.Optimizer, window: list[Batch], group: Group
) -> float:
    total = sum(batch.target_tokens for batch in window)
    for batch in split_part(window, group):
        (loss(batch) / total).backward()
    weights = list(loss.parameters())
    norm = gradient_norm(weights)
    clip_gradients(weights, norm, 0.5)
    optimizer.step()
    optimizer.zero_grad()
    return norm


def talk(group: Group, folder: Path) -> None:
    """Use every way to exchange something."""
    rank, size = group.rank, group.size
    assert group.tell("Grüße 🚀" if group.leader else "not this") == "Grüße 🚀"
    assert group.tell("") == ""
    assert group.collect("é" * rank) == ["é" * other for other in range(size)]
    values = torch.tensor([rank, 1.0], dtype=torch.float64)
    assert group.agree(values).tolist() == [size * (size - 1) / 2, size]
    assert group.agree(values, "max").tolist() == [size - 1, 1]
    assert values.tolist() == [rank, 1.0]
    mixed = [torch.full((2, 3), float(rank)), torch.tensor(rank), torch.full((4,), rank + 0.5)]
    group.sum_(mixed)
    ranks = size * (size - 1) / 2
    assert [float(t.flatten()[-1]) for t in mixed] == [ranks, ranks, ranks + size / 2]
    group.copy_(own := [torch.full((2,), float(rank)), torch.tensor(rank)])
    assert [float(t.sum()) for t in own] == [0, 0]
    write_shard(folder, "whole", {"step": torch.tensor(7.0)}, group)
    group.wait()
    with ShardReader(shard_files(folder, "whole")) as reader:
        assert float(reader.read("step")) == 7
    unused, some = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    if group.leader:
        some.grad = torch.ones(2)
    sum_gradients([unused, some], group)
    assert unused.grad is None
    assert some.grad is not None
    assert some.grad.tolist() == [1, 1]


def digest(model: nn.Module) -> str:
    data = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    return hashlib.sha256(data.numpy().tobytes()).hexdigest()


def parallel(group: Group, folder: Path) -> None:
    """Train with whole weights, twice; every process must have the same bits both times."""
    model, again = tiny_model(), tiny_model()
    norms = train_parallel(model, group)
    assert train_parallel(again, group) == norms
    assert len({*group.collect(digest(model)), *group.collect(digest(again))}) == 1
    if group.leader:
        save_file({name: p.detach() for name, p in model.named_parameters()}, folder / "parallel")
        save_file({"norms": torch.tensor(norms)}, folder / "norms")


def split(group: Group, folder: Path) -> None:
    """Train with split weights, saving on the way."""
    model = tiny_model()
    loss = sharded(model)
    optimizer = make_optimizer(loss)
    for step, window in enumerate(windows(), 1):
        sharded_update(loss, optimizer, window, group)
        if step == SAVED:
            write_shard(folder, "model", dict(model.named_parameters()), group)
            write_shard(folder, "optimizer", moments(model, optimizer), group)
            with torch.no_grad():  # a validation changes nothing
                loss(window[0])
    whole = full_tensors(dict(model.named_parameters()), group)
    assert bool(whole) == group.leader
    if group.leader:
        save_file(whole, folder / "split")


def resumed(group: Group, folder: Path) -> None:
    """Go on with split weights from what another number of processes saved."""
    model = tiny_model()
    for weight in model.parameters():
        nn.init.zeros_(weight)
    loss = sharded(model)
    optimizer = make_optimizer(loss)
    with ShardReader(shard_files(folder, "model")) as reader:
        load_shards(dict(model.named_parameters()), reader, group)
    with ShardReader(shard_files(folder, "optimizer")) as reader:
        load_moments(model, optimizer, reader, group)
    for window in windows()[SAVED:]:
        sharded_update(loss, optimizer, window, group)
    whole = full_tensors(dict(model.named_parameters()), group)
    if group.leader:
        save_file(whole, folder / "resumed")


def half(group: Group, folder: Path) -> None:
    """Compute in bfloat16 with split weights; weights and gradients stay in float32."""
    model = tiny_model()
    loss = sharded(model, torch.bfloat16)
    window = windows()[0]
    total = torch.zeros(())
    for batch in split_part(window, group):
        one = loss(batch)
        total += one.detach()
        one.backward()
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    assert {gradient.dtype for gradient in gradients} == {torch.float32}
    numbers = {"loss": group.agree(total), "norm": torch.tensor(gradient_norm(model.parameters()))}
    if group.leader:
        save_file(numbers, folder / "half")


def all_of_it(group: Group, folder: Path) -> None:
    """Run all that ends well, since starting processes takes longer than what they do."""
    for work in (talk, parallel, split, half):
        work(group, folder)


def faulty(fault: Callable[[], None]) -> Callable[[Group, Path], None]:
    def work(group: Group, folder: Path) -> None:
        for step in range(3):
            if step == 2 and group.rank == 1:
                fault()
            group.sum_([torch.ones(1000)])

    return work


def odd_sentence() -> None:
    raise ValueError("odd sentence")


WORK = {
    "all": all_of_it,
    "resumed": resumed,
    "raises": faulty(odd_sentence),
    "hangs": faulty(lambda: time.sleep(300)),
    "killed": faulty(lambda: os.kill(os.getpid(), signal.SIGKILL)),
}


def main(name: str, folder: Path, timeout_seconds: float) -> int:
    torch.set_num_threads(1)
    group = join_group("cpu", timeout_seconds=timeout_seconds)
    try:
        with group.guard():
            WORK[name](group, folder)
            group.leave()
    except DragomanError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])))
