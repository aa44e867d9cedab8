"""Translations are given to who waits for them one by one, each once and whole."""

import threading

import pytest
import torch

from dragoman.decoding import Sampling, Waiter
from dragoman.nn import EncoderDecoder
from dragoman.translator import Translation, Translator
from tests.fixtures import GERMAN, tiny_translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    made = tiny_translator(learned=24, layers=2)
    with torch.no_grad():  # so that translations end now and then
        assert isinstance(made.model, EncoderDecoder)
        made.model.generator.table[made.special.end] *= 3
    return made


TEXTS = [*GERMAN, "", "17", " ".join(GERMAN), GERMAN[0]]  # one of them is too long for the model


class Seen:
    """Takes what comes, and goes on waiting for some."""

    def __init__(self, *unwanted: int) -> None:
        self.taken: list[tuple[int, Translation]] = []
        self.waiter: Waiter[Translation] = Waiter(
            lambda place: place not in unwanted, lambda *given: self.taken.append(given)
        )


@pytest.mark.parametrize(
    "options",
    [{}, {"n_best": 3}, {"sentences": True}, {"mbr": 3, "sampling": Sampling(top_k=1)}],
    ids=str,
)
def test_every_translation_is_given_once_as_it_comes_back(
    translator: Translator, options: dict[str, object]
) -> None:
    seen = Seen()
    found = translator.translate(TEXTS, max_length=12, waiter=seen.waiter, **options)  # type: ignore[arg-type]  # as given
    assert found == translator.translate(TEXTS, max_length=12, **options)  # type: ignore[arg-type]  # as given
    assert found[len(GERMAN) + 2].parts > 1
    assert sorted(place for place, _ in seen.taken) == [*range(len(TEXTS))]
    assert all(found[place] == each for place, each in seen.taken)


def test_what_needs_no_search_comes_before_all_else(translator: Translator) -> None:
    seen = Seen()
    translator.translate(TEXTS, max_length=12, waiter=seen.waiter)
    assert [each.copied for _, each in seen.taken[:3]] == [True, True, False]


def test_what_nobody_waits_for_is_broken_off_and_says_so(translator: Translator) -> None:
    long = len(GERMAN) + 2
    seen = Seen(1, long)
    found = translator.translate(TEXTS, max_length=12, waiter=seen.waiter)
    alone = translator.translate(TEXTS, max_length=12)
    for place, each in enumerate(found):
        if place in (1, long):
            assert "nobody waited" in each.error
            assert each.text == ""
        else:
            assert each.text == alone[place].text
            assert each.score == pytest.approx(alone[place].score, abs=1e-4)
    assert {place for place, _ in seen.taken} == {*range(len(TEXTS))} - {1, long}


def test_parts_that_several_threads_find_become_one_translation_told_once() -> None:
    translator = tiny_translator(learned=24, layers=2)
    translator.equip(".", engine="fused")
    translator.engine.workers = 4  # type: ignore[misc]  # as on a machine with four cores
    text = " ".join(GERMAN * 5)
    alone = translator.translate([text] * 8, max_length=6, batch_tokens=60)
    threads: set[int] = set()
    seen = Seen()

    def wants(_: int) -> bool:
        threads.add(threading.get_ident())
        return True

    waiter = Waiter(wants, seen.waiter.take)
    found = translator.translate([text] * 8, max_length=6, batch_tokens=60, waiter=waiter)
    assert found == alone
    assert found[0].parts > 4
    assert len(threads) > 1
    assert sorted(place for place, _ in seen.taken) == [*range(8)]
    assert all(each == alone[place] for place, each in seen.taken)
