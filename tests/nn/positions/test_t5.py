import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import MultiHeadAttention, T5Bias, t5_bucket
from tests.nn.positions.schemes import random


def bucket_of_distance(distance: int, side: int, max_distance: int) -> int:
    """Place a distance by comparing whole numbers, without logarithms or rounding.

    log(d / e) / log(m / e) (n - e) >= t exactly when d^(n - e) >= m^t e^(n - e - t).
    """
    near = side // 2
    if distance < near:
        return distance
    logarithmic = side - near
    steps = [
        step
        for step in range(logarithmic)
        if distance**logarithmic >= max_distance**step * near ** (logarithmic - step)
    ]
    return near + max(steps)


@given(
    offset=st.integers(-3000, 3000),
    side=st.integers(2, 40),
    beyond=st.integers(1, 500),
    bidirectional=st.booleans(),
)
def test_buckets_agree_with_exact_arithmetic(
    offset: int, side: int, beyond: int, bidirectional: bool
) -> None:
    max_distance = side // 2 + beyond
    distance = abs(offset) if bidirectional else max(-offset, 0)
    expected = bucket_of_distance(distance, side, max_distance)
    if bidirectional and offset > 0:
        expected += side
    bucket = t5_bucket(
        torch.tensor([offset]),
        bidirectional=bidirectional,
        buckets=2 * side if bidirectional else side,
        max_distance=max_distance,
    )
    assert bucket.tolist() == [expected]


def test_distances_at_the_edge_of_a_bucket_fall_into_the_upper_one() -> None:
    # By hand, 16 buckets a side, 8 of them near: step t begins at 8 · 16^(t/8), so that
    # 8, 16, 32, 64 and 128 begin steps 0, 2, 4, 6 and 8.
    edges = torch.tensor([8, 15, 16, 31, 32, 63, 64, 127, 128])
    assert t5_bucket(-edges, bidirectional=True).tolist() == [8, 9, 10, 11, 12, 13, 14, 15, 15]


def test_bias_reads_the_bucket_of_each_pair() -> None:
    # By hand, 4 buckets, one side: distances 0, 1 near; 2, 3 share bucket 2; 4 and more bucket 3.
    positions = T5Bias(2, bidirectional=False, buckets=4, max_distance=8)
    positions.table.data = torch.tensor([[0.0, 1.0], [10.0, 11.0], [20.0, 21.0], [30.0, 31.0]])
    assert positions.bias(1, 6).tolist() == [[[[30, 30, 20, 20, 10, 0]], [[31, 31, 21, 21, 11, 1]]]]
    assert positions.bias(2, 2)[0, 0].tolist() == [[0, 0], [10, 0]]


def test_layers_that_share_a_bias_train_one_table() -> None:
    shared = T5Bias(2, bidirectional=True)
    layers = torch.nn.ModuleList(MultiHeadAttention(4, 2, positions=shared) for _ in range(3))
    named = [name for name, _ in layers.named_parameters() if name.endswith("table")]
    assert named == ["0.positions.table"]
    x = random(1, 5, 4, seed=1, dtype=torch.float32)
    for layer in layers:
        (gradient,) = torch.autograd.grad(layer(x, x).square().sum(), shared.table)
        assert (gradient != 0).any()


@pytest.mark.parametrize(
    ("bidirectional", "buckets", "max_distance", "message"),
    [
        (True, 31, 128, "buckets: 31 is not an even number, 4 or more"),
        (True, 2, 128, "buckets: 2 is not an even number, 4 or more"),
        (False, 1, 128, "buckets: 1 is not 2 or more"),
        (
            False,
            32,
            16,
            "max_distance: 16 is not beyond the 16 nearest distances, which have buckets of "
            "their own",
        ),
    ],
)
def test_buckets_that_cannot_be_filled_are_refused(
    bidirectional: bool, buckets: int, max_distance: int, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        T5Bias(2, bidirectional=bidirectional, buckets=buckets, max_distance=max_distance)
    with pytest.raises(ValueError, match=f"^{message}$"):
        t5_bucket(
            torch.tensor([0]),
            bidirectional=bidirectional,
            buckets=buckets,
            max_distance=max_distance,
        )
