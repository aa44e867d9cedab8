import pytest

from dragoman.trees import clean, read_tree_lines, write_tree
from dragoman.trees.cleaning import bare_label


def cleaned(text: str) -> str | None:
    (tree,) = read_tree_lines([text], "f")
    assert tree is not None
    found = clean(tree)
    return None if found is None else write_tree(found)


@pytest.mark.parametrize(
    ("label", "bare"),
    [
        ("NP", "NP"),
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("S-TPC=3", "S"),
        ("ADVP|PRT", "ADVP|PRT"),
        ("-LRB-", "-LRB-"),
        ("-NONE-", "-NONE-"),
    ],
)
def test_what_a_constituent_does_is_cut_off_its_label(label: str, bare: str) -> None:
    assert bare_label(label) == bare


def test_traces_go_with_all_that_holds_nothing_else() -> None:
    # The example of section 7 of EVALB's README, in other words.
    text = "((S (NP-SBJ (PRP we)) (VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*-1)))) (. .)))"
    assert cleaned(text) == "(S (NP (PRP we)) (VP (VBD said)) (. .))"


def test_words_and_tags_stay_as_they_are() -> None:
    text = "((NP-HLN (-LRB- -LRB-) (NN A-B=C) (-RRB- -RRB-)))"
    assert cleaned(text) == "(NP (-LRB- -LRB-) (NN A-B=C) (-RRB- -RRB-))"


def test_of_a_sentence_of_traces_nothing_is_left() -> None:
    assert cleaned("((S (NP (-NONE- *)) (VP (-NONE- *?*))))") is None
