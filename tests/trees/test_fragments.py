import random

from hypothesis import given
from hypothesis import strategies as st

from dragoman.trees import Tree, draw_fragments, read_tree_lines, write_tree
from tests.trees.drawn import trees

TEXT = "(S (NP (PRP we)) (VP (VBP like) (NP (NP (JJ small) (NNS boats)))) (. !))"


def test_parts_are_what_stands_in_brackets_over_several_words() -> None:
    (tree,) = read_tree_lines([TEXT], "f")
    assert tree
    found = draw_fragments(tree, 9, random.Random(1))
    assert sorted(map(write_tree, found)) == [
        "(NP (NP (JJ small) (NNS boats)))",
        "(VP (VBP like) (NP (NP (JJ small) (NNS boats))))",
    ]
    assert len(draw_fragments(tree, 1, random.Random(1))) == 1


@given(tree=trees(), seed=st.integers(0, 99))
def test_every_part_stands_in_the_text_of_the_whole(tree: Tree, seed: int) -> None:
    for part in draw_fragments(tree, 20, random.Random(seed)):
        assert write_tree(part) in write_tree(tree)
        assert 1 < len(part.leaves) < len(tree.leaves)
