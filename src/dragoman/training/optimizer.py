"""Adam with the paper's constants (section 5.3), and gradient clipping."""

from collections.abc import Iterable
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from dragoman.configfile import record


@record
class AdamConfig:
    """Adam (Kingma and Ba 2014, arXiv 1412.6980) as in section 5.3.

    Args:
        beta1: decay of the mean of gradients.
        beta2: decay of the mean of squared gradients; 0.98 in the paper.
        eps: added outside the root.
    """

    kind: Literal["adam"] = "adam"
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.98
    eps: Annotated[float, Field(gt=0)] = 1e-9


def build_optimizer(parameters: Iterable[nn.Parameter], config: AdamConfig) -> torch.optim.Adam:
    """Build Adam over ``parameters``; the schedule sets the rate of each update.

    One fused kernel updates all weights where there is one for their device and dtype.
    """
    weights = list(parameters)
    fused = all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in weights)
    return torch.optim.Adam(
        weights, lr=0.0, betas=(config.beta1, config.beta2), eps=config.eps, fused=fused
    )


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use ``rate`` in the next update of every weight."""
    for group in optimizer.param_groups:
        group["lr"] = rate
