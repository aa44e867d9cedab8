import math

import pytest
from sacrebleu import corpus_bleu, corpus_chrf, corpus_ter

from dragoman.evaluation import corpus_score, token_bleu

HYPOTHESES = ["the cat sat on the mat .", "a dog barks"]
REFERENCES = ["the cat sat on a mat .", "a dog barks loudly"]


def test_scores_are_those_of_sacrebleu() -> None:
    # sacreBLEU's own functions are the independent side.
    assert corpus_score("bleu", HYPOTHESES, REFERENCES).value == pytest.approx(
        corpus_bleu(HYPOTHESES, [REFERENCES]).score
    )
    assert corpus_score("chrf", HYPOTHESES, REFERENCES).value == pytest.approx(
        corpus_chrf(HYPOTHESES, [REFERENCES]).score
    )
    assert corpus_score("ter", HYPOTHESES, REFERENCES).value == pytest.approx(
        corpus_ter(HYPOTHESES, [REFERENCES]).score
    )


def test_signatures_say_how_a_score_was_computed() -> None:
    signature = corpus_score("bleu", HYPOTHESES, REFERENCES).signature
    assert "nrefs:1" in signature
    assert "tok:13a" in signature
    assert "tok:char" in corpus_score("bleu", HYPOTHESES, REFERENCES, tokenize="char").signature
    assert "version:" in corpus_score("chrf", HYPOTHESES, REFERENCES).signature


def test_a_perfect_translation_scores_a_hundred() -> None:
    assert corpus_score("bleu", REFERENCES, REFERENCES).value == pytest.approx(100.0)
    assert corpus_score("ter", REFERENCES, REFERENCES).value == 0.0


def test_unequal_or_empty_sides_are_refused() -> None:
    with pytest.raises(ValueError, match="2 hypotheses, 1 references"):
        corpus_score("bleu", HYPOTHESES, REFERENCES[:1])
    with pytest.raises(ValueError, match="nothing to compare"):
        corpus_score("bleu", [], [])


def test_bleu_of_tokens_is_made_of_clipped_precisions_and_a_brevity_penalty() -> None:
    # By hand: of "a a b" against "a b c d", one a of two counts, so 2 of 3 tokens and 1 of 2 pairs;
    # too short by 3 to 4, e^(1 - 4/3).
    found = token_bleu([["a", "a", "b"]], [["a", "b", "c", "d"]], order=2)
    assert found.precisions == pytest.approx((2 / 3, 1 / 2))
    assert found.brevity_penalty == pytest.approx(math.exp(-1 / 3))
    assert found.value == pytest.approx(100 * math.exp(-1 / 3) * math.sqrt(1 / 3))
    assert (found.hypothesis_length, found.reference_length) == (3, 4)


def test_bleu_of_tokens_is_not_smoothed() -> None:
    assert token_bleu([["a", "b"]], [["b", "a"]], order=2).value == 0.0
    assert token_bleu([["a", "b"]], [["a", "b"]]).value == 0.0  # nothing of length 3
    assert token_bleu([[]], [["a"]]).value == 0.0


def test_tokens_that_hold_blanks_or_are_ids_count_as_one() -> None:
    words = token_bleu([["a", "b", "c"]], [["a", "b", "d"]], order=2)
    assert token_bleu([["a ", "b c", ""]], [["a ", "b c", "c"]], order=2) == words
    assert token_bleu([[1, 2, 3]], [[1, 2, 4]], order=2) == words


def test_bleu_of_unequal_or_no_token_rows_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^1 hypotheses, 2 references$"):
        token_bleu([["a"]], [["a"], ["b"]])
    with pytest.raises(ValueError, match=r"^there is nothing to compare$"):
        token_bleu([], [])
