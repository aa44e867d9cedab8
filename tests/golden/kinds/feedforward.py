"""Activations, feed-forward networks plain and gated, and their widths."""

from functools import partial

import torch
from torch import Tensor

from dragoman.nn import ACTIVATIONS, FeedForward, GatedFeedForward, gated_width, swish
from tests.golden.case import Case
from tests.golden.kinds.counts import count
from tests.golden.kinds.weights import feed_forward_from, fill_bias, fill_linear


def activations(case: Case) -> dict[str, Tensor]:
    x = case.tensor("x")
    torch.testing.assert_close(ACTIVATIONS["silu"](x), swish(x), equal_nan=True)
    return {
        "relu": ACTIVATIONS["relu"](x),
        "gelu_erf": ACTIVATIONS["gelu"](x),
        "gelu_tanh": ACTIVATIONS["gelu_tanh"](x),
        "swish_beta1": ACTIVATIONS["silu"](x),
        "swish_beta1.5": swish(x, 1.5),
    }


def feed_forward(case: Case) -> dict[str, Tensor]:
    weights, activation = case.reals(case.inputs["weights"]), case.inputs.get("activation", "relu")
    return {"output": feed_forward_from(weights, activation)(case.tensor("x")[None])[0]}


def swiglu(case: Case) -> dict[str, Tensor]:
    weights = case.reals(case.inputs["weights"])
    d_model, d_ff = weights["W_gate"].shape
    biased = any(name.startswith("b_") for name in weights)
    network = GatedFeedForward(
        d_model, d_ff, activation=partial(swish, beta=case.inputs["beta"]), bias=biased
    ).to(case.dtype)
    for name, block in zip(("gate", "up"), network.projection_blocks(), strict=True):
        block.data.copy_(weights[f"W_{name}"].T)
    nothing = torch.zeros(d_ff, dtype=case.dtype)
    biases = [weights.get(f"b_{name}", nothing) for name in ("gate", "up")]
    fill_bias(network.gate_up, torch.cat(biases) if biased else None)
    fill_linear(network.output, weights["W_down"], weights.get("b_down"))
    return {"output": network(case.tensor("x")[None])[0]}


def swiglu_width(case: Case) -> dict[str, int]:
    d_model, multiple_of = case.inputs["d_model"], case.inputs["multiple_of"]
    width = gated_width(d_model)
    with torch.device("meta"):
        gated = GatedFeedForward(d_model, width)
        plain = FeedForward(d_model, 4 * d_model, bias=False)
    return {
        "truncated": width,
        "rounded_up_to_multiple": gated_width(d_model, multiple_of),
        "params_swiglu_truncated": count(gated),
        "params_two_matrix_4d": count(plain),
    }


KINDS = {
    "activations": activations,
    "feed_forward": feed_forward,
    "ffn_as_convolution": feed_forward,
    "swiglu": swiglu,
    "swiglu_width": swiglu_width,
}
