"""What an update does to gradients, of whole weights and of those split over processes alike."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from dragoman.training.distributed.group import Group
from dragoman.training.distributed.sharding import Split


def sum_gradients(weights: Sequence[Tensor], group: Group) -> None:
    """Add up the gradients of whole (not split) weights over all processes.

    A weight that only some processes used counts as zero in the others; one that none used keeps
    no gradient, so that the optimizer leaves it alone as in one process.
    """
    if group.size == 1:
        return
    used = torch.tensor([weight.grad is not None for weight in weights], dtype=torch.int32)
    gradients: list[Tensor] = []
    for weight, count in zip(weights, group.agree(used), strict=True):
        if int(count) and weight.grad is None:
            weight.grad = torch.zeros_like(weight)
        if weight.grad is not None:
            gradients.append(weight.grad)
    group.sum_(gradients)


def divide_gradients(weights: Sequence[Tensor], by: float) -> float:
    """Divide all gradients by a number; give their norm, the same in every process."""
    _multiply(weights, 1 / by)
    return gradient_norm(weights)


def gradient_norm(weights: Iterable[Tensor]) -> float:
    """Measure the norm of all gradients; the same number in every process."""
    norm = torch.nn.utils.get_total_norm(_gradients(weights))
    return float(norm.full_tensor() if isinstance(norm, Split) else norm)


def clip_gradients(weights: Sequence[Tensor], norm: float, largest: float) -> None:
    """Scale gradients of length ``norm`` down to ``largest``, as PyTorch does."""
    factor = largest / (norm + 1e-6)
    if factor < 1:
        _multiply(weights, factor)


def finite_gradients(weights: Iterable[Tensor]) -> list[bool]:
    """Say of each weight whether the gradient kept here is finite, as one that is missing is."""
    return [
        weight.grad is None or bool(_kept_here(weight.grad).isfinite().all()) for weight in weights
    ]


def make_gradients(weights: Iterable[Tensor]) -> None:
    """Give zeros to every weight without a gradient, to see what memory all of them take."""
    for weight in weights:
        if weight.grad is None:
            weight.grad = torch.zeros_like(weight)


@torch.no_grad()
def _multiply(weights: Iterable[Tensor], factor: float) -> None:
    for gradient in _gradients(weights):
        _kept_here(gradient).mul_(factor)


def _gradients(weights: Iterable[Tensor]) -> list[Tensor]:
    return [weight.grad for weight in weights if weight.grad is not None]


def _kept_here(tensor: Tensor) -> Tensor:
    return tensor.to_local() if isinstance(tensor, Split) else tensor
