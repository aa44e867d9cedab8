"""Who may attend to whom, and what happens to a query that sees nothing."""

import math

import pytest
import torch
from torch import Tensor

from dragoman.nn import attention_scores, attention_weights, causal_mask, combine, padding_mask
from tests.golden.case import Case
from tests.golden.kinds.attention import softmax_of


def causal(case: Case) -> dict[str, Tensor]:
    queries, keys, offset = (case.inputs[name] for name in ("queries", "keys", "offset"))
    if offset + queries == keys:  # the queries are the last of the keys, as with a cache
        visible = causal_mask(queries, keys)
    else:
        visible = causal_mask(max(keys, offset + queries))[offset : offset + queries, :keys]
    nothing = torch.zeros(queries, keys, dtype=case.dtype)
    return {
        "visible": visible,
        "additive": nothing.masked_fill(~visible, -math.inf),
        "additive_1e9": nothing.masked_fill(~visible, -1e9),
    }


def padding(case: Case) -> dict[str, Tensor]:
    return {"visible": padding_mask(case.ids("tokens"), case.inputs["pad"])}


def combined(case: Case) -> dict[str, Tensor | None]:
    tokens = case.ids("tokens")
    visible = combine(causal_mask(tokens.size(1)), padding_mask(tokens, case.inputs["pad"]))
    return {"visible": visible}


def empty_row_policies(case: Case) -> dict[str, dict[str, Tensor]]:
    """Ours is ``safe_zero``; the others are what an additive mask does when passed as a bias."""
    q, k, v, visible, scale = *map(case.tensor, "qkv"), case.mask(), case.inputs["scale"]
    assert visible is not None
    scores, nothing = attention_scores(q, k, scale=scale), torch.zeros_like(visible, dtype=q.dtype)

    def biased(bias: Tensor, scale: float) -> dict[str, Tensor]:
        weights = attention_weights(q, k, scale=scale, bias=bias)
        return {"weights": weights, "output": weights @ v}

    return {
        "safe_zero": {
            "weights": attention_weights(q, k, visible, scale=scale),
            "output": case.kernel(q, k, v, visible, scale=scale),
        },
        "bare_minus_inf": biased(nothing.masked_fill(~visible, -math.inf), scale),
        "replace_with_-1e9": biased(scores.masked_fill(~visible, -1e9), 0.0),
        "add_-1e9": biased(nothing.masked_fill(~visible, -1e9), scale),
    }


def mask_convention(case: Case) -> dict[str, object]:
    """An additive mask is refused; ``mask == 0``, as the error says, is the right conversion."""
    q, k, v, additive = *map(case.tensor, "qkv"), case.tensor("additive_mask")
    for attend in (
        lambda: attention_weights(q, k, additive),
        lambda: case.kernel(q, k, v, additive),
    ):
        with pytest.raises(TypeError, match="mask == 0"):
            attend()
    visible = additive == 0
    misread = softmax_of(attention_scores(q, k).masked_fill(additive == 0, -math.inf))
    return {
        "right": {
            "weights": attention_weights(q, k, visible),
            "output": case.kernel(q, k, v, visible),
        },
        "wrong_weights_if_misread": misread,
    }


def causality(case: Case) -> dict[str, Tensor]:
    visible, scale = causal_mask(len(case.inputs["x"])), case.inputs.get("scale")
    outputs = {
        name: case.kernel(x, x, x, visible, scale=scale)
        for name, x in (("output", case.tensor("x")), ("output_changed", case.tensor("x_changed")))
    }
    earlier = slice(0, case.inputs["changed_from"])
    assert torch.equal(outputs["output"][earlier], outputs["output_changed"][earlier])
    return outputs


KINDS = {
    "causal_mask": causal,
    "causality": causality,
    "combined_mask": combined,
    "empty_row_policies": empty_row_policies,
    "mask_convention": mask_convention,
    "padding_mask": padding,
}
