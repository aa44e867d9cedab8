import random
from typing import Any

import pytest
from sacrebleu import sentence_chrf

from dragoman.decoding import Sampling
from dragoman.errors import ConfigError
from dragoman.translator import Candidate, Translator
from dragoman.translator.minimum_risk import expected_utilities, least_risk
from tests.fixtures import GERMAN, tiny_translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(layers=2)


def candidate(text: str, log_prob: float = -1.0) -> Candidate:
    return Candidate(text, log_prob, (text,), (log_prob,), False)


def utilities_from_their_definition(texts: list[str]) -> list[float]:
    """Ask sacreBLEU for every pair."""
    found: list[float] = []
    for i, hypothesis in enumerate(texts):
        others = [text for j, text in enumerate(texts) if j != i]
        scores = [sentence_chrf(hypothesis, [other]).score for other in others]
        found.append(sum(scores) / len(scores))
    return found


def test_utilities_are_means_over_all_others_equal_ones_included() -> None:
    # By hand, see test_chrf_table: "ab" against "abc" has 63.6364, "abc" against "ab" 87.5.
    assert expected_utilities(["ab", "abc"]) == pytest.approx([63.6364, 87.5], abs=1e-4)
    # "ab" twice: one other is equal, 100; "abc" has 87.5 against both.
    found = expected_utilities(["ab", "abc", "ab"])
    assert found == pytest.approx([(100 + 63.6364) / 2, 87.5, (100 + 63.6364) / 2], abs=1e-4)
    # What shares no letter with the others has nothing of them.
    assert expected_utilities(["ab", "ab", "xy"]) == [50.0, 50.0, 0.0]
    with pytest.raises(ValueError, match="1 texts have no others"):
        expected_utilities(["ab"])


@pytest.mark.parametrize("seed", range(5))
def test_utilities_are_those_of_every_pair_by_sacrebleu(seed: int) -> None:
    luck = random.Random(seed)
    words = ["der", "hund", "schläft", "ein", "a", "e", ".", "liest,", ""]
    texts = [" ".join(luck.choices(words, k=luck.randrange(6))) for _ in range(30)]
    assert expected_utilities(texts) == pytest.approx(utilities_from_their_definition(texts))


def test_the_one_most_like_the_others_comes_first_and_each_once() -> None:
    given = [candidate("xy"), candidate("abcd", -5.0), candidate("abce"), candidate("abcd", -3.0)]
    found = least_risk(given)
    assert [each.text for each in found] == ["abcd", "abce", "xy"]
    assert found[0].token_log_probs == (-3.0,)  # the more probable of equal texts
    expected = utilities_from_their_definition([each.text for each in given])
    assert found[0].score == pytest.approx(expected[1])


def test_of_equal_utilities_the_more_probable_comes_first() -> None:
    # Of two texts of equal length each has the same against the other.
    one, two = candidate("abcd", -2.0), candidate("abce", -1.5)
    assert [each.text for each in least_risk([one, two])] == ["abce", "abcd"]
    assert [each.text for each in least_risk([two, one])] == ["abce", "abcd"]
    equal = candidate("abce", -2.0)
    assert [each.text for each in least_risk([one, equal])] == ["abcd", "abce"]  # the earlier


def test_one_alone_agrees_with_all_there_is() -> None:
    assert [each.score for each in least_risk([candidate("a")])] == [100.0]
    assert least_risk([]) == []


def test_translations_are_the_samples_with_the_highest_utility(translator: Translator) -> None:
    sampling = Sampling(seed=3, temperature=0.5)
    drawn = translator.translate(GERMAN, sampling=sampling, n_best=8, max_length=6)
    chosen = translator.translate(GERMAN, sampling=sampling, mbr=8, n_best=2, max_length=6)
    for samples, best in zip(drawn, chosen, strict=True):
        texts = [each.text for each in samples.hypotheses]
        utilities = utilities_from_their_definition(texts)
        assert best.score == pytest.approx(max(utilities))
        assert utilities[texts.index(best.text)] == pytest.approx(max(utilities))
        assert len(best.hypotheses) == min(2, len({*texts}))


def test_the_n_best_of_a_beam_can_be_reranked(translator: Translator) -> None:
    searched = translator.translate(GERMAN, n_best=4, max_length=6)
    chosen = translator.translate(GERMAN, mbr=4, mbr_over="beam", max_length=6)
    for found, best in zip(searched, chosen, strict=True):
        utilities = utilities_from_their_definition([each.text for each in found.hypotheses])
        assert best.score == pytest.approx(max(utilities))
        assert len(best.hypotheses) == 1


def test_a_segment_in_several_parts_is_chosen_as_a_whole(translator: Translator) -> None:
    text = "Der Hund schläft. Wir gehen. Ein Mann liest."
    options: dict[str, Any] = {"sentences": True, "max_length": 5}
    (drawn,) = translator.translate([text], sampling=Sampling(), n_best=6, **options)
    (chosen,) = translator.translate([text], mbr=6, **options)
    assert drawn.parts == chosen.parts == 3
    texts = [each.text for each in drawn.hypotheses]
    assert chosen.score == pytest.approx(max(utilities_from_their_definition(texts)))


def test_what_is_copied_or_blank_stays(translator: Translator) -> None:
    found = translator.translate(["", "12", "..."], mbr=4)
    assert [each.text for each in found] == ["", "12", "..."]
    assert all(each.copied and each.score == 0 for each in found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mbr": 1}, "mbr: 1 translations cannot be compared with each other; set it to 2 or"),
        ({"mbr": -2}, "mbr: -2 translations"),
        ({"mbr": 4, "n_best": 5}, "n_best: 5 is more than mbr 4; set mbr to 5 or more"),
        ({"mbr": 4, "mbr_over": "lattice"}, "mbr_over: 'lattice' is not a choice; samples or beam"),
        ({"mbr_over": "beam"}, "mbr_over: is beam, and mbr is 0; set mbr to 2 or more"),
        ({"mbr": 4, "mbr_over": "beam", "sampling": Sampling()}, "mbr_over: is beam, and sampling"),
        (
            {"mbr": 9, "mbr_over": "beam"},
            "mbr: 9 is more than beam 4, of whose best",
        ),
    ],
)
def test_what_cannot_be_reranked_is_refused(
    translator: Translator, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        translator.translate(GERMAN, **options)
    assert message in str(caught.value)
