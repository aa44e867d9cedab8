"""Scaled dot-product attention, its weights and gradients; local, sparse, linear, by blocks."""

import math
from typing import Any

import torch
from torch import Tensor

from dragoman.nn import (
    AttentionKernel,
    MultiHeadAttention,
    Sparse,
    attention_scores,
    attention_weights,
    blockwise_attention,
    causal_mask,
    combine,
    linear_attention,
    local_mask,
    running_attention,
)
from tests.golden.case import Case
from tests.golden.kinds.weights import Recorder, attention_from, feed_forward_from


def sdpa(case: Case) -> dict[str, Tensor]:
    q, k, v, visible = *map(case.tensor, "qkv"), case.mask()
    scale = case.inputs.get("scale")
    return {
        "scores": attention_scores(q, k, scale=scale),
        "weights": attention_weights(q, k, visible, scale=scale),
        "output": case.kernel(q, k, v, visible, scale=scale),
    }


def sdpa_columns(case: Case) -> dict[str, Tensor]:
    q, k, v = (case.tensor(name).T for name in "qkv")  # the format's columns are our rows
    visible = case.mask()
    visible, scale = None if visible is None else visible.T, case.inputs.get("scale")
    output = case.kernel(q, k, v, visible, scale=scale)
    return {
        "weights": attention_weights(q, k, visible, scale=scale).T,
        "output": output.T,
        "row_form_output": output,
    }


def sdpa_backward(case: Case) -> dict[str, Tensor]:
    q, k, v = (case.tensor(name).requires_grad_() for name in "qkv")
    output = case.kernel(q, k, v, case.mask(), scale=case.inputs.get("scale"))
    output.backward(case.tensor("grad_output"))
    return {f"grad_{name}": given_grad(leaf) for name, leaf in zip("qkv", (q, k, v), strict=True)}


def given_grad(leaf: Tensor) -> Tensor:
    assert leaf.grad is not None
    return leaf.grad


def softmax_of(scores: Tensor, visible: Tensor | None = None) -> Tensor:
    """Give the attention weights of any scores (..., Q, K): they enter as the bias."""
    q, k = scores.new_zeros(scores.size(-2), 1), scores.new_zeros(scores.size(-1), 1)
    return attention_weights(q, k, visible, bias=scores)


def softmax(case: Case) -> dict[str, Tensor]:
    weights = softmax_of(case.tensor("scores")[None])[0]
    return {"weights": weights, "max_over_min": weights.max() / weights.min()}


def masked_softmax(case: Case) -> dict[str, Tensor]:
    scores, v, visible = case.tensor("scores"), case.tensor("v"), case.mask()
    q, k = scores.new_zeros(scores.size(-2), 1), scores.new_zeros(scores.size(-1), 1)
    masked = attention_scores(q, k, bias=scores)
    if visible is not None:  # the format writes hidden as -inf
        masked = masked.masked_fill(~visible, -math.inf)
    return {
        "masked_scores": masked,
        "weights": softmax_of(scores, visible),
        "output": case.kernel(q, k, v, visible, bias=scores),
    }


def softmax_jacobian(case: Case) -> dict[str, Tensor]:
    scaled = case.tensor("scaled_scores")
    results: dict[str, Tensor] = {}
    for name, scores in (("unscaled", scaled * case.inputs["d_k"] ** 0.5), ("scaled", scaled)):
        jacobian = torch.autograd.functional.jacobian(lambda s: softmax_of(s[None])[0], scores)
        assert isinstance(jacobian, Tensor)
        results[f"jacobian_{name}"] = jacobian
        results[f"norm_{name}"] = jacobian.norm()
    return results


def dot_product_moments(case: Case) -> dict[str, Tensor]:
    d_k = case.inputs["d_k"]
    k = balanced_signs(d_k).to(case.dtype)
    q = k[:1]  # by symmetry, every query has the same moments
    plain, scaled = attention_scores(q, k, scale=1.0), attention_scores(q, k)
    return {
        "mean": plain.mean(),
        "variance": plain.var(correction=0),
        "variance_after_scaling": scaled.var(correction=0),
    }


def balanced_signs(width: int) -> Tensor:
    """Give few sign vectors with the first two moments of all 2^width, (N, width).

    In any two columns of a Hadamard matrix but the first, each pair of signs is equally frequent.
    """
    matrix, block = torch.ones(1, 1), torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    while matrix.size(1) <= width:
        matrix = torch.kron(matrix, block)
    return matrix[:, 1 : width + 1]


