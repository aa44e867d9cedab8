import pytest
from hypothesis import given

from dragoman.errors import DataError
from dragoman.trees import Bracket, Leaf, Tree, read_tree_lines, read_trees, write_tree
from tests.trees.drawn import trees

TEXT = "(S (NP (PRP we)) (VP (VBP like) (NP (JJ small) (NNS boats))))"
READ = Tree(
    (Leaf("PRP", "we"), Leaf("VBP", "like"), Leaf("JJ", "small"), Leaf("NNS", "boats")),
    (Bracket("S", 0, 4), Bracket("NP", 0, 1), Bracket("VP", 1, 4), Bracket("NP", 2, 4)),
)


def test_a_tree_is_its_words_and_where_each_bracket_starts_and_ends() -> None:
    assert [*read_trees([TEXT], "f")] == [READ]
    assert write_tree(READ) == TEXT
    assert READ.words == ("we", "like", "small", "boats")


@given(tree=trees())
def test_what_is_written_is_read_again(tree: Tree) -> None:
    assert [*read_tree_lines([write_tree(tree), ""], "f")] == [tree, None]
    rooted = write_tree(tree, root="TOP")
    whole = Tree(tree.leaves, (Bracket("TOP", 0, len(tree.leaves)), *tree.brackets))
    assert [*read_trees([rooted, "", rooted], "f")] == [whole, whole]


def test_trees_may_go_over_lines_and_share_one() -> None:
    lines = ["( (S", "    (NP (PRP we))", "", "    (VP (VBP go)) ))  (X (UH oh))"]
    found = [write_tree(tree) for tree in read_trees(lines, "f")]
    assert found == ["(TOP (S (NP (PRP we)) (VP (VBP go))))", "(X (UH oh))"]


def test_a_line_may_hold_several_brackets_at_its_top_or_words_alone() -> None:
    (found,) = read_tree_lines(["(NP (PRP we)) (UH oh)"], "f")
    assert found == Tree((Leaf("PRP", "we"), Leaf("UH", "oh")), (Bracket("NP", 0, 1),))


@pytest.mark.parametrize("depth", [10_000, 100_000])
def test_depth_costs_no_stack(depth: int) -> None:
    text = "(X " * depth + "(UH oh)" + ")" * depth
    (tree,) = read_trees([text], "f")
    assert len(tree.brackets) == depth
    assert tree == Tree((Leaf("UH", "oh"),), (Bracket("X", 0, 1),) * depth)
    assert write_tree(tree) == text


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["(A (B b))", "(A (B b)"], "f: line 2: the tree that starts here leaves a bracket open"),
        (["", "(A (B", "b)", "(A (B b))"], "f: line 2: the tree that starts here leaves a bracket"),
        (["((A", " (B"], "f: line 1: the tree that starts here leaves 3 brackets open"),
        (["(A (B b)))"], "f: line 1: a bracket closes that was not opened"),
        (["(A (B b))", "oh"], "f: line 2: 'oh' stands in no bracket"),
        (["(A (B b c))"], "f: line 1: 'c' has no bracket of its own; write (TAG WORD)"),
        (["(A (B b) c)"], "f: line 1: 'c' has no bracket of its own"),
        (["(A (B b (C c)))"], "f: line 1: a bracket stands behind the word 'b'"),
        (["(A (B))"], "f: line 1: the bracket (B) holds no word; leave it out"),
        (["()"], "f: line 1: the bracket () holds no word"),
    ],
)
def test_what_is_no_tree_is_an_error_at_its_line(lines: list[str], message: str) -> None:
    with pytest.raises(DataError) as found:
        list(read_trees(lines, "f"))
    assert str(found.value).startswith(message)


def test_of_two_files_compared_by_line_each_line_is_whole() -> None:
    with pytest.raises(DataError, match="f: line 2: the tree that starts here"):
        list(read_tree_lines(["(B b)", "(A", "(B b))"], "f"))


@pytest.mark.parametrize(
    ("brackets", "message"),
    [
        ([("A", 0, 2), ("B", 1, 3)], "across another"),
        ([("A", 1, 2), ("B", 0, 3)], "out of order"),
        ([("A", 0, 1), ("B", 0, 3)], "across another"),
        ([("A", 0, 4)], "across another"),
    ],
)
def test_brackets_that_make_no_tree_are_refused(
    brackets: list[tuple[str, int, int]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Tree((Leaf("N", "a"),) * 3, tuple(Bracket(*bracket) for bracket in brackets))


def test_what_could_not_be_read_again_is_no_part_of_a_tree() -> None:
    for tag, word in (("", "a"), ("N", ""), ("N", "a b"), ("(", "a"), ("N", ")")):
        with pytest.raises(ValueError, match="cannot stand in a tree"):
            Leaf(tag, word)
    with pytest.raises(ValueError, match="cannot stand in a tree"):
        Bracket("", 0, 1)
    with pytest.raises(ValueError, match="from 1 to 1 there is no leaf"):
        Bracket("A", 1, 1)
    with pytest.raises(ValueError, match="needs a leaf"):
        Tree((), ())
