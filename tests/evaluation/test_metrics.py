import pytest
from sacrebleu import corpus_bleu, corpus_chrf, corpus_ter

from dragoman.evaluation import corpus_score

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