def permutation(case: Case) -> dict[str, Tensor]:
    x, scale = case.tensor("x"), case.inputs.get("scale")
    moved = x[case.ids("permutation")]
    return {
        "output": case.kernel(x, x, x, scale=scale),
        "output_of_permuted": case.kernel(moved, moved, moved, scale=scale),
    }


def two_layer_attention_ffn(case: Case) -> dict[str, dict[str, Tensor]]:
    assert not any(case.inputs[name] for name in ("residual", "layer_norm", "positions"))
    scale, x = case.inputs.get("scale"), case.tensor("x")
    first, recorder = _one_head(case, "W_q", "W_k", "W_v", case.kernel)
    recorder.scale = scale
    first(x[None], x[None])
    layer1 = recorder.named()
    h = feed_forward_from(case.reals(case.inputs["ffn"]))(layer1["z"])
    second, recorder = _one_head(case, "W_q2", "W_k2", "W_v2", case.kernel)
    recorder.scale = scale
    second(h[None], h[None])
    return {"layer1": {**layer1, "ffn_output": h}, "layer2": recorder.named()}


def _one_head(
    case: Case, q: str, k: str, v: str, kernel: AttentionKernel
) -> tuple[MultiHeadAttention, Recorder]:
    """Project and attend with one head; what its output matrix makes of z is not looked at."""
    recorder = Recorder(kernel)
    weights = {name: case.tensor(key) for name, key in (("W_q", q), ("W_k", k), ("W_v", v))}
    weights["W_o"] = weights["W_v"].T.contiguous()  # any matrix of this shape
    return attention_from(weights, heads=1, kernel=recorder), recorder


def rounded_display(case: Case) -> dict[str, Tensor]:
    other = case.neighbour(case.inputs["case"])
    values = KINDS[other.kind](other)
    return {path: _follow(values, path) for path in case.raw["expected"]}


def _follow(values: object, path: str) -> Tensor:
    for key in path.split("."):
        assert isinstance(values, dict)
        values = values[key]
    assert isinstance(values, Tensor)
    return values


def restricted_attention(case: Case) -> dict[str, Tensor | int]:
    q, k, v = map(case.tensor, "qkv")
    assert case.inputs["r"] == 2 * case.inputs["half_width"] + 1
    causal = causal_mask(len(q), len(k)) if case.inputs["causal"] else None
    visible = combine(local_mask(len(q), len(k), half_width=case.inputs["half_width"]), causal)
    assert visible is not None
    scale = case.inputs.get("scale")
    return {
        "visible": visible,
        "visible_pairs": int(visible.sum()),
        "weights": attention_weights(q, k, visible, scale=scale),
        "output": case.kernel(q, k, v, visible, scale=scale),
    }


def sparse_attention(case: Case) -> dict[str, Tensor | None]:
    q, k, v = map(case.tensor, "qkv")
    pattern = Sparse(case.inputs["half_width"], tuple(case.inputs["global"]))
    visible = pattern.mask(len(q), len(k), device=q.device)
    output = case.kernel(q, k, v, visible, scale=case.inputs.get("scale"))
    return {"visible": visible, "output": output}


def linear(case: Case) -> dict[str, Tensor]:
    q, k, v = map(case.tensor, "qkv")
    return {"output": linear_attention(q, k, v, causal=case.inputs["causal"])}


def flash_attention(case: Case) -> dict[str, Any]:  # Any: a tensor, and one table a block
    q, k, v = map(case.tensor, "qkv")
    scale, block = case.inputs.get("scale"), case.inputs["block"]
    states = running_attention(q, k, v, scale=scale, block=block)
    return {
        "output": blockwise_attention(q, k, v, scale=scale, block=block),
        "trace": [{"row_max": state.row_max, "row_sum": state.row_sum} for state in states],
    }


KINDS = {
    "dot_product_moments": dot_product_moments,
    "flash_attention": flash_attention,
    "linear_attention": linear,
    "masked_softmax": masked_softmax,
    "permutation": permutation,
    "restricted_attention": restricted_attention,
    "rounded_display": rounded_display,
    "sdpa": sdpa,
    "sdpa_backward": sdpa_backward,
    "sdpa_columns": sdpa_columns,
    "softmax": softmax,
    "softmax_jacobian": softmax_jacobian,
    "sparse_attention": sparse_attention,
    "two_layer_attention_ffn": two_layer_attention_ffn,
}
