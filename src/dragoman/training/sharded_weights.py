"""The weights of a run split over its processes; the same to a trainer as ``Weights``.

Each process keeps its rows of the float32 weights, their gradients and what the optimizer remembers
(Rajbhandari et al. 2019, arXiv 1910.02054, stage 3). In half precision a layer is gathered as
copies. The leader also holds one whole model, which validations and searches use.
"""

from collections.abc import Generator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import torch
from torch import Tensor, nn

from dragoman.bundle import load_tensors
from dragoman.errors import ModelError
from dragoman.nn import DecoderLayer, EncoderLayer
from dragoman.training.distributed import (
    Group,
    LossModule,
    ShardReader,
    finite_gradients,
    full_tensors,
    load_moments,
    load_shards,
    moments,
    shard,
    shard_files,
)
from dragoman.training.loss_scale import LossScale
from dragoman.training.moving_average import MovingAverage
from dragoman.training.objectives import Objective
from dragoman.training.optimizer import OptimizerConfig, build_optimizer, set_rate
from dragoman.training.weights import HALVES, Precision, Weights

_AVERAGE = ".average"


class ShardedWeights:
    """What learns, split over processes. All must call the same methods in the same order.

    Args:
        model: is split in place; may be on the CPU, and goes to the device of the group.
        optimizer: which one; it must move each number by itself, as Adam does.
        objective: the summed loss of a batch under ``model``, in nats.
        group: the processes.
        precision: what forward and backward run in, no longer ``auto``; fp16 scales its loss.
        average: share of the old value that an exponential moving average keeps at each update;
            None keeps none.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: OptimizerConfig,
        objective: Objective,
        group: Group,
        *,
        precision: Precision = "fp32",
        average: float | None = None,
    ) -> None:
        self.model, self._group = model, group
        self._whole = deepcopy(model).cpu() if group.leader else model
        self.loss = LossModule(model, objective)
        layers = [m for m in model.modules() if isinstance(m, EncoderLayer | DecoderLayer)]
        shard(self.loss, layers, dtype=HALVES.get(precision))
        self._own: dict[str, Tensor] = dict(model.named_parameters())  # a tied weight once
        self.scale = LossScale() if precision == "fp16" else None
        self.learning = [name for name, weight in self._own.items() if weight.requires_grad]
        self.optimizer = build_optimizer(self._own.values(), optimizer)
        self.average = None if average is None else MovingAverage(self._own, average)

    def backward(self, summed: Tensor) -> None:
        """Add the gradient of a summed loss, of all processes, to that of the update."""
        scaled = summed if self.scale is None else summed * self.scale.value
        scaled.backward()  # pyright: ignore[reportUnknownMemberType]  # torch's stub

    @property
    def learned(self) -> list[Tensor]:
        """The tensors that learn, split, in the order of ``learning``; each with its gradient."""
        return [self._own[name] for name in self.learning]

    def sum_over(self, group: Group) -> None:
        """Do nothing: backward has added up the gradients of all processes."""

    def step(self, number: int, rate: float) -> None:
        """Make update ``number``, from 1: move the weights by the gradient, and forget it."""
        set_rate(self.optimizer, rate)
        self.optimizer.step()
        self.forget()
        if self.average is not None:
            self.average.update(number)

    def not_finite(self, most: int = 10) -> list[str]:
        """Name weights whose gradient is no number in any process, the first few."""
        wrong = torch.tensor([not it for it in finite_gradients(self.learned)], dtype=torch.int32)
        agreed = zip(self.learning, self._group.agree(wrong, "max"), strict=True)
        return [name for name, flag in agreed if int(flag)][:most]

    def forget(self) -> None:
        """Drop the gradient."""
        self.optimizer.zero_grad(set_to_none=True)

    @contextmanager
    def original(self) -> Generator[nn.Module]:
        """Gather what is validated into the leader's whole model; nobody else may use theirs."""
        full = full_tensors(self._own if self.average is None else self.average.values, self._group)
        if not self._group.leader:
            yield self._whole
            return
        load_tensors(dict(self._whole.named_parameters()), full, "the split weights")
        try:
            yield self._whole.to(self._group.device)
        finally:
            self._whole.cpu()

    def tensors(self) -> dict[str, Tensor]:
        """Name the weights, split."""
        return dict(self._own)

    def moments(self) -> dict[str, Tensor]:
        """Name what the optimizer and the average remember, split: ``WEIGHT.MOMENT``."""
        found = moments(self.model, self.optimizer)
        if self.average is not None:
            found |= {f"{name}{_AVERAGE}": value for name, value in self.average.values.items()}
        return found

    def read(self, folder: Path) -> None:
        """Put back the rows of this process from a checkpoint of any number of processes.

        Raises:
            ModelError, CheckpointError: a file is missing or damaged, or does not fit.
        """
        with ShardReader(shard_files(folder, "model")) as reader:
            unknown = sorted(reader.pieces.keys() - self._own.keys())
            if unknown:
                raise ModelError(f"{folder}: {', '.join(unknown[:3])} are not known")
            load_shards(self._own, reader, self._group)
        with ShardReader(shard_files(folder, "optimizer")) as reader:
            if self.average is not None:
                averages = {f"{name}{_AVERAGE}": x for name, x in self.average.values.items()}
                load_shards(averages, reader, self._group)
            for key in [key for key in reader.pieces if key.endswith(_AVERAGE)]:
                del reader.pieces[key]  # the rest is the optimizer's
            load_moments(self.model, self.optimizer, reader, self._group)


AnyWeights = Weights | ShardedWeights
