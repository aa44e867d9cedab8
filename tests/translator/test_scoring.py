import math

import pytest

from dragoman.data import Pair
from dragoman.evaluation import TargetScore
from dragoman.translator import (
    CorpusScore,
    Translator,
    best_share,
    mean_log_prob,
    score_pairs,
    windows,
)
from tests.fixtures import ENGLISH, GERMAN, tiny_translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(layers=2)


def numbered(sources: list[str], targets: list[str]) -> list[Pair]:
    both = zip(sources, targets, strict=True)
    return [Pair(number, *pair) for number, pair in enumerate(both, start=1)]


def test_a_corpus_has_the_perplexity_of_its_mean_piece() -> None:
    # By hand: probabilities 1/2, 1/4 and 1/8 have the geometric mean 1/4.
    total = CorpusScore()
    total.add(TargetScore((math.log(1 / 2), math.log(1 / 4))))
    total.add(TargetScore((math.log(1 / 8),)))
    assert (total.scored, total.pieces) == (2, 3)
    assert total.perplexity == pytest.approx(4)
    assert total.loss_nats == pytest.approx(math.log(4))
    assert mean_log_prob(TargetScore((-1.0, -2.0, -6.0))) == -3
    assert math.isnan(CorpusScore().loss_nats)


def test_the_best_share_is_counted_among_those_that_have_a_mean() -> None:
    means = [-3.0, -math.inf, -1.0, -2.0, -1.0]
    assert best_share(means, 1.0) == [True, False, True, True, True]
    assert best_share(means, 0.5) == [False, False, True, False, True]
    assert best_share(means, 0.25) == [False, False, True, False, False]  # the earlier of equals
    assert best_share(means, 0.1) == [False] * 5
    assert best_share([-0.5] * 10, 0.7) == [True] * 7 + [False] * 3  # 0.7 * 10 is just below 7
    assert best_share([], 0.5) == []


# Field report 6: blank lines are never scored, and their neighbours do not notice.
def test_blank_pairs_are_left_out_and_the_others_score_as_alone(translator: Translator) -> None:
    pairs = numbered(["", GERMAN[0], " ", GERMAN[1], "x"], ["", ENGLISH[0], "a", ENGLISH[1], "\t"])
    found = list(score_pairs(translator, pairs))
    assert [each.pair.number for each in found] == [1, 2, 3, 4, 5]
    assert [each.problem for each in found] == ["blank", "", "blank", "", "blank"]
    for place, line in ((1, 0), (3, 1)):
        score = found[place].score
        assert score is not None
        alone = translator.score([GERMAN[line]], [ENGLISH[line]])[0]
        assert score.log_probs == pytest.approx(alone.log_probs, abs=1e-5)


# Field reports 12 and 26: past the positions there is no score, but there is a line.
def test_a_pair_longer_than_the_positions_is_left_out_and_says_why() -> None:
    translator = tiny_translator(learned=20)
    long = " ".join(["hund"] * 30)
    found = list(score_pairs(translator, numbered(["hund", long, "hund"], ["dog", "dog", long])))
    assert found[0].score is not None
    assert (found[1].score, found[2].score) == (None, None)
    assert found[1].problem.startswith("source: ")
    assert found[2].problem.startswith("target: ")
    assert found[2].problem.endswith("the model has 20 positions; shorten it")


def test_windows_lose_nothing_and_are_bounded_in_items_and_characters() -> None:
    supply = ["x" * 400_000, "", "y" * 700_000, "z" * 3_000_000, *["short"] * 7]
    found = list(windows(iter(supply), 5, size=len))
    assert [item for window in found for item in window] == supply
    assert [len(window) for window in found] == [3, 1, 5, 2]
    assert list(windows([], 5, size=len)) == []
