import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding import Symbols, next_pieces, next_pieces_of
from dragoman.tokenization import SpecialIds
from tests.decoding.exhaustive import END, START, Ids
from tests.fakes import TableSession, random_table
from tests.fixtures import encoder_decoder, tiny_bundle

SYMBOLS = Symbols(START, END, banned=(START,))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    beginning=st.lists(st.integers(2, 6), max_size=4).map(tuple),
    count=st.integers(1, 9),
)
def test_the_most_probable_pieces_are_those_of_the_table(
    seed: int, beginning: Ids, count: int
) -> None:
    table = random_table(seed, 7)
    row = table((START, *beginning))
    expected = sorted(((p, n) for n, p in enumerate(row) if n != START), reverse=True)[:count]
    found = next_pieces(TableSession.start(table), SYMBOLS, beginning, count)
    assert [piece for piece, _ in found] == [n for _, n in expected]
    assert [math.exp(value) for _, value in found] == pytest.approx([p for p, _ in expected])


def test_pieces_of_probability_zero_are_none() -> None:
    found = next_pieces(TableSession.start(lambda _: [0.2, 0.0, 0.8]), SYMBOLS, (), 5)
    assert [piece for piece, _ in found] == [2]


def test_those_of_a_model_do_not_depend_on_how_the_beginning_was_fed() -> None:
    model = encoder_decoder(tiny_bundle())
    special = SpecialIds()
    first = next_pieces_of(model, [30, 31], special, [], 300)
    assert sum(math.exp(value) for _, value in first) < 1  # padding and the like are left out
    assert {piece for piece, _ in first}.isdisjoint({special.padding, special.start})
    assert special.end in {piece for piece, _ in first}
    assert (
        next_pieces_of(model, [30, 31], special, [40, 41], 3)
        == next_pieces_of(model, [30, 31], special, [40, 41], 300)[:3]
    )


def test_misuse_is_refused() -> None:
    table = random_table(1, 5)
    with pytest.raises(ValueError, match="2 sentences and 1 pieces"):
        next_pieces(TableSession.start(table, table), SYMBOLS, (), 1)
    with pytest.raises(ValueError, match="1 sentences and 0 pieces"):
        next_pieces(TableSession.start(table), SYMBOLS, (), 0)
