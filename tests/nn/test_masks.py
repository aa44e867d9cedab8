from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.nn import causal_mask, combine, local_mask, padding_mask


def test_causal_mask_shows_itself_and_the_past() -> None:
    expected = [[True, False, False], [True, True, False], [True, True, True]]
    assert causal_mask(3).tolist() == expected


def test_queries_are_the_last_of_the_keys() -> None:
    # Two new positions after three cached ones.
    expected = [[True, True, True, True, False], [True, True, True, True, True]]
    assert causal_mask(2, 5).tolist() == expected


@given(past=st.integers(0, 6), new=st.integers(1, 6), half_width=st.integers(0, 8))
def test_masks_of_the_last_queries_are_the_last_rows_of_the_whole_mask(
    past: int, new: int, half_width: int
) -> None:
    length = past + new
    assert torch.equal(causal_mask(new, length), causal_mask(length)[past:])
    whole = local_mask(length, half_width=half_width)
    assert torch.equal(local_mask(new, length, half_width=half_width), whole[past:])


@pytest.mark.parametrize("mask", [causal_mask, lambda q, k: local_mask(q, k, half_width=1)])
def test_fewer_keys_than_queries_are_refused(mask: Callable[[int, int], Tensor]) -> None:
    with pytest.raises(ValueError, match=r"^keys: 2 is less than queries 3$"):
        mask(3, 2)


def test_padding_mask_hides_padding_from_every_query_and_head() -> None:
    visible = padding_mask(torch.tensor([[5, 7, 0], [5, 0, 0]]), 0)
    assert visible.shape == (2, 1, 1, 3)
    assert visible[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]


def test_any_id_may_mark_padding() -> None:
    assert padding_mask(torch.tensor([[0, 9]]), 9).flatten().tolist() == [True, False]


@given(length=st.integers(1, 12), half_width=st.integers(0, 14))
def test_local_mask_shows_r_keys_centred_on_the_query(length: int, half_width: int) -> None:
    visible = local_mask(length, half_width=half_width)
    for query in range(length):
        shown = visible[query].nonzero().flatten().tolist()
        first, last = max(0, query - half_width), min(length - 1, query + half_width)
        assert shown == list(range(first, last + 1))


def test_negative_half_width_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^half_width: -1 is negative$"):
        local_mask(3, half_width=-1)


def test_combined_masks_allow_what_all_allow() -> None:
    visible = combine(causal_mask(3), None, padding_mask(torch.tensor([[4, 0, 4], [4, 4, 0]]), 0))
    assert visible is not None
    assert visible.shape == (2, 1, 3, 3)
    # By hand: key 1 of the first sentence and key 2 of the second are padding.
    assert visible[0, 0].tolist() == [
        [True, False, False],
        [True, False, False],
        [True, False, True],
    ]
    assert visible[1, 0].tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, False],
    ]


def test_combining_nothing_allows_everything() -> None:
    assert combine() is None
    assert combine(None, None) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_combining_masks_that_are_not_boolean_is_refused(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match="masks must be boolean, True = may attend"):
        combine(causal_mask(2), torch.ones(2, 2, dtype=dtype))
