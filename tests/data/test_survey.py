"""A first reading: a sample spread over the text, and a hold-out that goes by the text alone."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data import HoldOut, Pair, Survey, TrainingText
from dragoman.data.corpora import Files
from dragoman.data.survey import EvenSample
from dragoman.errors import DataError


@given(st.integers(1, 20), st.integers(0, 300))
def test_a_sample_is_spread_evenly_from_the_first_pair_on(most: int, count: int) -> None:
    sample = EvenSample(most)
    for number in range(count):
        sample.offer(Pair(number, "", ""))
    numbers = [pair.number for pair in sample.pairs]
    # By hand: the step is the smallest power of two with which all of them fit.
    step = 1
    while -(-count // step) > most:
        step *= 2
    assert numbers == [*range(0, count, step)]


def test_a_sample_of_none_holds_nothing() -> None:
    sample = EvenSample(0)
    sample.offer(Pair(1, "a", "b"))
    assert sample.pairs == []


def drawn(sources: list[str], count: int, seed: int = 1) -> tuple[Pair, ...]:
    draw = HoldOut(count, seed)
    for number, source in enumerate(sources, start=1):
        draw.offer(Pair(number, source, f"{source}!"))
    return draw.pairs()


@given(st.lists(st.text(max_size=3), max_size=30), st.integers(0, 10), st.randoms())
def test_which_sentences_are_held_out_does_not_depend_on_their_order(
    sources: list[str], count: int, rng: random.Random
) -> None:
    held_out = drawn(sources, count)
    chosen = [pair.source for pair in held_out]
    assert len({*chosen}) == len(chosen) == min(count, len({*sources}))
    assert [pair.number for pair in held_out] == sorted(pair.number for pair in held_out)
    assert all(sources.index(pair.source) == pair.number - 1 for pair in held_out)  # the first
    turned = rng.sample(sources, len(sources))
    assert {pair.source for pair in drawn(turned, count)} == {*chosen}
    assert {pair.source for pair in drawn(sources * 2, count)} == {*chosen}


def test_another_seed_draws_others_and_every_sentence_has_its_chance() -> None:
    sources = [f"sentence {number}" for number in range(20)]
    draws = [frozenset(pair.source for pair in drawn(sources, 5, seed)) for seed in range(200)]
    assert len({*draws}) > 150
    # 200 draws of 5 in 20: each 50 times, standard deviation 6.1; five of these are 30.
    for source in sources:
        assert 20 < sum(source in draw for draw in draws) < 80


def text(folder: Path, name: str, sources: list[str]) -> TrainingText:
    folder.joinpath(name).write_text("".join(f"{each}\n" for each in sources), encoding="utf-8")
    return TrainingText(Files(source=folder / name, target=folder / name))


def test_what_is_held_out_is_neither_sampled_nor_given(tmp_path: Path) -> None:
    sources = [f"a {number % 30}" for number in range(60)]
    texts = [text(tmp_path, "a", sources), text(tmp_path, "b", ["b 1", "b 2", "a 1"])]
    survey = Survey(texts, sample=100, hold_out=5, seed=1)
    survey.read()
    held_out = {pair.source for pair in survey.held_out}
    assert len(held_out) == 5
    assert survey.sources == survey.targets
    assert not held_out & {*survey.sources[:50]}
    assert survey.sources[50:] == ["b 1", "b 2", "a 1"]  # the draw is of the first corpus
    assert len([*texts[0].pairs()]) == 50
    later = text(tmp_path, "a", sources)
    Survey([later], sample=0, hold_out=5, seed=1).take(survey.held_out)
    assert [*later.pairs()] == [*texts[0].pairs()]


@pytest.mark.parametrize("sample", [0, 1, 100])
def test_holding_all_out_is_an_error(sample: int, tmp_path: Path) -> None:
    survey = Survey([text(tmp_path, "a", ["x", "y", "x"])], sample=sample, hold_out=2, seed=1)
    with pytest.raises(DataError, match=r"holding out 2 pairs leaves none .*data\.hold_out"):
        survey.read()
