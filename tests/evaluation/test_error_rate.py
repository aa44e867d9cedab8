from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluation import ErrorRate, edit_distance, error_rate

TOKENS = st.text("abc", max_size=6)


def phonemes(text: str) -> list[str]:
    return text.split()


def by_definition(a: str, b: str) -> int:
    """Try every first edit: the definition, far too slow for use."""

    @cache
    def between(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return len(a) - i + len(b) - j
        if a[i] == b[j]:
            return between(i + 1, j + 1)
        return 1 + min(between(i + 1, j), between(i, j + 1), between(i + 1, j + 1))

    return between(0, 0)


@given(a=TOKENS, b=TOKENS)
def test_distance_is_the_fewest_edits(a: str, b: str) -> None:
    assert edit_distance(a, b) == edit_distance(b, a) == by_definition(a, b)


def test_distance_of_the_textbook_pair() -> None:
    assert edit_distance("kitten", "sitting") == 3  # k to s, e to i, g at the end


def test_closest_of_several_references_counts() -> None:
    # By hand, pronunciations: "tomato" has two, one of them is met; "data" is wrong by one phoneme
    # of four against the closer; "cat" misses one of three. 2 edits over 6 + 4 + 3 phonemes.
    tomato = [phonemes("T AH M EY T OW"), phonemes("T AH M AA T OW")]
    data = [phonemes("D EY T AH"), phonemes("D AE T AH")]
    found = error_rate(
        [phonemes("T AH M AA T OW"), phonemes("D AE T AA"), phonemes("K AE")],
        [tomato, data, [phonemes("K AE T")]],
    )
    assert found == ErrorRate(items=3, exact=1, edits=2, reference_tokens=13)
    assert found.token_error_rate == pytest.approx(2 / 13)
    assert found.item_error_rate == pytest.approx(2 / 3)
    assert found.exact_match == pytest.approx(1 / 3)


def test_first_of_equally_close_references_gives_the_length() -> None:
    assert error_rate(["ab"], [["a", "abc"]]).reference_tokens == 1
    assert error_rate(["ab"], [["abc", "a"]]).reference_tokens == 3


def test_rate_may_exceed_one_and_an_empty_hypothesis_misses_all() -> None:
    assert error_rate(["abcd"], [["x"]]).token_error_rate == 4
    assert error_rate([""], [["abc"]]).token_error_rate == 1


@given(items=st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=4))
def test_another_reference_never_adds_an_edit_or_loses_a_match(
    items: list[tuple[str, str]],
) -> None:
    hypotheses = ["a", *(hypothesis for hypothesis, _ in items)]
    one = error_rate(hypotheses, [["b"], *([reference] for _, reference in items)])
    more = error_rate(hypotheses, [["b"], *([reference, "ab"] for _, reference in items)])
    assert more.edits <= one.edits
    assert more.exact >= one.exact


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (["a"], [], "^1 hypotheses, 0 references$"),
        ([], [], "^there is nothing to compare$"),
        (["a", "b"], [["a"], []], "^item 2: has no reference$"),
        (["a"], [[""]], "^references: hold no token, so there is nothing to divide by$"),
    ],
)
def test_what_has_no_rate_is_refused(
    hypotheses: list[str], references: list[list[str]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        error_rate(hypotheses, references)


def test_string_in_place_of_a_list_of_references_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^item 1: its references are one string, not a list"):
        error_rate(["ab"], ["ab"])
