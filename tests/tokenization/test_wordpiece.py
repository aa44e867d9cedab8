import random
import time
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.tokenization import (
    apply_wordpiece_merges,
    encode_word,
    learn_wordpiece,
    learn_wordpiece_fast,
    pair_score,
    split_word,
)
from dragoman.tokenization.wordpiece_counts import halving

words = st.text("abcd", max_size=9)


def counted(counts: dict[str, int]) -> dict[tuple[str, ...], int]:
    return {split_word(word): count for word, count in counts.items()}


def test_a_pair_that_seldom_stands_apart_comes_before_a_more_frequent_one() -> None:
    # By hand: a b occurs 4 times, a 5, ##b 6: 4/30. c ##d occurs twice and neither elsewhere: 2/4.
    counts = {"ab": 4, "ax": 1, "xb": 2, "cd": 2}
    first = next(learn_wordpiece(counted(counts)))
    assert (first.pair, first.joined, first.score) == (("c", "##d"), "cd", 0.5)


def test_pairs_below_the_limit_wait_until_no_other_is_left() -> None:
    # By hand: 4 times only a ##b. Then ##b occurs twice, in "xb", so that c ##d and x ##b have the
    # same score, 2/(2 2), and c is smaller. At last a ##x, which has the highest score of all:
    # "a" and ##x occur once, side by side.
    counts = counted({"ab": 4, "ax": 1, "xb": 2, "cd": 2})
    found = [merge.joined for merge in learn_wordpiece(counts, least_counts=(4, 2, 1))]
    assert found == ["ab", "cd", "xb", "ax"]
    assert [merge.joined for merge in learn_wordpiece(counts, least_counts=(4,))] == ["ab"]


@pytest.mark.parametrize(
    ("counts", "limits"),
    [
        ({"ab": 13, "abc": 1}, [14, 7, 3, 2]),
        ({"ab": 3}, [3, 2]),
        ({"ab": 2}, [2]),
        ({"a": 9}, [2]),
        ({}, [2]),
    ],
)
def test_limits_halve_from_the_most_frequent_pair_to_two(
    counts: dict[str, int], limits: list[int]
) -> None:
    assert list(halving(counted(counts))) == limits


def test_a_score_needs_symbols_that_occur() -> None:
    assert pair_score(90, 100, 150) == pytest.approx(0.006)
    with pytest.raises(ValueError, match="counts 0 and 3 of the symbols must be positive"):
        pair_score(0, 0, 3)


@given(counts=st.dictionaries(words, st.integers(0, 30)), limits=st.lists(st.integers(-1, 30)))
def test_counting_incrementally_gives_the_same_merges(
    counts: dict[str, int], limits: list[int]
) -> None:
    limits.append(1)
    slow = learn_wordpiece(counted(counts), least_counts=limits)
    assert list(learn_wordpiece_fast(counted(counts), least_counts=limits)) == list(slow)


@given(words=st.lists(st.lists(st.sampled_from(["a", "b", "aa", "ab", " a"])), max_size=12))
def test_so_it_does_for_symbols_of_any_length_without_a_mark(words: list[list[str]]) -> None:
    # Here two different pairs often make one piece, and a merge makes a symbol that is there.
    counts = Counter(map(tuple, words))
    fast = list(learn_wordpiece_fast(counts, mark=""))
    assert fast == list(learn_wordpiece(counts, mark=""))


def test_many_words_are_learnt_in_little_time() -> None:
    # 20,000 words made of 3,000 syllables, so that there is much to join; seconds, not hours.
    rng = random.Random(1)
    syllables = ["".join(rng.choices("abcdefghijklmnopqrst", k=3)) for _ in range(3000)]
    counts = {"".join(rng.choices(syllables, k=3)): rng.randint(1, 99) for _ in range(20_000)}
    start = time.perf_counter()
    merges = list(islice(learn_wordpiece_fast(counted(counts), least_counts=(100, 10)), 1000))
    assert len(merges) == 1000
    assert time.perf_counter() - start < 30


@given(counts=st.dictionaries(words, st.integers(1, 30), min_size=1))
def test_learning_to_the_end_makes_each_word_one_piece(counts: dict[str, int]) -> None:
    pairs = [merge.pair for merge in learn_wordpiece(counted(counts))]
    for word in counts:
        assert apply_wordpiece_merges(word, pairs) == ([word] if word else [])


def test_a_word_is_cut_longest_piece_first_and_not_as_it_was_joined() -> None:
    # By hand: the merges c d, then b cd would cut "abcd" otherwise than the longest match "abc".
    vocabulary = ["a", "##b", "##c", "##d", "abc", "##cd", "##bcd"]
    assert encode_word("abcd", vocabulary) == ["abc", "##d"]
    assert encode_word("abca", vocabulary) == ["[UNK]"]  # ##a is no piece, so the word is lost
    assert encode_word("abca", vocabulary, unknown="?") == ["?"]
    assert encode_word("", vocabulary) == []


@given(word=words, vocabulary=st.sets(st.text("abcd#", min_size=1, max_size=4)))
def test_what_is_cut_spells_the_word(word: str, vocabulary: set[str]) -> None:
    pieces = encode_word(word, vocabulary)
    if pieces != ["[UNK]"]:
        assert {*pieces} <= vocabulary
        assert "".join([*pieces[:1], *(piece[2:] for piece in pieces[1:])]) == word
