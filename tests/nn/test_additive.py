import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.nn import AdditiveAttention, AdditiveKernel, MultiHeadAttention, additive_scores

SEEDS = st.integers(0, 2**31)


def test_scores_follow_the_formula() -> None:
    # By hand: 2 tanh(0.5 + 0.5) - tanh(0 + 1) = tanh 1 = 0.761594; 2 tanh 0 - tanh 0 = 0.
    q, vector = torch.tensor([[0.5, 0.0]]), torch.tensor([2.0, -1.0])
    k = torch.tensor([[0.5, 1.0], [-0.5, 0.0]])
    scores = additive_scores(q, k, vector)
    torch.testing.assert_close(scores, torch.tensor([[0.761594, 0.0]]), atol=1e-5, rtol=0)


@given(queries=st.integers(0, 7), keys=st.integers(1, 4), limit=st.integers(1, 200), seed=SEEDS)
def test_scores_do_not_depend_on_how_many_queries_are_taken_at_once(
    queries: int, keys: int, limit: int, seed: int
) -> None:
    rng = torch.Generator().manual_seed(seed)
    q = torch.randn(2, 3, queries, 5, generator=rng)
    k, vector = torch.randn(2, 3, keys, 5, generator=rng), torch.randn(3, 5, generator=rng)
    whole = additive_scores(q, k, vector)
    assert whole.shape == (2, 3, queries, keys)
    parts = additive_scores(q, k, vector, most_numbers=limit)
    torch.testing.assert_close(parts, whole)


def random_attention(seed: int) -> tuple[AdditiveAttention, Tensor, Tensor, Tensor]:
    """Make a module for queries of width 3 and keys of width 4, and queries, keys and values."""
    torch.manual_seed(seed)
    q, k, v = torch.randn(2, 5, 3), torch.randn(2, 6, 4), torch.randn(2, 6, 2)
    return AdditiveAttention(3, 4, hidden=7), q, k, v


@given(seed=SEEDS)
@settings(max_examples=20)
def test_one_query_at_a_time_sees_what_all_see_together(seed: int) -> None:
    attention, q, k, v = random_attention(seed)
    visible = torch.rand(2, 5, 6) < 0.6
    together = attention(q, k, v, visible)
    known = attention.project(k)
    for place in range(5):
        here = slice(place, place + 1)
        alone = attention.read(q[:, here], known, v, visible[:, here])
        torch.testing.assert_close(alone, together[:, here])


def test_hidden_keys_never_change_a_result() -> None:
    attention, q, k, v = random_attention(0)
    visible = torch.tensor([True, True, False, True, False, False])[None, None]
    before = attention(q, k, v, visible)
    torch.testing.assert_close(
        before, attention(q, k[:, [0, 1, 3]], v[:, [0, 1, 3]]), atol=1e-6, rtol=1e-5
    )
    hidden = ~visible[0, 0]
    k[:, hidden], v[:, hidden] = 1e4, -1e4
    torch.testing.assert_close(attention(q, k, v, visible), before)


def test_query_that_sees_nothing_gets_zeros_and_finite_gradients() -> None:
    attention, q, k, v = random_attention(1)
    q.requires_grad_()
    visible = torch.ones(2, 5, 6, dtype=torch.bool)
    visible[1, 2] = False
    output = attention(q, k, v, visible)
    assert (output[1, 2] == 0).all()
    assert (output[1, 3] != 0).all()
    output.sum().backward()
    for gradient in (q.grad, *(weight.grad for weight in attention.parameters())):
        assert gradient is not None
        assert gradient.isfinite().all()
        assert (gradient != 0).any()


def test_masks_that_are_not_boolean_are_refused() -> None:
    attention, q, k, v = random_attention(2)
    with pytest.raises(TypeError, match="visible must be boolean, True = may attend"):
        attention(q, k, v, torch.zeros(2, 5, 6))
    kernel = AdditiveKernel(heads=1, d_k=3)
    with pytest.raises(TypeError, match="visible must be boolean, True = may attend"):
        kernel(q[:, None], q[:, None], q[:, None], torch.zeros(5, 5))


# As a kernel


def test_every_head_of_the_kernel_is_a_single_head_with_its_own_vector() -> None:
    torch.manual_seed(0)
    kernel = AdditiveKernel(heads=3, d_k=4)
    q, k, v = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4), torch.randn(2, 3, 6, 2)
    visible, bias = torch.rand(2, 1, 5, 6) < 0.7, torch.randn(3, 5, 6)
    heads = kernel(q, k, v, visible, scale=0.5, bias=bias)
    for head in range(3):
        one = AdditiveAttention(4, 4, hidden=4)
        one.query.weight.data.copy_(torch.eye(4))
        one.key.weight.data.copy_(torch.eye(4))
        scores = additive_scores(q[:, head], k[:, head], kernel.vector[head]) * 0.5 + bias[head]
        seen = visible[:, 0]
        weights = scores.masked_fill(~seen, -torch.inf).softmax(-1).nan_to_num()
        torch.testing.assert_close(heads[:, head], weights @ v[:, head])
        one.vector.data.copy_(kernel.vector[head])
        plain = one(q[:, head], k[:, head], v[:, head], seen)
        torch.testing.assert_close(kernel(q, k, v, visible)[:, head], plain)


def test_kernel_drops_weights_only_when_asked() -> None:
    torch.manual_seed(0)
    kernel, q = AdditiveKernel(heads=2, d_k=4), torch.randn(3, 2, 8, 4)
    eye = torch.eye(8).expand(3, 2, 8, 8)  # as values it shows the weights
    weights = kernel(q, q, eye)
    assert torch.equal(weights, kernel(q, q, eye))
    dropped = kernel(q, q, eye, dropout=0.5)
    kept = dropped != 0
    assert 0.3 < kept.float().mean() < 0.7  # of 384 weights
    torch.testing.assert_close(dropped[kept], 2 * weights[kept])


def test_multi_head_attention_takes_the_kernel_and_trains_its_vectors() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, kernel=AdditiveKernel(heads=2, d_k=4))
    x = torch.randn(2, 5, 8)
    attention(x, x).square().sum().backward()
    named = dict(attention.named_parameters())
    vector = named["kernel.vector"]
    assert vector.shape == (2, 4)
    assert vector.grad is not None
    assert (vector.grad != 0).all()
