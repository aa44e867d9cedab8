import pytest

from dragoman.errors import DataError
from dragoman.evaluation import corpus_score, score_tokens

GOLD = "(S (NP XX )NP (VP XX (NP XX XX )NP )VP . )S"


def test_tokens_are_scored_as_the_trees_they_make() -> None:
    # By hand: of 4 brackets the second NP goes over one word instead of two: 3 of 4 both ways.
    wrong = "(S (NP XX )NP (VP XX XX (NP XX )NP )VP . )S"
    found = score_tokens([GOLD, wrong], [GOLD, GOLD])
    assert (found.brackets.matched, found.brackets.gold, found.brackets.found) == (7, 8, 8)
    assert (found.malformed, found.brackets.exact) == (0, 1)
    score = corpus_score("brackets", [GOLD, wrong], [GOLD, GOLD])
    assert score.value == pytest.approx(87.5)
    assert str(score) == "brackets 87.50 [f1:labelled|rules:COLLINS|repair:yes|dragoman]"


def test_where_the_full_stop_hangs_does_not_count() -> None:
    found = score_tokens(["(S (NP XX )NP (VP XX (NP XX XX )NP . )VP )S"], [GOLD])
    assert found.brackets.exact == 1


def test_whatever_was_written_no_sentence_is_lost() -> None:
    written = ["", "(S (NP XX", "no tokens of trees at all, and far more of them than words", ")S"]
    found = score_tokens(written, [GOLD] * 4)
    assert (found.malformed, found.brackets.sentences, found.brackets.scored) == (4, 4, 4)
    assert found.faults["words missing"] == 5 + 4 + 5
    assert found.faults["words surplus"] == 13 - 5
    # By hand: "(S (NP XX" becomes (S (NP all)); only the S is right, and nothing else at all.
    assert (found.brackets.matched, found.brackets.found) == (1, 2)


@pytest.mark.parametrize("wrong", ["", "(S XX", "(S XX )NP )S", "(S (NP )NP XX )S", "(S )S"])
def test_a_reference_that_is_no_tree_is_an_error_at_its_line(wrong: str) -> None:
    with pytest.raises(DataError, match=r"references: line 2: no tree \(.*linearize"):
        score_tokens([GOLD, GOLD], [GOLD, wrong])
