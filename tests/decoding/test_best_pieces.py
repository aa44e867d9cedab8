import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.best_pieces import best_pieces


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    rows=st.sampled_from([1, 3, 9]),
    vocabulary=st.sampled_from([1, 2, 7, 300, 4096, 5000]),
    count=st.sampled_from([1, 2, 8, 40]),
    levels=st.sampled_from([2, 30, 1000]),
)
def test_best_pieces_agree_with_a_stable_sort_of_everything(
    seed: int, rows: int, vocabulary: int, count: int, levels: int
) -> None:
    rng = torch.Generator().manual_seed(seed)
    log_probs = -torch.randint(levels, (rows, vocabulary), generator=rng).float()
    log_probs[:, ::5] = -math.inf
    values, pieces = best_pieces(log_probs, count)
    expected = log_probs.sort(dim=1, descending=True, stable=True)
    torch.testing.assert_close(values, expected.values[:, :count], rtol=0, atol=0)
    torch.testing.assert_close(pieces, expected.indices[:, :count], rtol=0, atol=0)
