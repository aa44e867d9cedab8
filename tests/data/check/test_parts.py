import random
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.check.characters import CharacterTable, Mark, script_of
from dragoman.data.check.chunk import make_chunk
from dragoman.data.check.copies import near_form
from dragoman.data.check.mending import find_entities, mend
from dragoman.data.check.numbers import differing_numbers
from dragoman.data.check.report import visible
from dragoman.data.check.seen import FirstSeen
from dragoman.data.corpus import Pair, is_blank


@given(texts=st.lists(st.text(max_size=12), min_size=1, max_size=8))
def test_blank_agrees_with_the_slow_twin(texts: list[str]) -> None:
    pairs = [Pair(number, text, "x") for number, text in enumerate(texts, start=1)]
    chunk = make_chunk(pairs, CharacterTable())
    assert chunk.source.blank().tolist() == [is_blank(text) for text in texts]
    assert chunk.source.lengths.tolist() == list(map(len, texts))


@given(texts=st.lists(st.text(alphabet="aбщ中かあ1 é", max_size=9), min_size=1, max_size=8))
def test_letters_are_counted_by_script(texts: list[str]) -> None:
    table = CharacterTable()
    chunk = make_chunk([Pair(1, text, "x") for text in texts], table)
    for text, counts in zip(texts, chunk.source.letters.tolist(), strict=True):
        named = dict(zip(table.scripts, counts, strict=False))
        assert named.get("HAN", 0) == sum(text.count(letter) for letter in "中かあ")
        assert named.get("LATIN", 0) == text.count("a") + text.count("é")
        assert named.get("CYRILLIC", 0) == text.count("б") + text.count("щ")


@pytest.mark.parametrize(
    ("letter", "script"),
    [("a", "LATIN"), ("Ａ", "LATIN"), ("日", "HAN"), ("ｶ", "HAN"), ("한", "HANGUL"), ("1", "")],
)
def test_a_letter_has_a_script(letter: str, script: str) -> None:
    assert script_of(letter) == script


@given(text=st.text(max_size=30), form=st.sampled_from(["NFC", "NFD"]))
def test_mending_characters_twice_changes_nothing_more(text: str, form: Any) -> None:
    once, _ = mend(text.replace("&", ""), form)
    again, found = mend(once, form)
    assert again == once
    assert found == {}
    assert unicodedata.is_normalized(form, once)
    assert not set(once) & set("\n\r\t\v\f\x1c\x1d\x1e\x85\u2028\u2029\ufeff\u200b")


@given(text=st.text(max_size=30))
def test_a_text_without_a_mark_needs_no_mending(text: str) -> None:
    from dragoman.data.check.mending import MENDABLE

    chunk = make_chunk([Pair(1, text, "x")], CharacterTable())
    if not chunk.source.having(MENDABLE):
        assert mend(text, "NFC") == (text, {})


def test_entities_are_unescaped_once() -> None:
    # Field report 7.
    mended, found = mend("it&apos;s &amp;amp; 5 &lt; 6", "NFC")
    assert mended == "it's &amp; 5 < 6"
    assert found == {"entity": "&apos;, &amp;, &lt;"}


@pytest.mark.parametrize("text", ["L'amitié & <b>", "AT&T; R&D", "a &b c;", "&nosuchname;"])
def test_an_ampersand_alone_is_no_entity(text: str) -> None:
    assert find_entities(text) == []
    assert mend(text, "NFC") == (text, {})


def test_marks_of_direction_stay_where_letters_need_them() -> None:
    assert mend("שלום\u200f!", "NFC") == ("שלום\u200f!", {})
    assert mend("hello\u200f!", "NFC") == ("hello!", {"bidi": "U+200F"})


@pytest.mark.parametrize(
    ("left", "right", "differing"),
    [
        (["2", "000"], ["2000"], ""),
        (["٢٠"], ["20"], ""),
        (["3"], [], ""),  # three
        (["1999"], ["1998"], "1999 against 1998"),
        (["40"], [], "40 against nothing"),
    ],
)
def test_numbers_differ_unless_grouped_or_spelled(
    left: list[str], right: list[str], differing: str
) -> None:
    assert differing_numbers(left, right) == differing


def test_the_near_form_keeps_letters_marks_and_digits() -> None:
    assert near_form("Der  Hund, 3!", odd=False) == b"derhund3"
    assert near_form("«日本»。", odd=True) == "日本".encode()
    assert near_form("कि", odd=True) != near_form("का", odd=True)  # vowel signs are marks


@given(seed=st.integers(0, 10_000), parts=st.integers(1, 30))
def test_first_seen_agrees_with_a_dictionary(seed: int, parts: int) -> None:
    rng = random.Random(seed)
    seen, known, line = FirstSeen(), dict[int, int](), 0
    for _ in range(parts):
        hashes = [rng.randrange(-20, 20) for _ in range(rng.randrange(0, 9))]
        lines = list(range(line + 1, line + 1 + len(hashes)))
        line += len(hashes)
        expected = [
            known.get(h, 0) or known.setdefault(h, n) * 0
            for h, n in zip(hashes, lines, strict=True)
        ]
        found = seen.add(np.asarray(hashes, np.int64), np.asarray(lines, np.int64))
        assert found.tolist() == expected


def test_what_cannot_be_seen_is_shown() -> None:
    assert visible("a\u200bb\udce9\t") == "a<U+200B>b<0xE9><U+0009>"
    assert visible("x" * 300 + "\u200b" + "y" * 300, 10) == "…xxxxx<U+200B>yyyy…"


def test_a_surrogate_is_marked() -> None:
    chunk = make_chunk([Pair(1, "a\udce9", "b")], CharacterTable())
    assert chunk.source.having(Mark.SURROGATE) == [0]
    assert chunk.target.having(Mark.SURROGATE) == []
