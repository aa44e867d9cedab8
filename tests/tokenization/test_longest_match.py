import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from dragoman.tokenization import encode_word
from dragoman.tokenization.longest_match import longest_match


def cut(pieces: set[str], text: str) -> list[str]:
    splitter = pre_tokenizers.Split(Regex(longest_match(pieces)), "isolated")
    return [stretch for stretch, _ in splitter.pre_tokenize_str(text)]


def test_a_longer_piece_that_does_not_end_gives_way_to_a_shorter_one() -> None:
    # By hand: at "abcx" the piece "abcd" begins, and "ab" is the longest that ends.
    assert cut({"a", "ab", "abcd", "c"}, "abcxabcd") == ["ab", "c", "x", "abcd"]


@given(
    pieces=st.sets(st.text("abc", min_size=1, max_size=5), max_size=30),
    text=st.text("abc", max_size=20),
)
def test_it_cuts_as_the_readable_rule_does(pieces: set[str], text: str) -> None:
    pieces |= {*"abc"}  # so that no place is without a piece
    assert cut(pieces, text) == encode_word(text, pieces, mark="")


@given(
    pieces=st.sets(st.text(min_size=1, max_size=3), min_size=1, max_size=40),
    text=st.text(max_size=20),
)
def test_characters_of_every_sort_stand_for_themselves(pieces: set[str], text: str) -> None:
    for piece in pieces:
        assert cut(pieces, piece) == [piece]
    assert "".join(cut(pieces, text)) == text


def test_many_pieces_and_long_ones_are_no_trouble() -> None:
    letters = [chr(0x4E00 + 2 * number) for number in range(10_000)]  # no two in one range
    pieces = {*letters, *(letter + letters[0] for letter in letters[:3000])}
    pieces |= {"a" * length for length in range(1, 258)}
    assert cut(pieces, letters[2999] + letters[0]) == [letters[2999] + letters[0]]
    assert cut(pieces, letters[9999] + letters[1]) == [letters[9999], letters[1]]
    assert cut(pieces, "a" * 300) == ["a" * 257, "a" * 43]


@pytest.mark.parametrize(
    ("pieces", "message"), [([], "there are none"), (["a", ""], "one is empty")]
)
def test_what_would_match_everywhere_or_nowhere_is_refused(pieces: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        longest_match(pieces)
