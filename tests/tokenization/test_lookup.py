"""Characters, words and WordPiece as vocabularies of the production tokenizer."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DataError
from dragoman.tokenization import (
    SpecialIds,
    Tokenizer,
    TokenizerConfig,
    encode_word,
    learn_tokenizer,
)
from dragoman.tokenization.config import Kind

KINDS: tuple[Kind, ...] = ("wordpiece", "character", "word")
UNKNOWN = SpecialIds().unknown


def learn(
    kind: Kind, lines: list[str], *, size: int = 8000, byte_fallback: bool = True
) -> Tokenizer:
    return learn_tokenizer(
        lines, TokenizerConfig(kind=kind, size=size, byte_fallback=byte_fallback)
    )


def learnt(tokenizer: Tokenizer, *, reserved: int = 260) -> list[str]:
    return tokenizer.pieces(range(reserved, tokenizer.size))


def cut(tokenizer: Tokenizer, text: str) -> list[str]:
    return tokenizer.pieces(tokenizer.encode(text))


def test_each_character_is_a_piece_and_no_space_is_added() -> None:
    tokenizer = learn("character", ["banana", "a<b c"])
    # By hand: a 4, b 2, n 2, then " ", "<" and "c" once each.
    assert learnt(tokenizer) == ["a", "b", "n", " ", "<", "c"]
    assert cut(tokenizer, " ab  c<") == [" ", "a", "b", " ", " ", "c", "<"]
    assert cut(tokenizer, "é") == ["<0xC3>", "<0xA9>"]
    assert tokenizer.decode(tokenizer.encode(" ab")) == " ab"


def test_a_word_is_what_stands_between_spaces_with_the_space_before_it() -> None:
    tokenizer = learn("word", ["HH AW1 S", "AW1 S.", "a<b  c"])
    # By hand: " AW1" twice; the rest once, by code point.
    assert learnt(tokenizer) == [" AW1", " ", " HH", " S", " S.", " a", " c", "<", "b"]
    assert cut(tokenizer, "AW1 HH S. S") == [" AW1", " HH", " S.", " S"]
    assert cut(tokenizer, "S,") == [" ", "<0x53>", "<0x2C>"]  # " S," was not there


def test_word_pieces_are_joined_by_score_and_marked_by_their_space() -> None:
    # By hand, with room for all: " a" 5 times, b 4, c 3, x and " c" twice. The limits are 4, then
    # 2. Only " a" b occurs 4 times. Then " c" c has 2/(2 3) and " ab" x 2/(4 2); " a" c is there
    # once, which is too seldom.
    tokenizer = learn("wordpiece", ["abx ab abx ab ac cc cc"])
    assert learnt(tokenizer) == [*" abcx", " a", " c", " ab", " cc", " abx"]
    assert cut(tokenizer, "abxc ccab,cab") == [
        " abx",
        "c",
        " cc",
        "a",
        "b",
        "<0x2C>",
        "c",
        "a",
        "b",
    ]


def test_word_pieces_leave_rare_characters_and_beginnings_to_others() -> None:
    # By hand, room for 8: of 5 characters the 4 most frequent, " " and a 6 times, b 4, and c once
    # like d; of 2 beginnings " a" 4 times and " b" twice. Cut at d, "b" is a word of its own.
    tokenizer = learn("wordpiece", ["ab ab ac a ba bda"], size=268)
    assert learnt(tokenizer)[:6] == [" ", "a", "b", "c", " a", " b"]
    assert learnt(tokenizer)[6:] == [" ab"]


@pytest.mark.parametrize("byte_fallback", [True, False])
@given(text=st.text("abcd ,<", max_size=30))
def test_a_word_is_cut_longest_piece_first(byte_fallback: bool, text: str) -> None:
    tokenizer = (with_bytes if byte_fallback else without_bytes)["wordpiece"]
    vocabulary = learnt(tokenizer, reserved=260 if byte_fallback else 4)
    words = re.findall(r" ?[a-d]+| ?,+|[ <]", f" {text}" if text else "")
    expected = [piece for word in words for piece in encode_word(word, vocabulary, mark="")]
    assert cut(tokenizer, text) == expected


LINES = ["abcd, abc ab a<b<,d", "dab  cab bad,, cad,d", "abcd abc <ab>", "a b c d , < , dd"] * 3
with_bytes = {kind: learn(kind, LINES) for kind in KINDS}
without_bytes = {kind: learn(kind, LINES, byte_fallback=False) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_size_is_the_most_pieces_and_the_frequent_ones_stay(kind: Kind) -> None:
    for size in (262, 263, 265, 268, 8000):
        tokenizer = learn(kind, LINES, size=size)
        assert tokenizer.size <= size
        assert tokenizer.decode(tokenizer.encode(LINES[0])) == LINES[0]
    # By hand: "xx xx xx y": " xx" and "x" are the most frequent word and character.
    small = learn(kind, ["xx xx xx y"], size=262)
    assert learnt(small)[0] == {"wordpiece": "x", "character": "x", "word": " xx"}[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_character_is_text_enough(kind: Kind) -> None:
    tokenizer = learn(kind, ["x"])
    assert tokenizer.size <= 263
    assert tokenizer.decode(tokenizer.encode("xyx")) == "xyx"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lines", [[], ["", ""]])
def test_learning_from_nothing_is_refused(kind: Kind, lines: list[str]) -> None:
    with pytest.raises(DataError, match="training text: is empty; name files that hold text"):
        learn(kind, lines)


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_with_half_a_surrogate_pair_is_named(kind: Kind) -> None:
    with pytest.raises(ValueError, match=r"^line 2: character 1 is U\+DC80, half of a surrogate"):
        learn(kind, ["fine", "a\udc80"])


@pytest.mark.parametrize(
    ("kind", "text", "unknown", "decoded"),
    [
        ("character", "aΩωb", 2, "ab"),
        ("word", "ab aΩωb abc", 1, "ab abc"),
        ("wordpiece", "aΩωb", 1, "ab"),  # one stretch without a piece
    ],
)
def test_without_byte_fallback_what_is_unseen_is_unknown_and_left_out(
    kind: Kind, text: str, unknown: int, decoded: str
) -> None:
    tokenizer = without_bytes[kind]
    ids = tokenizer.encode(text)
    assert ids.count(UNKNOWN) == unknown
    assert tokenizer.decode(ids) == decoded
