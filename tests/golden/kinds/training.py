"""Schedule, optimizer, loss, averaging, first weights."""

import math

import torch
from torch import Tensor, nn

from dragoman.evaluation.scoring import perplexity
from dragoman.inspection import training_time
from dragoman.models import ModelConfig, initialize
from dragoman.nn import FeedForward
from dragoman.training.checkpoint import average_tensors
from dragoman.training.label_smoothing import (
    SmoothingForm,
    label_cross_entropy,
    label_divergence,
    mean_over_targets,
    smoothed_labels,
)
from dragoman.training.loss import (
    reference_cross_entropy,
    smoothed_cross_entropy,
    summed_cross_entropy,
)
from dragoman.training.optimizer import AdamConfig, build_optimizer, set_rate
from dragoman.training.schedule import inverse_sqrt
from tests.golden.case import Case, read_numbers


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


def label_smoothing(case: Case) -> dict[str, dict[str, object]]:
    return {form: _smoothed(case, form) for form in ("uniform", "others", "others_nopad")}


def _smoothed(case: Case, form: SmoothingForm) -> dict[str, object]:
    logits, targets = case.tensor("logits"), case.ids("targets")
    padding = case.inputs["pad"]
    labels = smoothed_labels(
        targets,
        logits.size(-1),
        smoothing=case.inputs["eps"],
        padding=padding,
        form=form,
        dtype=case.dtype,
    )
    cross_entropy, kl = label_cross_entropy(logits, labels), label_divergence(logits, labels)
    found: dict[str, object] = {
        "targets_first_token": labels[0],
        "cross_entropy": cross_entropy,
        "kl": kl,
        "mean_cross_entropy": mean_over_targets(cross_entropy, targets, padding=padding),
        "mean_kl": mean_over_targets(kl, targets, padding=padding),
    }
    if form == "uniform":  # what training uses must say the same
        for name, value in _trained_with(case).items():
            torch.testing.assert_close(value, found[name], equal_nan=True)
            found[name] = value
    return found


def _trained_with(case: Case) -> dict[str, Tensor]:
    logits, targets = case.tensor("logits").requires_grad_(), case.ids("targets")
    smoothing, padding = case.inputs["eps"], case.inputs["pad"]
    # The gradient of the loss of a token is its distribution minus its labels.
    first = reference_cross_entropy(logits[:1], targets[:1], smoothing=smoothing).sum()
    (gradient,) = torch.autograd.grad(first, logits)
    labels = (logits[0].softmax(-1) - gradient[0]).detach()
    if targets[0] == padding:  # which has no loss
        labels = torch.zeros_like(labels)
    losses = [
        summed_cross_entropy(row[None], target[None], smoothing=smoothing, padding=padding)
        for row, target in zip(logits, targets, strict=True)
    ]
    mean = smoothed_cross_entropy(logits, targets, smoothing=smoothing, padding=padding)
    return {
        "targets_first_token": labels,
        "cross_entropy": torch.stack(losses).detach(),
        "mean_cross_entropy": mean.detach(),
    }


def hours_and_flops(case: Case) -> dict[str, float]:
    inputs = case.inputs
    found = training_time(
        inputs["steps"],
        inputs["seconds_per_step"],
        gpus=inputs["gpus"],
        tflops_per_gpu=inputs["tflops_per_gpu"],
    )
    return {"hours": found.hours, "days": found.days, "flops": found.flops}


def perplexities(case: Case) -> dict[str, list[float]]:
    return {"perplexity": [perplexity(loss) for loss in read_numbers(case.inputs["mean_nll"])]}


def checkpoint_average(case: Case) -> dict[str, Tensor]:
    averaged = average_tensors([{"weight": weights} for weights in case.tensor("checkpoints")])
    return {"average": averaged["weight"]}


def glorot_bound(case: Case) -> dict[str, Tensor]:
    """Each first weight is (2u - 1) times the bound, u uniform: the same draws give the bound."""
    network = FeedForward(case.inputs["fan_in"], case.inputs["fan_out"]).double()
    initialize(network, ModelConfig(), torch.Generator().manual_seed(0))
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
    "label_smoothing": label_smoothing,
    "learning_rate": learning_rate,
    "perplexity": perplexities,
    "training_time": hours_and_flops,
}
