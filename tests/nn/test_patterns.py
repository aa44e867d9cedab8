import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.nn import (
    Causal,
    KeyValues,
    Local,
    MultiHeadAttention,
    Pattern,
    Sparse,
    causal_mask,
    local_mask,
    sparse_mask,
)
from tests.nn.draws import random

CPU = torch.device("cpu")
SEEDS = st.integers(0, 2**31)
LENGTHS = st.integers(1, 9)
CAUSAL_PATTERNS: list[Pattern] = [
    Causal(),
    Local(0, causal=True),
    Local(2, causal=True),
    Sparse(1, causal=True),
    Sparse(0, (1, 4), causal=True),
]


def drawn(mask: Tensor | None) -> list[str]:
    """Draw a mask: a line for each query, # where it sees."""
    assert mask is not None
    return ["".join("#" if seen else "." for seen in row) for row in mask.tolist()]


# Masks, drawn by hand


def test_sparse_mask_is_a_window_and_places_that_see_and_are_seen_by_all() -> None:
    assert drawn(sparse_mask(5, half_width=1, global_positions=[3])) == [
        "##.#.",
        "####.",
        ".###.",
        "#####",
        "...##",
    ]


def test_global_positions_past_the_end_are_left_out() -> None:
    near = local_mask(3, half_width=0)
    assert torch.equal(sparse_mask(3, half_width=0, global_positions=[3, 7]), near)


@given(past=st.integers(0, 6), new=LENGTHS, half_width=st.integers(0, 3))
def test_sparse_mask_of_the_last_queries_is_the_end_of_the_whole_mask(
    past: int, new: int, half_width: int
) -> None:
    whole = sparse_mask(past + new, half_width=half_width, global_positions=[0, 5])
    last = sparse_mask(new, past + new, half_width=half_width, global_positions=[0, 5])
    assert torch.equal(last, whole[past:])


def test_negative_places_and_widths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^global_positions: -1 is negative$"):
        sparse_mask(3, half_width=1, global_positions=[2, -1])
    with pytest.raises(ValueError, match=r"^half_width: -1 is negative$"):
        sparse_mask(3, half_width=-1, global_positions=[])


def test_causal_pattern_shows_itself_and_the_past() -> None:
    assert drawn(Causal().mask(2, 4, device=CPU)) == ["###.", "####"]
    assert Causal().mask(1, 4, device=CPU) is None  # the last query sees all
    assert Causal().window is None


def test_local_pattern_is_centred_unless_causal() -> None:
    assert drawn(Local(1).mask(4, 4, device=CPU)) == ["##..", "###.", ".###", "..##"]
    assert drawn(Local(1, causal=True).mask(4, 4, device=CPU)) == ["#...", "##..", ".##.", "..##"]
    assert drawn(Local(1, causal=True).mask(1, 4, device=CPU)) == ["..##"]
    assert (Local(3, causal=True).window, Local(3).window) == (3, None)


def test_sparse_pattern_hides_what_comes_after_if_causal() -> None:
    assert drawn(Sparse(0, (1,)).mask(4, 4, device=CPU)) == ["##..", "####", ".##.", ".#.#"]
    causal = Sparse(0, (1,), causal=True)
    assert drawn(causal.mask(4, 4, device=CPU)) == ["#...", "##..", ".##.", ".#.#"]
    assert drawn(causal.mask(1, 4, device=CPU)) == [".#.#"]
    assert causal.window is None


# Patterns in attention


def seeded(pattern: Pattern | None) -> MultiHeadAttention:
    torch.manual_seed(3)
    return MultiHeadAttention(8, 4, kv_heads=2, pattern=pattern).double()


@pytest.mark.parametrize("pattern", [*CAUSAL_PATTERNS, Local(1), Sparse(1, (2,))])
def test_a_pattern_meets_the_mask_of_padding(pattern: Pattern) -> None:
    x = random(2, 6, 8, seed=1)
    padding = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])[:, None, None]
    both = pattern.mask(6, 6, device=CPU)
    assert both is not None
    expected = seeded(None)(x, x, both & padding)
    torch.testing.assert_close(seeded(pattern)(x, x, padding), expected)


@pytest.mark.parametrize("pattern", CAUSAL_PATTERNS)
def test_reading_from_a_memory_leaves_the_pattern_out(pattern: Pattern) -> None:
    x, memory = random(2, 3, 8, seed=1), random(2, 5, 8, seed=2)
    torch.testing.assert_close(seeded(pattern)(x, memory), seeded(None)(x, memory))


@given(
    pattern=st.sampled_from(CAUSAL_PATTERNS),
    chunks=st.lists(st.integers(1, 3), min_size=1, max_size=6),
    seed=SEEDS,
)
def test_extending_piece_by_piece_equals_the_whole_sequence(
    pattern: Pattern, chunks: list[int], seed: int
) -> None:
    attention, length = seeded(pattern), sum(chunks)
    x = random(2, length, 8, seed=seed)
    past, outputs = None, []
    for new in x.split(chunks, 1):
        output, past = attention.extend(new, past)
        outputs.append(output)
    torch.testing.assert_close(torch.cat(outputs, 1), attention(x, x))
    assert past is not None
    assert past.length == length


@given(half_width=st.integers(0, 4), seed=SEEDS)
def test_a_causal_window_never_keeps_more_than_it_can_see(half_width: int, seed: int) -> None:
    attention, x = seeded(Local(half_width, causal=True)), random(2, 9, 8, seed=seed)
    past: KeyValues | None = None
    for position, new in enumerate(x.split(1, 1), start=1):
        _, past = attention.extend(new, past)
        kept = min(position, half_width)
        assert past.keys.shape == (2, 2, kept, 2)
        assert (past.length, past.forgotten) == (position, position - kept)
        if past.forgotten:  # then what is forgotten is freed: no view of a larger tensor
            assert past.keys.untyped_storage().nbytes() == past.keys.numel() * 8


def test_selected_rows_of_a_window_go_on_by_themselves() -> None:
    attention, x = seeded(Local(2, causal=True)), random(3, 6, 8, seed=1)
    _, past = attention.extend(x[:, :5], None)
    rows = torch.tensor([2, 0])
    output, grown = attention.extend(x[rows, 5:], past.select(rows))
    torch.testing.assert_close(output, attention(x, x)[rows, 5:])
    assert grown.length == 6


def test_a_causal_pattern_equals_the_causal_mask() -> None:
    x = random(2, 5, 8, seed=1)
    expected = seeded(None)(x, x, causal_mask(5))
    torch.testing.assert_close(seeded(Causal())(x, x), expected)
    torch.testing.assert_close(seeded(Local(9, causal=True))(x, x), expected)
