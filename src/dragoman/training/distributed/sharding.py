"""Weights, gradients and moments split by rows over the processes (``fully_shard``).

Each process keeps 1/N of every matrix (Rajbhandari et al. 2019, arXiv 1910.02054, stage 3; Zhao et
al. 2023, arXiv 2304.11277). A layer is gathered when it is used. Rows are shared out as
``torch.chunk`` does: ceil(rows / N) to each process until none are left.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Protocol, cast, runtime_checkable

import torch
import torch.distributed as dist
from torch import Tensor, nn

from dragoman.training.distributed.group import Group
from dragoman.training.objectives import Counted, Objective


@runtime_checkable
class Split(Protocol):
    """What a tensor split over processes has (``DTensor``), known without importing it."""

    def full_tensor(self) -> Tensor:
        """Gather it; every process must."""
        ...

    def to_local(self) -> Tensor:
        """Give the rows kept here, as a view."""
        ...


class LossModule(nn.Module):
    """A batch to its summed loss, so that all the weights are used inside one ``forward``.

    Tables shared between embedding and generator are then gathered once, for all who use them.

    Args:
        model: whose weights ``objective`` uses.
        objective: the summed loss of a batch under ``model``, in nats.
    """

    def __init__(self, model: nn.Module, objective: Objective) -> None:
        super().__init__()
        self.model, self.objective = model, objective

    def forward(self, batch: Counted) -> Tensor:
        """Sum the loss of a batch, in nats."""
        return self.objective(batch)


def shard(
    loss: LossModule, layers: Iterable[nn.Module], *, dtype: torch.dtype | None = None
) -> None:
    """Split the weights of ``loss.model`` over all processes, in place.

    Gradients are added up over the processes, not averaged. Every process must call ``loss`` and
    ``backward`` equally often, if need be with a batch whose loss counts nothing. Only ``loss``
    gathers the weights; a search needs a model of its own, filled from ``full_tensors``. Build the
    optimizer afterwards.

    Args:
        loss: the model and its objective.
        layers: parts that are gathered one at a time; the rest is gathered together.
        dtype: of the gathered weights and of computation; that of the weights unless given.
            Gradients are added up in float32 at least.
    """
    # Half a second that only runs that split their weights wait for.
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

    policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32 if dtype else None)
    # Named, as PyTorch would take the accelerator of the machine, whichever is used.
    kind = "cuda" if "nccl" in str(dist.get_backend()) else "cpu"
    mesh = init_device_mesh(kind, (dist.get_world_size(),))
    for part in [*layers, loss]:
        # Tables too go back after forward, so that validation leaves the weights split.
        fully_shard(part, mesh=mesh, mp_policy=policy, reshard_after_forward=True)
        split = cast("FSDPModule", part)
        split.set_gradient_divide_factor(1.0)
        split.set_force_sum_reduction_for_comms(True)  # Gloo knows no scaled sum


def full_tensors(tensors: Mapping[str, Tensor], group: Group) -> dict[str, Tensor]:
    """Gather split tensors on the leader's CPU, one after another; the others get nothing.

    Args:
        tensors: by name, the same names in the same order in every process.
        group: the processes.
    """
    whole: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        full = tensor.full_tensor() if isinstance(tensor, Split) else tensor
        if group.leader:
            whole[name] = full.detach().cpu().contiguous()
    return whole


def local_rows(tensor: Tensor, group: Group) -> tuple[Tensor, int]:
    """Give the rows that this process keeps and the number of the first; all of a whole tensor."""
    if not isinstance(tensor, Split):
        return tensor.detach(), 0
    share = math.ceil(tensor.size(0) / group.size)
    return tensor.to_local().detach(), min(group.rank * share, tensor.size(0))
