"""Schedule, optimizer, loss, averaging, first weights."""

import math

import torch
from torch import Tensor, nn

from dragoman.evaluation.scoring import perplexity
from dragoman.models import initialize
from dragoman.nn import FeedForward
from dragoman.training.checkpoint import average_tensors
from dragoman.training.loss import (
    reference_cross_entropy,
    smoothed_cross_entropy,
    summed_cross_entropy,
)
from dragoman.training.optimizer import AdamConfig, build_optimizer, set_rate
from dragoman.training.schedule import inverse_sqrt
from tests.golden.case import Case


def learning_rate(case: Case) -> dict[str, object]:
    d_model, warmup, factor = (case.inputs[name] for name in ("d_model", "warmup", "factor"))

    def rate(step: int) -> float:
        return inverse_sqrt(step, d_model=d_model, warmup=warmup, factor=factor)

    return {"lr": [rate(step) for step in case.inputs["steps"]], "peak": rate(max(warmup, 1))}


def adam(case: Case) -> dict[str, object]:
    inputs = case.inputs
    theta = nn.Parameter(case.tensor("theta0"))
    config = AdamConfig(beta1=inputs["beta1"], beta2=inputs["beta2"], eps=inputs["eps"])
    optimizer = build_optimizer([theta], config)
    steps: list[dict[str, object]] = []
    for gradient, rate in zip(case.tensor("grads"), inputs["lrs"], strict=True):
        theta.grad = gradient.clone()
        set_rate(optimizer, rate)
        optimizer.step()
        state = optimizer.state[theta]
        step = int(state["step"])
        m, v = state["exp_avg"], state["exp_avg_sq"]
        steps.append(
            {
                "step": step,
                "lr": optimizer.param_groups[0]["lr"],
                "m": m.clone(),
                "v": v.clone(),
                "m_hat": m / (1 - config.beta1**step),
                "v_hat": v / (1 - config.beta2**step),
                "theta": theta.detach().clone(),
            }
        )
    return {"steps": steps}


def label_smoothing_uniform(case: Case) -> dict[str, dict[str, object]]:
    logits, targets = case.tensor("logits").requires_grad_(), case.ids("targets")
    smoothing, padding = case.inputs["eps"], case.inputs["pad"]
    # The gradient of the loss of a token is its distribution minus its labels.
    first = reference_cross_entropy(logits[:1], targets[:1], smoothing=smoothing).sum()
    (gradient,) = torch.autograd.grad(first, logits)
    losses = [
        summed_cross_entropy(row[None], target[None], smoothing=smoothing, padding=padding).item()
        for row, target in zip(logits, targets, strict=True)
    ]
    mean = smoothed_cross_entropy(logits, targets, smoothing=smoothing, padding=padding)
    uniform = {
        "targets_first_token": logits[0].softmax(-1) - gradient[0],
        "cross_entropy": losses,
        "mean_cross_entropy": mean,
    }
    return {"uniform": uniform}


def perplexities(case: Case) -> dict[str, list[float]]:
    return {"perplexity": [perplexity(loss) for loss in case.inputs["mean_nll"]]}


def checkpoint_average(case: Case) -> dict[str, Tensor]:
    averaged = average_tensors([{"weight": weights} for weights in case.tensor("checkpoints")])
    return {"average": averaged["weight"]}


def glorot_bound(case: Case) -> dict[str, Tensor]:
    """Each first weight is (2u - 1) times the bound, u uniform: the same draws give the bound."""
    network = FeedForward(case.inputs["fan_in"], case.inputs["fan_out"]).double()
    initialize(network, torch.Generator().manual_seed(0))
    weight = network.inner.weight.data
    rng = torch.Generator().manual_seed(0)
    draws = 2 * torch.rand(weight.shape, generator=rng, dtype=torch.float64) - 1
    far = draws.abs().argmax()  # where the division loses nothing
    bound = weight.flatten()[far] / draws.flatten()[far]
    torch.testing.assert_close(weight, draws * bound)
    return {"bound": bound, "std": bound / math.sqrt(3)}


KINDS = {
    "adam": adam,
    "checkpoint_average": checkpoint_average,
    "glorot_bound": glorot_bound,
    "learning_rate": learning_rate,
    "perplexity": perplexities,
}
PARTS = {"label_smoothing": label_smoothing_uniform}  # without the two other forms and KL
