from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.configfile import read_record
from dragoman.data import Files, Filters, Pair, PairFilter, open_corpus, read_aligned
from dragoman.data.check import KINDS, check, fix
from dragoman.data.filtering import DropName, MendName
from dragoman.errors import ConfigError
from tests.data.check.planted import PLANTED, clean, planted, write

DROPS, MENDS = set(get_args(DropName)), set(get_args(MendName))


def numbered(*texts: tuple[str, str]) -> list[Pair]:
    return [Pair(number, *sides) for number, sides in enumerate(texts, start=1)]


def test_what_check_reports_is_what_a_recipe_can_drop() -> None:
    # The others need all of the files, or a tokenizer, which is learnt from what is kept.
    of_files = {"no-pairs", "unreadable", "unequal-sides", "columns", "misaligned", "uncovered"}
    assert set(KINDS) - of_files == DROPS
    assert {name for name, kind in KINDS.items() if kind.remedy == "change"} == MENDS


def test_a_misspelt_filter_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ConfigError) as raised:
        read_record(Filters, {"drop": ["duplicates"], "mend": ["entitys"], "max_ration": 3.0})
    assert str(raised.value).splitlines() == [
        "drop.1: 'duplicates' is not a choice; did you mean duplicate?",
        "mend.1: 'entitys' is not a choice; did you mean entity?",
        "max_ration: unknown key; did you mean max_ratio?",
    ]


def test_a_kind_cannot_be_dropped_and_mended() -> None:
    with pytest.raises(ConfigError, match="mend: pairs with tab are dropped already"):
        Filters(drop=("tab",), mend=("tab",))


def test_limits_that_leave_nothing_are_an_error() -> None:
    with pytest.raises(ConfigError, match="min_characters: 9 is above max_characters 8"):
        Filters(min_characters=9, max_characters=8)


def test_overlap_needs_a_set_to_compare_with() -> None:
    with pytest.raises(ConfigError, match="overlap has nothing to compare with"):
        PairFilter(Filters(drop=("overlap",)))


def test_without_filters_the_pairs_are_not_even_looked_at() -> None:
    pairs = iter(numbered(("a", ""), ("b", "c")))
    filtered = PairFilter(Filters())
    assert filtered.kept(pairs) is pairs
    assert filtered.counts == filtered.changes == {}


def kept_of(corpus: Files, filters: Filters) -> tuple[list[Pair], PairFilter]:
    filtered = PairFilter(filters)
    return list(filtered.kept(open_corpus(corpus))), filtered


def readable(folder: Path) -> Files:
    """Write the planted corpus but for its bad bytes, at which reading stops."""
    texts = planted()
    texts[109] = clean()[109]
    return write(folder, texts)


def test_each_kind_drops_what_check_lists_under_it(tmp_path: Path) -> None:
    corpus = readable(tmp_path)
    report = check(corpus).sets[0]
    for name in sorted(DROPS - {"overlap"}):
        kept, filtered = kept_of(corpus, Filters(drop=(name,)))  # type: ignore[arg-type]  # one by one
        found = report.find(name)
        lines = found.lines.tolist() if found else []
        assert [pair.number for pair in kept] == [n for n in range(1, 601) if n not in lines], name
        assert filtered.counts == {name: len(lines)}


def test_once_all_kinds_are_dropped_check_finds_none_of_them(tmp_path: Path) -> None:
    drop = tuple(sorted(DROPS - {"overlap"}))
    kept, filtered = kept_of(readable(tmp_path / "in"), Filters(drop=drop))  # type: ignore[arg-type]  # names
    # One line for each planted kind, and the two copies; lines 82 and 95 have two faults or more.
    assert filtered.dropped == sum(filtered.counts.values()) == len(PLANTED) + 2
    again = write(tmp_path / "out", [(pair.source, pair.target) for pair in kept])
    assert check(again).sets[0].findings == ()


def test_filters_keep_what_fix_keeps(tmp_path: Path) -> None:
    pairs = planted()
    pairs[109], pairs[129] = clean()[109], ("&nbsp;", "nothing at all")
    corpus = write(tmp_path / "in", pairs)
    done = fix(corpus, check(corpus).sets[0], tmp_path / "out")
    drop = tuple(name for name in DROPS - {"overlap"} if KINDS[name].remedy == "drop")
    kept, filtered = kept_of(corpus, Filters(drop=drop, mend=tuple(MENDS)))  # type: ignore[arg-type]  # names
    fixed = Files(source=tmp_path / "out/source.txt", target=tmp_path / "out/target.txt")
    assert [pair[1:] for pair in kept] == [pair[1:] for pair in read_aligned(fixed)]
    assert (filtered.dropped, filtered.changed) == (done.dropped, done.changed)


