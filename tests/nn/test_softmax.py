import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import masked_softmax


def test_weights_of_what_is_seen_by_hand() -> None:
    # e^ln 3 = 3 and e^0 = 1: shares 3/4 and 1/4; the hidden third, though largest, gets nothing.
    scores = torch.tensor([[math.log(3), 0.0, 9.0]])
    weights = masked_softmax(scores, torch.tensor([[True, True, False]]), torch.float32)
    torch.testing.assert_close(weights, torch.tensor([[0.75, 0.25, 0.0]]))


@given(queries=st.integers(1, 4), keys=st.integers(1, 5), seed=st.integers(0, 2**31))
def test_masking_equals_leaving_the_hidden_keys_out(queries: int, keys: int, seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    scores = torch.randn(queries, keys, generator=rng, dtype=torch.float64)
    visible = torch.rand(queries, keys, generator=rng) < 0.6
    weights = masked_softmax(scores, visible, torch.float64)
    for row, seen, found in zip(scores, visible, weights, strict=True):
        torch.testing.assert_close(found[seen], row[seen].softmax(-1))
        assert (found[~seen] == 0).all()


def test_query_that_sees_nothing_gets_zeros_and_finite_gradients() -> None:
    scores = torch.tensor([[5.0, -2.0], [1.0, 3.0]], requires_grad=True)
    weights = masked_softmax(scores, torch.tensor([[False], [True]]), torch.float32)
    assert weights[0].tolist() == [0.0, 0.0]
    weights[:, 0].sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert scores.grad[0].tolist() == [0.0, 0.0]
    assert scores.grad[1].abs().min() > 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_scores_are_weighed_in_float32(dtype: torch.dtype) -> None:
    scores = torch.linspace(-3, 3, 50).to(dtype)
    weights = masked_softmax(scores, None, dtype)
    assert weights.dtype == dtype
    assert torch.equal(weights, scores.double().softmax(-1).float().to(dtype))
