"""Long fragments in portions: nothing is lost, and no portion is large."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.translator import Fragment, Tag
from dragoman.translator.alignment import Array, Pair, by_place
from dragoman.translator.markup import translate_marked
from dragoman.translator.portions import TAG, portions

BREAK = Tag("<br>", "alone")
OPEN, CLOSE = Tag("<b>", "open", 1), Tag("</b>", "close", 1)


def flat(parts: list[Fragment]) -> str:
    return "".join(item if isinstance(item, str) else item.text for part in parts for item in part)


def test_a_short_fragment_is_one_portion() -> None:
    fragment = ("One. Two.", BREAK, "Three.")
    assert portions(fragment) == [fragment]


def test_a_long_text_is_cut_after_sentences() -> None:
    found = portions(("One two. Three four. ", BREAK, "Five."), most=30)
    assert found == [("One two. ", "Three four. "), (BREAK, "Five.")]


def test_a_short_span_stays_whole_and_a_long_one_is_cut_within() -> None:
    short = ("aaaa bbbb. ", OPEN, "c d", CLOSE)
    assert portions(short, most=40) == [short[:1], short[1:]]
    long = ("a ", OPEN, "b b b. ", BREAK, "c c c. d", CLOSE, " e")
    found = portions(long, most=40)
    assert (OPEN,) in found
    assert (CLOSE,) in found
    assert flat(found) == flat([long])


def test_spans_that_overlap_stay_in_one_portion() -> None:
    fragment = (OPEN, "a" * 50, Tag("<i>", "open", 2), CLOSE, "b", Tag("</i>", "close", 2))
    assert portions(fragment, most=40) == [fragment]


@given(st.lists(st.sampled_from(["a. ", "b c", "x" * 60, "。", " ", BREAK, OPEN, CLOSE])))
def test_portions_put_together_are_the_fragment(items: list[str | Tag]) -> None:
    found = portions(tuple(items), most=50)
    assert flat(found) == flat([tuple(items)])


@pytest.mark.parametrize("text", ["word here and there, ", "Eins zwei. ", "字", "a"])
def test_tables_stay_small_however_long_a_block_is(text: str) -> None:
    sizes: list[int] = []

    def align(pairs: Sequence[Pair]) -> list[Array]:
        tables = [by_place(len(p.target_words), len(p.source_words)) for p in pairs]
        sizes.append(sum(table.size for table in tables))
        return tables

    items = [item for _ in range(50) for item in (text * 70, BREAK)]
    (made,) = translate_marked(lambda texts: [t.upper() for t in texts], align, [tuple(items)])
    told = flat([tuple(items)]).upper().replace("<BR>", "<br>")
    assert flat([made]).replace(" ", "") == told.replace(" ", "")  # words get one between them
    assert max(sizes, default=0) < 9_000_000


def test_thousands_of_tags_without_text_take_little_time() -> None:
    fragment = ("x", *[BREAK] * 20_000, "x")
    (made,) = translate_marked(list, lambda pairs: [by_place(1, 1) for _ in pairs], [fragment])
    assert made == fragment
    assert max(map(len, portions(fragment))) <= 3_000 // TAG + 1
