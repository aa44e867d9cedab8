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


def test_tags_are_kept_if_asked_for() -> None:
    assert linearize(read(TEXT), tags=True) == "(S (NP PRP )NP (VP VBP (NP JJ NNS )NP )VP . )S"


@given(tree=trees())
def test_a_tree_comes_back_from_its_tokens_and_words(tree: Tree) -> None:
    for tags in (False, True):
        found = repair(linearize(tree, tags=tags).split(), tree.leaves)
        assert found.tree == tree
        assert found.valid
