"""Optimizers: the paper's Adam (section 5.3), and three that users ask for.

All come from libraries. The schedule sets the rate of each update; ``build_optimizer`` sees tensors
only, so that it serves the weights of a module and wider copies of them alike.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, cast

import torch
from pydantic import Discriminator, Field
from torch import Tensor

from dragoman.configfile import record
from dragoman.errors import MissingExtraError

Decay = Annotated[float, Field(ge=0, lt=1)]
Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=False)]
WeightDecay = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@record
class AdamConfig:
    """Adam (Kingma and Ba 2014, arXiv 1412.6980) as in section 5.3; weights do not decay.

    Args:
        beta1: decay of the mean of gradients.
        beta2: decay of the mean of squared gradients; 0.98 in the paper.
        eps: added outside the root.
    """

    kind: Literal["adam"] = "adam"
    beta1: Decay = 0.9
    beta2: Decay = 0.98
    eps: Epsilon = 1e-9


@record
class AdamWConfig:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019, arXiv 1711.05101).

    Args:
        beta1: decay of the mean of gradients.
        beta2: decay of the mean of squared gradients.
        eps: added outside the root.
        weight_decay: each update first multiplies a matrix by 1 - rate · weight_decay.
    """

    kind: Literal["adamw"] = "adamw"
    beta1: Decay = 0.9
    beta2: Decay = 0.98
    eps: Epsilon = 1e-9
    weight_decay: WeightDecay = 0.01


@record
class AdafactorConfig:
    """Adafactor (Shazeer and Stern 2018, arXiv 1804.04235), without momentum.

    It keeps the squared gradients of a matrix as one number a row and one a column. Its rate is
    relative: update t moves a tensor by max(1e-3, RMS of the tensor) · min(rate, 1 / √t), so it
    wants a higher rate than Adam. ``schedule = { kind = "constant", peak = 0.01 }`` with
    ``warmup = 0`` is the rule of the paper (its algorithm 5).

    Args:
        weight_decay: each update first multiplies a matrix by 1 - rate · weight_decay.
    """

    kind: Literal["adafactor"] = "adafactor"
    weight_decay: WeightDecay = 0.0


@record
class Adam8bitConfig:
    """Adam with moments of 8 bits (Dettmers et al. 2022, arXiv 2110.02861); needs bitsandbytes.

    Tensors of fewer than 4,096 numbers keep moments of 32 bits. Weights do not decay.

    Args:
        beta1: decay of the mean of gradients.
        beta2: decay of the mean of squared gradients.
        eps: added outside the root.
    """

    kind: Literal["adam8bit"] = "adam8bit"
    beta1: Decay = 0.9
    beta2: Decay = 0.98
    eps: Epsilon = 1e-9


OptimizerConfig = Annotated[
    AdamConfig | AdamWConfig | AdafactorConfig | Adam8bitConfig, Discriminator("kind")
]


def build_optimizer(parameters: Iterable[Tensor], config: OptimizerConfig) -> torch.optim.Optimizer:
    """Build the optimizer over those ``parameters`` that ask for a gradient.

    The rate is 0 until ``set_rate``. One fused kernel updates all weights where there is one for
    their device and dtype.

    Args:
        parameters: weights of a model, or plain tensors that stand for them.
        config: which optimizer, with its constants.

    Raises:
        MissingExtraError: the optimizer's library is not installed.
        ValueError: no parameter asks for a gradient.
    """
    weights = [weight for weight in parameters if weight.requires_grad]
    if not weights:
        raise ValueError("parameters: none asks for a gradient; there is nothing to train")
    match config:
        case AdamConfig():
            return torch.optim.Adam(
                weights, lr=0.0, betas=_betas(config), eps=config.eps, fused=_can_fuse(weights)
            )
        case AdamWConfig():
            groups = weight_decay_groups(weights, config.weight_decay)
            return torch.optim.AdamW(
                groups, lr=0.0, betas=_betas(config), eps=config.eps, fused=_can_fuse(weights)
            )
        case AdafactorConfig():
            # PyTorch's floor of the mean square is the square of its first epsilon: 1e-15 gives the
            # 1e-30 of the paper, and its default would floor gradients as small as ours are.
            groups = weight_decay_groups(weights, config.weight_decay)
            return torch.optim.Adafactor(groups, lr=0.0, beta2_decay=-0.8, eps=(1e-15, 1e-3), d=1.0)
        case Adam8bitConfig():
            return _adam_8bit(weights, config)


def weight_decay_groups(weights: Iterable[Tensor], weight_decay: float) -> list[dict[str, Any]]:
    """Part what decays from what does not: biases and the gains of norms stay as they are.

    Those have one dimension, and pulling them towards 0 limits what a layer can say without making
    it simpler (BERT, arXiv 1810.04805, whose code excludes exactly these; He et al. 2018, arXiv
    1812.01187, section 3.1). Embedding tables do decay, as in BERT: when tied they are the
    output matrix as well.

    Returns:
        Groups as PyTorch's optimizers take them, none empty.
    """
    weights = list(weights)
    matrices = [weight for weight in weights if weight.ndim > 1]
    vectors = [weight for weight in weights if weight.ndim <= 1]
    groups: list[dict[str, Any]] = [  # Any: PyTorch's groups mix tensors and numbers
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use ``rate`` in the next update of every weight."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def moments_of(optimizer: torch.optim.Optimizer, weight: Tensor) -> dict[str, Tensor]:
    """Give what the optimizer remembers of ``weight``, by name, on the CPU.

    No two tensors share memory, as a file of tensors demands: bitsandbytes keeps one table of what
    its 8 bits mean for all weights. Otherwise what is on the CPU already is not copied.
    """
    return {
        name: torch.as_tensor(value).detach().cpu().contiguous().clone()
        if name.startswith("qmap")
        else torch.as_tensor(value).detach().cpu().contiguous()
        for name, value in optimizer.state.get(weight, {}).items()
    }


def restore_moments(
    optimizer: torch.optim.Optimizer, weight: Tensor, moments: Mapping[str, Tensor]
) -> None:
    """Put back what ``moments_of`` gave; the tensors are copied to the weight's device.

    The count of updates goes where each library wants it: beside the weight for a fused kernel, on
    the CPU for others, into a plain integer for bitsandbytes.
    """
    state: dict[str, Tensor | int] = {}
    for name, value in moments.items():
        if name != "step":
            state[name] = value.to(weight.device, copy=True)
        elif value.is_floating_point():
            fused = optimizer.defaults.get("fused")
            state[name] = value.to(weight.device if fused else "cpu", copy=True)
        else:
            state[name] = int(value)
    optimizer.state[weight] = state


def _betas(config: AdamConfig | AdamWConfig | Adam8bitConfig) -> tuple[float, float]:
    return config.beta1, config.beta2


def _can_fuse(weights: Sequence[Tensor]) -> bool:
    return all(w.device.type in ("cpu", "cuda") and w.is_floating_point() for w in weights)


def _adam_8bit(weights: Sequence[Tensor], config: Adam8bitConfig) -> torch.optim.Optimizer:
    try:
        from bitsandbytes.optim import Adam8bit  # pyright: ignore  # optional, and without types
    except ImportError:
        raise MissingExtraError('training.optimizer = "adam8bit"', "adam8bit") from None
    make = cast("Callable[..., torch.optim.Optimizer]", Adam8bit)
    return make(weights, lr=0.0, betas=_betas(config), eps=config.eps)
