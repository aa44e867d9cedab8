"""Sums over all segmentations, beside listing them one by one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.tokenization.unigram_lattice import LONGEST_PIECE, Lattices, every_cut

PIECES: tuple[str, ...] = ("a", "b", "c", "ab", "bc", "abc", "aa", "cab")


def test_all_segmentations_are_listed() -> None:
    # By hand.
    assert {*every_cut("abc", PIECES)} == {("a", "b", "c"), ("ab", "c"), ("a", "bc"), ("abc",)}
    assert [*every_cut("", PIECES)] == [()]
    assert [*every_cut("ad", PIECES)] == []


def test_expected_counts_are_those_worked_out_by_hand() -> None:
    # "ab" is a+b with 0.5 * 0.2 = 0.1, or ab with 0.3: shares 1/4 and 3/4, four times over.
    lattices = Lattices.of(["ab"], {"a": 0, "b": 1, "ab": 2})
    counts = lattices.expected_counts(np.log([0.5, 0.2, 0.3]), np.array([4.0]))
    np.testing.assert_allclose(counts, [1.0, 1.0, 3.0])


@given(
    words=st.lists(st.text("abc", min_size=1, max_size=7), min_size=1, max_size=5),
    shares=st.lists(st.floats(0.01, 1), min_size=len(PIECES), max_size=len(PIECES)),
)
def test_sums_agree_with_listing_all_segmentations(words: list[str], shares: list[float]) -> None:
    probability: dict[str, float] = dict(zip([*PIECES], shares, strict=True))
    expected: dict[str, float] = dict.fromkeys(PIECES, 0.0)
    best: list[float] = []
    for weight, word in enumerate(words, 1):
        cuts = [*every_cut(word, PIECES)]
        weights = [math.prod(probability[piece] for piece in cut) for cut in cuts]
        best.append(math.log(max(weights)))
        for cut, share in zip(cuts, weights, strict=True):
            for piece in cut:
                expected[piece] += weight * share / sum(weights)
    lattices = Lattices.of(words, {piece: number for number, piece in enumerate(PIECES)})
    scores = np.log(shares)
    counts = lattices.expected_counts(scores, np.arange(1.0, len(words) + 1))
    np.testing.assert_allclose(counts, [*expected.values()], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(lattices.best_scores(scores), best, rtol=1e-9)


def test_a_piece_that_goes_is_used_no_more() -> None:
    lattices = Lattices.of(["ab", "b"], {"a": 0, "ab": 1, "b": 2})
    fewer = lattices.renumbered(np.array([0, -1, 1]))
    counts = fewer.expected_counts(np.log([0.5, 0.5]), np.array([2.0, 3.0]))
    np.testing.assert_allclose(counts, [2.0, 5.0])


def test_a_word_without_a_segmentation_has_no_score() -> None:
    lattices = Lattices.of(["ab", "a"], {"a": 0})
    assert lattices.best_scores(np.log([0.5])).tolist() == [-math.inf, pytest.approx(math.log(0.5))]


def test_long_pieces_are_not_looked_for() -> None:
    long = "a" * (LONGEST_PIECE + 1)
    lattices = Lattices.of([long], {"a": 0, long: 1, long[1:]: 2})
    assert {*lattices.pieces.tolist()} == {0, 2}
