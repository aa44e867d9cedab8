"""What is said of a translation: its score, term by term, and the steps of its search."""

import json
import math
import re
from dataclasses import asdict
from typing import Any

import pytest

from dragoman.decoding import BeamSearch, Ended, FusedEngine, Opened, Stop, Terms, Trace, TraceStep
from dragoman.translator import Candidate, Translation, Translator, explanation
from tests.fixtures import GERMAN, tiny_bundle, tiny_translator

EVERYTHING: dict[str, Any] = {
    **{"length_penalty": "average", "word_reward": 0.1, "coverage": 0.2, "patience": 2.0},
    **{"groups": 2, "min_length": 3, "no_repeat_ngram": 2, "repetition_penalty": 1.5},
}


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(layers=2)


def test_a_search_is_told_as_a_table_of_steps() -> None:
    steps = (
        TraceStep(
            1,
            (Opened(1, 0, 7, -0.12, -0.12, token=" A"), Opened(2, 0, 8, -2.5, -2.5, token=" The")),
            (),
        ),
        TraceStep(
            2,
            (Opened(1, 1, 9, -0.08, -0.2, token=" dog"),),
            (Ended(1, (7,), -3.0, -2.842, Terms(-3.12, 1.097, coverage=0.002), text="A"),),
        ),
        TraceStep(
            3,
            (),
            (Ended(1, (7, 9), -0.1, -0.2524, Terms(-0.3, 1.1884), rank=1, text="A dog"),),
        ),
    )
    trace = Trace(BeamSearch(beam=2, coverage=0.3), steps, Stop("nothing-open", 3, 2, -0.2524))
    best = Candidate("A dog", -0.2524, (" A", " dog", "</s>"), (-0.12, -0.08, -0.1), False)
    assert list(explanation(Translation("Ein Hund", (best,), traces=(trace,)))) == [
        "Ein Hund",
        "  1. A dog",
        "     score -0.2524 = -0.3000 / 1.1884, ((5 + 3) / 6)^0.6; 3 pieces, end symbol included",
        "     ' A' -0.1200  ' dog' -0.0800  '</s>' -0.1000",
        "  search: beam 2, alpha 0.6, coverage 0.3",
        "  step 1             log P     total",
        "      1 < start    -0.1200   -0.1200  ' A'  A",
        "      2 < start    -2.5000   -2.5000  ' The'  The",
        "  step 2             log P     total",
        "      1 < 1        -0.0800   -0.2000  ' dog'  A dog",
        "    end < 1        -3.0000   -3.1200  score -2.8420 = -3.1200 / 1.0970 + coverage 0.0020"
        "  A",
        "  step 3             log P     total",
        "    end < 1        -0.1000   -0.3000  score -0.2524 = -0.3000 / 1.1884  translation 1"
        "  A dog",
        "  stopped after step 3: no hypothesis is open",
    ]


@pytest.mark.parametrize(
    ("stop", "options", "said"),
    [
        (Stop("limit", 9, 0), {}, "after step 9: the limit of 9 pieces"),
        (
            Stop("patience", 3, 6),
            {"patience": 1.5},
            "after step 3: 6 have ended, patience is 1.5 * beam 4",
        ),
        (
            Stop("nothing-can-win", 4, 2, -0.5, -0.625),
            {"n_best": 2},
            "after step 4: the best open hypothesis can reach at most -0.6250, and the list of 2 "
            "ends with -0.5000",
        ),
    ],
)
def test_the_reason_to_stop_is_told_in_words(
    stop: Stop, options: dict[str, Any], said: str
) -> None:
    trace = Trace(BeamSearch(**options), (), stop)
    best = Candidate("A", -0.5, ("A",), (-0.5,), True)
    assert list(explanation(Translation("x", (best,), traces=(trace,))))[-1] == f"  stopped {said}"


