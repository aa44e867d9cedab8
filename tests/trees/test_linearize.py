from hypothesis import given

from dragoman.trees import Tree, linearize, read_tree_lines, repair
from tests.trees.drawn import trees

TEXT = "(S (NP (PRP we)) (VP (VBP like) (NP (JJ small) (NNS boats))) (. !))"


def read(text: str) -> Tree:
    (tree,) = read_tree_lines([text], "f")
    assert tree is not None
    return tree


def test_words_become_one_tag_and_brackets_say_what_they_close() -> None:
    assert linearize(read(TEXT)) == "(S (NP XX )NP (VP XX (NP XX XX )NP )VP . )S"


def test_numbers_count_all_words_from_the_left() -> None:
    text = "(S (`` ``) (NP (PRP we)) (VP (VBP go)) (. !))"
    assert linearize(read(text), "numbers") == "(S `` (NP 2 )NP (VP 3 )VP . )S"


def test_tags_are_kept_if_asked_for() -> None:
    assert linearize(read(TEXT), "tags") == "(S (NP PRP )NP (VP VBP (NP JJ NNS )NP )VP . )S"


@given(tree=trees())
def test_a_tree_comes_back_from_its_tokens_and_words(tree: Tree) -> None:
    for form in ("same", "tags", "numbers"):
        found = repair(linearize(tree, form).split(), tree.leaves)
        assert found.tree == tree
        assert found.valid
