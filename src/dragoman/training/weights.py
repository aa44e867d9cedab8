"""The weights of a run in the precision it computes in, their gradients and their optimizer.

In float32 the model's own parameters learn. In half precision the model computes with copies, while
the optimizer moves float32 originals (Micikevicius et al. 2017, arXiv 1710.03740, section 3.1):
what is validated, saved and averaged are always the originals.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from dragoman.bundle import load_tensors
from dragoman.errors import ModelError
from dragoman.training.distributed import (
    Group,
    finite_gradients,
    read_whole,
    sum_gradients,
)
from dragoman.training.loss_scale import LossScale
from dragoman.training.moving_average import MovingAverage
from dragoman.training.optimizer import (
    OptimizerConfig,
    build_optimizer,
    moments_of,
    restore_moments,
    set_rate,
)

Precision = Literal["auto", "fp32", "bf16", "fp16"]
HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Weights:
    """What learns: the model, float32 originals of its weights, gradients and optimizer.

    Args:
        model: is changed in place; its parameters become half precision if asked.
        optimizer: which one.
        precision: what forward and backward run in, no longer ``auto``; fp16 scales its loss.
        average: share of the old value that an exponential moving average keeps at each update;
            None keeps none.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: OptimizerConfig,
        *,
        precision: Precision = "fp32",
        average: float | None = None,
    ) -> None:
        self.model = model
        self._own = dict(model.named_parameters())  # a tied weight once
        self._half = HALVES.get(precision)
        self._originals: dict[str, Tensor] = {
            name: weight if self._half is None else _copy(weight)
            for name, weight in self._own.items()
        }
        self.scale = LossScale() if precision == "fp16" else None
        self.learning = [name for name, weight in self._own.items() if weight.requires_grad]
        self.optimizer = build_optimizer(self._originals.values(), optimizer)
        self.average = None if average is None else MovingAverage(self._originals, average)
        self._refresh()

    def backward(self, summed: Tensor) -> None:
        """Add the gradient of a summed loss to that of the update."""
        scaled = summed if self.scale is None else summed * self.scale.value
        scaled.backward()  # pyright: ignore[reportUnknownMemberType]  # torch's stub
        if self._half is None:
            return
        for name in self.learning:  # sums over batches are kept in float32
            own, original = self._own[name], self._originals[name]
            if own.grad is not None:
                wide = own.grad.to(original.dtype)
                original.grad = wide if original.grad is None else original.grad.add_(wide)
                own.grad = None

    @property
    def learned(self) -> list[Tensor]:
        """The float32 tensors that learn, in the order of ``learning``; each with its gradient."""
        return [self._originals[name] for name in self.learning]

    def sum_over(self, group: Group) -> None:
        """Add up the gradients of all processes, so that each has the sum."""
        sum_gradients(self.learned, group)

    def step(self, number: int, rate: float) -> None:
        """Make update ``number``, from 1: move the weights by the gradient, and forget it."""
        set_rate(self.optimizer, rate)
        self.optimizer.step()
        self.forget()
        self._refresh()
        if self.average is not None:
            self.average.update(number)

    def not_finite(self, most: int = 10) -> list[str]:
        """Name weights whose gradient is no number, the first few."""
        pairs = zip(self.learning, finite_gradients(self.learned), strict=True)
        return [name for name, finite in pairs if not finite][:most]

    def forget(self) -> None:
        """Drop the gradient."""
        self.optimizer.zero_grad(set_to_none=True)
        for weight in self._own.values():
            weight.grad = None

    @contextmanager
    def original(self) -> Generator[nn.Module]:
        """Put what is validated into the model: the originals, or their moving average."""
        now = self._originals if self.average is None else self.average.values
        computing = {name: weight.data for name, weight in self._own.items()}
        try:
            for name, weight in self._own.items():
                weight.data = now[name].data
            yield self.model
        finally:
            for name, weight in self._own.items():
                weight.data = computing[name]

    def tensors(self) -> dict[str, Tensor]:
        """Name the originals, as contiguous tensors on the CPU."""
        return {name: _on_cpu(weight) for name, weight in self._originals.items()}

    def moments(self) -> dict[str, Tensor]:
        """Name all that the optimizer and the moving average remember: ``WEIGHT.MOMENT``."""
        found = {
            f"{name}.{moment}": _on_cpu(value)
            for name in self.learning
            for moment, value in moments_of(self.optimizer, self._originals[name]).items()
        }
        if self.average is not None:
            found |= {f"{name}.average": _on_cpu(x) for name, x in self.average.values.items()}
        return found

    def read(self, folder: Path) -> None:
        """Put back what is in a checkpoint of any number of processes.

        Raises:
            ModelError, CheckpointError: a file is missing or damaged, or does not fit; nothing has
                changed then.
        """
        self.load(read_whole(folder, "model"), read_whole(folder, "optimizer"))

    @torch.no_grad()
    def load(self, tensors: Mapping[str, Tensor], moments: Mapping[str, Tensor]) -> None:
        """Put back what ``tensors`` and ``moments`` gave.

        Raises:
            ModelError: a weight or what is remembered of it is missing, left over, or of another
                shape; nothing has changed then.
        """
        averages = {key: value for key, value in moments.items() if key.endswith(".average")}
        states = _by_weight({k: v for k, v in moments.items() if k not in averages}, self.learning)
        if self.average is not None:
            self.average.check({k.removesuffix(".average"): v for k, v in averages.items()})
        load_tensors(self._originals, tensors, "model.safetensors")
        for name, state in states.items():
            restore_moments(self.optimizer, self._originals[name], state)
        if self.average is not None:
            for name, value in self.average.values.items():
                value.copy_(averages[f"{name}.average"])
        self._refresh()

    @torch.no_grad()
    def _refresh(self) -> None:
        """Copy the originals into the weights the model computes with."""
        if self._half is None:
            return
        for name, weight in self._own.items():
            if weight.dtype == self._half:
                weight.copy_(self._originals[name])
            else:
                weight.data = self._originals[name].to(self._half)


def _copy(weight: Tensor) -> Tensor:
    return weight.detach().clone().requires_grad_(weight.requires_grad)


def _on_cpu(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().contiguous()


def _by_weight(moments: Mapping[str, Tensor], names: Sequence[str]) -> dict[str, dict[str, Tensor]]:
    """Sort what an optimizer remembers by weight."""
    states: dict[str, dict[str, Tensor]] = {name: {} for name in names}
    for key, value in moments.items():
        name, _, moment = key.rpartition(".")
        if name not in states:
            raise ModelError(f"{key} is remembered, but no such weight learns")
        states[name][moment] = value
    return {name: state for name, state in states.items() if state}