def test_only_the_named_kinds_are_mended_and_each_is_counted() -> None:
    pairs = numbered(("a &amp; b\tc", "x\ty"), ("d", "e"), ("f\u200bg", "h &lt; i"))
    filtered = PairFilter(Filters(mend=("tab", "entity")))
    assert list(filtered.kept(pairs)) == [
        Pair(1, "a & b c", "x y"),
        Pair(2, "d", "e"),
        Pair(3, "f\u200bg", "h < i"),
    ]
    assert filtered.changes == {"tab": 1, "entity": 2}
    assert filtered.changed == 2


def test_a_pair_counts_under_the_first_filter_that_catches_it() -> None:
    pairs = numbered(("same text", "same text"), ("same text", "same text"))
    orders: tuple[tuple[DropName, ...], ...] = (
        ("copied-source", "duplicate"),
        ("duplicate", "copied-source"),
    )
    for drop in orders:
        filtered = PairFilter(Filters(drop=drop))
        assert list(filtered.kept(pairs)) == []
        second = 2 if drop[0] == "copied-source" else 1
        assert filtered.counts == {"copied-source": second, "duplicate": 2 - second}


def test_limits_are_in_characters_and_include_their_ends() -> None:
    pairs = numbered(("abc", "abcd"), ("ab", "abcd"), ("abc", "abcde"))
    filtered = PairFilter(Filters(min_characters=3, max_characters=4))
    assert [pair.number for pair in filtered.kept(pairs)] == [1]
    assert filtered.counts == {"min_characters": 1, "max_characters": 1}


def test_the_ratio_is_measured_from_what_is_usual() -> None:
    # Five is added to each length: 15 to 35 is usual (2.33), 35 to 35 is 2.33 times away from it,
    # and 15 to 45 is 1.29 times.
    usual = [("a" * 10, "b" * 30)] * 20
    pairs = numbered(*usual, ("a" * 30, "b" * 30), ("a" * 10, "b" * 40))
    filtered = PairFilter(Filters(max_ratio=2.0))
    assert [pair.number for pair in filtered.kept(pairs)] == [*range(1, 21), 22]
    assert filtered.counts == {"max_ratio": 1}


def test_pairs_of_held_out_sets_are_dropped() -> None:
    train = numbered(("eins", "one"), ("zwei", "two"), ("drei", "three"))
    held_out = {"validation": numbered(("zwei", "another")), "test": numbered(("x", "three"))}
    filtered = PairFilter(Filters(drop=("overlap",)), held_out=held_out)
    assert [pair.number for pair in filtered.kept(train)] == [1]


def test_blank_pairs_are_left_to_the_reader_unless_named() -> None:
    pairs = numbered(("", ""), ("a", " "), ("b", "c"))
    kept = PairFilter(Filters(drop=("duplicate",))).kept(pairs)
    assert [pair.number for pair in kept] == [1, 2, 3]
    kept = PairFilter(Filters(drop=("blank", "one-sided"))).kept(pairs)
    assert [pair.number for pair in kept] == [3]


@given(
    texts=st.lists(st.tuples(*[st.text(alphabet="ab \t&lt;9é\u0301", max_size=6)] * 2), max_size=30)
)
def test_pairs_keep_their_numbers_and_order_and_twice_gives_the_same(
    texts: list[tuple[str, str]],
) -> None:
    filters = Filters(drop=("duplicate", "digits"), mend=("entity", "tab"), max_characters=5)
    pairs = numbered(*texts)
    first, second = PairFilter(filters), PairFilter(filters)
    kept = list(first.kept(pairs))
    numbers = [pair.number for pair in kept]
    assert numbers == sorted(set(numbers))
    assert kept == list(second.kept(iter(pairs)))
    assert first.counts == second.counts
    assert len(kept) + first.dropped == len(pairs)


def test_filtering_streams() -> None:
    taken = 0

    def pairs() -> Iterator[Pair]:
        nonlocal taken
        for number in range(1, 200_001):
            taken = number
            yield Pair(number, f"satz {number}", f"sentence {number}")

    kept = PairFilter(Filters(drop=("duplicate",))).kept(pairs())
    assert next(kept).number == 1
    assert taken <= 55_000  # what shows what is usual, and one chunk