@pytest.mark.parametrize("controls", [{}, {"alpha": -0.5}, EVERYTHING], ids=["none", "-0.5", "all"])
def test_looking_at_the_search_changes_no_translation_and_every_score_adds_up(
    translator: Translator, controls: dict[str, Any]
) -> None:
    texts = [*GERMAN, "", "12"]
    options: dict[str, Any] = {"beam": 4, "n_best": 3, "max_length": 9, **controls}
    plain = translator.translate(texts, **options)
    found = translator.translate(texts, trace=True, **options)
    for one, other in zip(plain, found, strict=True):
        assert (one.hypotheses, one.traces) == (other.hypotheses, ())
    assert [len(each.traces) for each in found] == [1, 1, 1, 1, 0, 0]
    for each in found[:4]:
        ranked = {e.rank: e for e in each.traces[0].ended if e.rank}
        assert sorted(ranked) == [1, 2, 3]
        for rank, ended in ranked.items():
            candidate = each.hypotheses[rank - 1]
            assert (ended.text, ended.score) == (candidate.text, candidate.score)
            assert ended.terms.score == candidate.score
        told = "\n".join(explanation(each))
        for score, total, penalty, rest in re.findall(
            r"score (-?[\d.]+) = (-?[\d.]+) / ([\d.]+)((?: \+ \w+ -?[\d.]+)*)", told
        ):
            terms = sum(float(number) for number in re.findall(r"-?\d+\.\d+", rest))
            sum_of_terms = float(total) / float(penalty) + terms  # of four digits each
            assert float(score) == pytest.approx(sum_of_terms, rel=1e-4, abs=4e-4)


def test_the_fused_engine_and_its_workers_tell_the_same_search() -> None:
    bundle = tiny_bundle(layers=2)
    plain = Translator(bundle)
    fused = Translator(bundle, FusedEngine.of(plain.model, "float32", workers=2))
    options: dict[str, Any] = {"max_length": 6, "batch_tokens": 20, "n_best": 2}
    for one, other, bare in zip(
        plain.translate(GERMAN, trace=True, **options),
        fused.translate(GERMAN, trace=True, **options),
        fused.translate(GERMAN, **options),
        strict=True,
    ):
        assert [c.tokens for c in other.hypotheses] == [c.tokens for c in bare.hypotheses]
        for a, b in zip(one.traces[0].steps, other.traces[0].steps, strict=True):
            assert [(o.origin, o.piece) for o in a.opened] == [
                (o.origin, o.piece) for o in b.opened
            ]
            assert [o.total for o in a.opened] == pytest.approx(
                [o.total for o in b.opened], abs=1e-4
            )


def test_each_part_of_a_split_line_has_its_search() -> None:
    translator = tiny_translator(learned=16)
    (found,) = translator.translate([" ".join(GERMAN * 2)], trace=True, max_length=4)
    assert found.parts == len(found.traces) > 1
    lines = list(explanation(found))
    assert f" = sum over {found.parts} parts, each over its own penalty" in lines[3]
    assert f"  search of part 2 of {found.parts}: beam 4, alpha 0.6, max_length 4" in lines


def test_what_was_not_searched_has_no_trace_and_says_why(translator: Translator) -> None:
    (found,) = translator.translate(
        [GERMAN[0]], prefix=["the cat drinks"], max_length=3, trace=True
    )
    assert found.traces == ()
    assert "shorten the prefix" in list(explanation(found))[1]


def test_repetitions_that_count_otherwise_are_told(translator: Translator) -> None:
    # Greedy search of an untrained model says the same again and again.
    (found,) = translator.translate(
        [GERMAN[0]], beam=1, max_length=9, repetition_penalty=1.01, trace=True
    )
    own = math.fsum(found.token_log_probs)
    told = list(explanation(found))[3]
    assert told.endswith(f"; repetitions count 1.01 times, without it {own:.4f}")


def test_a_trace_is_plain_json(translator: Translator) -> None:
    (found,) = translator.translate([GERMAN[0]], max_length=5, trace=True, **EVERYTHING)
    back = json.loads(json.dumps(asdict(found), allow_nan=False))
    assert back["traces"][0]["stop"]["reason"] == "limit"
    assert back["traces"][0]["search"]["coverage"] == 0.2
    assert back["traces"][0]["steps"][0]["opened"][0]["origin"] == 0
