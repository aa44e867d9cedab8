import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.trees import (
    escaped,
    leaves_of,
    read_tree_lines,
    restore,
    right_branching,
    with_tags_of,
    write_tree,
)
from tests.trees.drawn import tokens


def restored(sentence: str, written: str) -> str:
    tree = restore(sentence, written).tree
    assert tree is not None
    return write_tree(tree)


def test_words_and_tokens_make_a_tree() -> None:
    assert restored("we like boats !", "(S (NP XX )NP (VP XX (NP XX )NP )VP . )S") == (
        "(S (NP (XX we)) (VP (XX like) (NP (XX boats))) (. !))"
    )


def test_tags_that_a_model_writes_are_kept_if_there_is_one_a_word() -> None:
    sentence = "we go , now"
    assert restored(sentence, "(S PRP VBP NN RB )S") == "(S (PRP we) (VBP go) (, ,) (RB now))"
    assert restored(sentence, "(S PRP VBP RB )S") == "(S (XX we) (XX go) (, ,) (XX now))"


def test_parentheses_among_the_words_do_not_become_brackets() -> None:
    assert restored("( a(b ) {", "(X XX XX XX XX )X") == (
        "(X (XX -LRB-) (XX a-LRB-b) (XX -RRB-) (XX -LCB-))"
    )
    assert [escaped(word) for word in ("x", "{y}", "}")] == ["x", "{y}", "-RCB-"]


def test_of_a_blank_sentence_there_is_no_tree() -> None:
    found = restore("  ", "(S XX )S")
    assert found.tree is None
    assert not found.faults


@given(sentence=st.text(max_size=30), written=tokens())
def test_any_text_and_any_tokens_make_a_tree_of_all_words(
    sentence: str, written: list[str]
) -> None:
    found = restore(sentence, " ".join(written))
    if not sentence.split():
        assert found.tree is None
        return
    assert found.tree is not None
    assert found.tree.words == tuple(map(escaped, sentence.split()))
    assert [*read_tree_lines([write_tree(found.tree)], "f")] == [found.tree]


def test_the_first_tree_to_beat_branches_to_the_right() -> None:
    tree = right_branching(leaves_of(["we", ",", "too", ",", "go", "."]))
    assert write_tree(tree) == "(S (XX we) (, ,) (VP (XX too) (, ,) (VP (XX go) (. .))))"
    with pytest.raises(ValueError, match="needs a leaf"):
        right_branching(())


def test_tags_are_taken_over_only_for_the_same_words() -> None:
    gold, same, other = read_tree_lines(
        ["(S (-NONE- *) (NN a) (POS '))", "(S (X (XX a)) ('' '))", "(S (XX b) ('' '))"], "f"
    )
    assert gold
    assert same
    assert other
    assert write_tree(with_tags_of(same, gold)) == "(S (X (NN a)) (POS '))"
    assert with_tags_of(other, gold) == other
