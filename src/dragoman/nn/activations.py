"""What stands between two layers: max(0, ·) in the paper (section 3.3), and its successors.

Each takes a tensor of any shape and gives one of the same shape and dtype.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
import torch.nn.functional as F
from torch import Tensor

Activation = Callable[[Tensor], Tensor]


def relu(x: Tensor) -> Tensor:
    """Cut to max(0, x), as in equation (2)."""
    return torch.relu(x)


def gelu(x: Tensor) -> Tensor:
    """Weigh by the normal distribution: x Φ(x), exact (Hendrycks and Gimpel 2016, 1606.08415)."""
    return F.gelu(x)


def gelu_tanh(x: Tensor) -> Tensor:
    """Approximate ``gelu`` by x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), as GPT-2 does.

    It differs from ``gelu`` by up to 5e-4, enough to spoil an imported model.
    """
    return F.gelu(x, approximate="tanh")


def silu(x: Tensor) -> Tensor:
    """Weigh by the logistic function: x σ(x) (Elfwing et al. 2017, arXiv 1702.03118)."""
    return F.silu(x)


def swish(x: Tensor, beta: float = 1.0) -> Tensor:
    """Weigh by a steeper or flatter logistic function: x σ(βx) (arXiv 1710.05941).

    Args:
        x: any shape.
        beta: steepness; 1 is ``silu``, 0 is x / 2, large is ``relu``.
    """
    return x * torch.sigmoid(beta * x)


ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {"relu": relu, "gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu}
)
