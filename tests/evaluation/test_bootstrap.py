"""Bootstrap resampling against sacreBLEU's own, with its seed."""

import random
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from dragoman.evaluation import (
    bleu_statistics,
    corpus_score,
    interval,
    paired_p_value,
    resampled_bleu,
)
from dragoman.evaluation.bootstrap import bleu_of

WORDS = ["der", "hund", "schläft", "die", "katze", "trinkt", ",", "milch", "."]


def noisy(references: list[str], share: float, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [
        " ".join(word if rng.random() > share else rng.choice(WORDS) for word in text.split())
        for text in references
    ]


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], list[str], list[str]]:
    rng = random.Random(1)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(2, 12))) for _ in range(80)]
    return references, noisy(references, 0.2, 2), noisy(references, 0.25, 3)


def test_sums_of_the_statistics_give_the_bleu_of_the_corpus(
    texts: tuple[list[str], list[str], list[str]],
) -> None:
    references, first, _ = texts
    statistics = bleu_statistics(first, references)
    assert statistics.shape == (80, 10)
    expected = corpus_score("bleu", first, references).value
    assert bleu_of(statistics.sum(0)) == pytest.approx(expected, abs=1e-9)


def test_interval_and_p_value_are_those_of_sacrebleu(
    texts: tuple[list[str], list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    references, first, second = texts
    systems: Any = [("first", first), ("second", second)]  # Any: sacreBLEU's types are too narrow
    _, found = PairedTest(systems, {"BLEU": BLEU()}, [references], "bs")()
    theirs: Any = found["BLEU"]
    draws = [resampled_bleu(bleu_statistics(text, references)) for text in (first, second)]
    for ours, result in zip(draws, theirs, strict=True):
        low, high = interval(ours)
        assert (high - low) / 2 == pytest.approx(result.ci, abs=1e-6)  # half the width
        assert ours.mean() == pytest.approx(result.mean, abs=1e-6)
    difference = theirs[1].score - theirs[0].score
    assert paired_p_value(difference, *draws) == theirs[1].p_value


def test_the_interval_leaves_out_a_fortieth_on_either_side() -> None:
    values = np.random.default_rng(1).permutation(1000).astype(float)
    assert interval(values) == (25.0, 974.0)


def test_equal_systems_never_differ() -> None:
    draws = np.linspace(20.0, 30.0, 1000)
    assert paired_p_value(0.0, draws, draws) == 1.0


def test_a_difference_that_every_draw_confirms_is_sure() -> None:
    rng = np.random.default_rng(1)
    draws = rng.normal(30, 1, 1000)
    # All differences are near 5, none is further from their mean than 5.
    assert paired_p_value(5.0, draws, draws + rng.normal(5, 0.1, 1000)) == 1 / 1001


@pytest.mark.parametrize(("hypotheses", "references"), [([], []), (["a"], ["a", "b"])])
def test_counts_must_agree(hypotheses: list[str], references: list[str]) -> None:
    with pytest.raises(ValueError, match=f"{len(hypotheses)} hypotheses"):
        bleu_statistics(hypotheses, references)
