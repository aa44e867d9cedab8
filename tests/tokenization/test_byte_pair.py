from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.tokenization import (
    TokenizerConfig,
    apply_merges,
    best_pair,
    learn_bpe,
    learn_merges,
)

# Table 1 and section 3.2 of Sennrich et al. (arXiv 1508.07909), figure 1.
PAPER = {"low": 5, "lower": 2, "newest": 6, "widest": 3}


def test_the_example_of_the_paper_is_learnt_as_its_program_prints_it() -> None:
    # Algorithm 1 on its toy dictionary: "es" 9, "est" 9, "est</w>" 9, "lo" 7, "low" 7. Of the
    # pairs that occur 9 times at first, e+s and s+t and t+</w>, e+s is the smallest.
    log = learn_merges(PAPER, 5)
    assert [merge.pair for merge in log] == [
        ("e", "s"),
        ("es", "t"),
        ("est", "</w>"),
        ("l", "o"),
        ("lo", "w"),
    ]
    assert [merge.count for merge in log] == [9, 9, 9, 7, 7]
    assert log[0].tied_pairs == 3
    assert apply_merges("lowest", [merge.pair for merge in log]) == ["low", "est</w>"]


def test_pairs_that_overlap_count_each_and_are_joined_from_the_left() -> None:
    # By hand: "aaaa" holds a+a three times, and becomes "aa aa", not "a aa a".
    (merge,) = learn_merges({"aaaa": 2}, 1, end_symbol="")
    assert (merge.pair, merge.count) == (("a", "a"), 6)
    assert apply_merges("aaaaa", [("a", "a")], end_symbol="") == ["aa", "aa", "a"]


def test_learning_ends_when_no_pair_is_left() -> None:
    assert [merge.pair for merge in learn_merges({"ab": 1}, 99)] == [("a", "b"), ("ab", "</w>")]
    assert learn_merges({}, 5) == learn_merges({"a": 3}, 5, end_symbol="") == []
    assert apply_merges("", []) == ["</w>"]


def test_there_is_no_best_of_no_pairs() -> None:
    with pytest.raises(ValueError, match="no pair to choose from"):
        best_pair({})


@given(
    words=st.dictionaries(st.text("abc", min_size=1, max_size=7), st.integers(2, 150), min_size=1),
    new=st.text("abc", max_size=9),
)
def test_the_library_joins_the_same_pairs_until_two_are_as_frequent(
    words: dict[str, int], new: str
) -> None:
    # Of equals it takes the one whose parts are older, not the lexicographically smallest. Words
    # stand between "<", which the production tokenizer cuts off.
    lines = [f"<{word}" for word, count in words.items() for _ in range(count)]
    tokenizer = learn_bpe(lines, TokenizerConfig(size=2000))
    characters = len({"<", " ", *"".join(words)})
    joined = tokenizer.pieces(range(260 + characters, tokenizer.size))
    log = learn_merges(words, 2000, end_symbol="")
    clear = list(takewhile(lambda merge: merge.tied_pairs == 1 < merge.count, log))
    expected = list(dict.fromkeys("".join(merge.pair) for merge in clear))
    assert joined[: len(expected)] == expected
    if len(clear) == len(log) and not {*new} - {*"".join(words)}:
        pieces = tokenizer.pieces(tokenizer.encode("<" + new))
        assert pieces[:2] == [" ", "<"]
        assert pieces[2:] == apply_merges(new, [merge.pair for merge in log], end_symbol="")
