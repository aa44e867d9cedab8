import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import (
    RelativePositions,
    UnclippedRelativePositions,
    fused_attention,
    unclipped_bias,
)
from tests.nn.positions.schemes import random


def test_bias_is_the_product_with_the_vector_of_query_minus_key() -> None:
    # By hand, three positions, one feature: rows for i - j = -2 .. 2 are 1 .. 5; each q is 10.
    table = torch.tensor([[1.0], [2.0], [3.0], [4.0], [5.0]])
    bias = unclipped_bias(torch.full((3, 1), 10.0), table, 3)
    assert bias.tolist() == [[30, 20, 10], [40, 30, 20], [50, 40, 30]]


@given(length=st.integers(1, 6), past=st.integers(0, 3), seed=st.integers(0, 2**31))
def test_with_a_scale_it_is_shaws_form_of_the_mirrored_table(
    length: int, past: int, seed: int
) -> None:
    keys = length + past
    clip = max(keys - 1, 1)  # nothing is clipped
    unclipped = UnclippedRelativePositions(clip + 1, 4).double()
    unclipped.table.data = random(2 * clip + 1, 4, seed=seed)
    shaw = RelativePositions(clip, 4).double()
    shaw.keys.data = unclipped.table.data.flip(0)
    q, k = random(1, 2, length, 4, seed=seed + 1), random(1, 2, keys, 4, seed=seed + 2)
    outputs = [
        positions.attend(fused_attention, q, k, k, None, scale=0.5, dropout=0.0)
        for positions in (unclipped, shaw)
    ]
    torch.testing.assert_close(*outputs)


def test_no_scale_given_means_none() -> None:
    # By hand: scores 3 and 3 + ln 2 (the table is zero), so weights 1/3 and 2/3.
    positions = UnclippedRelativePositions(2, 1).double()
    positions.table.data.zero_()
    q = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    k = torch.tensor([3.0, 3.0 + 0.6931471805599453]).double().view(1, 1, 2, 1)
    v = torch.tensor([0.0, 3.0]).double().view(1, 1, 2, 1)
    output = positions.attend(fused_attention, q, k, v, None, scale=None, dropout=0.0)
    assert output.item() == pytest.approx(2.0)


def test_more_keys_than_there_are_vectors_for_are_refused() -> None:
    positions = UnclippedRelativePositions(4, 2)
    assert positions.max_length == 4
    q, k = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 5, 2)
    positions.attend(fused_attention, q, k[:, :, :4], k[:, :, :4], None, scale=None, dropout=0.0)
    with pytest.raises(ValueError, match=r"^5 positions are more than the 4 learned$"):
        positions.attend(fused_attention, q, k, k, None, scale=None, dropout=0.0)
