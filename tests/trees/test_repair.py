import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.trees import Bracket, Leaf, Tree, linearize, read_tree_lines, repair, write_tree
from tests.trees.drawn import leaves, tokens, trees

WORDS = (Leaf("XX", "a"), Leaf("XX", "b"), Leaf("XX", "c"), Leaf(".", "."))


def repaired(text: str) -> tuple[str, dict[str, int]]:
    found = repair(text.split(), WORDS)
    return write_tree(found.tree), dict(found.faults)


@given(written=tokens(), words=leaves())
def test_any_tokens_become_a_tree_over_the_given_words(
    written: list[str], words: tuple[Leaf, ...]
) -> None:
    found = repair(written, words)
    assert found.tree.leaves == words
    assert [*read_tree_lines([write_tree(found.tree)], "f")] == [found.tree]
    # Whatever was repaired is valid from now on.
    again = repair(linearize(found.tree).split(), words)
    assert again.tree == found.tree
    assert again.valid


@given(tree=trees(), data=st.data())
def test_one_lost_token_is_always_noticed(tree: Tree, data: st.DataObject) -> None:
    written = linearize(tree).split()
    lost = data.draw(st.integers(0, len(written) - 1))
    assert not repair(written[:lost] + written[lost + 1 :], tree.leaves).valid


# By hand: the words are a b c and a full stop.
CASES = {
    "an end that never came": (
        "(S (NP XX XX )NP (VP XX",
        "(S (NP (XX a) (XX b)) (VP (XX c) (. .)))",
        {"unclosed": 2, "words missing": 1},
    ),
    "a bracket closed twice": (
        "(S (NP XX )NP )NP XX XX . )S",
        "(S (NP (XX a)) (XX b) (XX c) (. .))",
        {"unopened": 1},
    ),
    "an outer bracket closed before the inner one": (
        "(S (VP XX (NP XX )VP XX . )S",
        "(S (VP (XX a) (NP (XX b))) (XX c) (. .))",
        {"crossed": 1},
    ),
    "a bracket without words": (
        "(S (NP )NP XX XX XX . )S",
        "(S (XX a) (XX b) (XX c) (. .))",
        {"empty": 1},
    ),
    "closing brackets without names": (
        "(S (NP XX ) (VP XX XX ) . )",
        "(S (NP (XX a)) (VP (XX b) (XX c)) (. .))",
        {},
    ),
    "a word passed over, the full stop being where it is": (
        "(S (NP XX )NP (VP XX )VP . )S",
        "(S (NP (XX a) (XX b)) (VP (XX c)) (. .))",
        {"words missing": 1},
    ),
    "a word that is not there": (
        "(S (NP XX XX )NP (VP XX XX )VP . )S",
        "(S (NP (XX a)) (VP (XX b) (XX c)) (. .))",
        {"words surplus": 1},
    ),
    "a word passed over, as the numbers tell": (
        "(S (NP 1 )NP (VP 3 )VP . )S",
        "(S (NP (XX a)) (VP (XX b) (XX c)) (. .))",
        {"words missing": 1},
    ),
    "a number written twice": (
        "(S (NP 1 1 )NP (VP 2 3 )VP . )S",
        "(S (NP (XX a)) (VP (XX b) (XX c)) (. .))",
        {"words surplus": 1},
    ),
    "nothing at all": ("", "(XX a) (XX b) (XX c) (. .)", {"words missing": 4}),
    "brackets alone": (
        "(S (NP",
        "(S (NP (XX a) (XX b) (XX c) (. .)))",
        {"words missing": 4, "unclosed": 2},
    ),
    "signs that mean nothing": (
        "(S (((( XX XX XX . ((X )( )S",
        "(S (XX a) (XX b) (XX c) (. .))",
        {"unopened": 3},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_fault_is_mended_and_counted(case: str) -> None:
    text, expected, faults = CASES[case]
    assert repaired(text) == (expected, faults)


def test_several_brackets_at_the_top_are_no_fault() -> None:
    assert repaired("(NP XX )NP (VP XX XX )VP .") == (
        "(NP (XX a)) (VP (XX b) (XX c)) (. .)",
        {},
    )


@pytest.mark.parametrize("depth", [10_000, 100_000])
def test_depth_costs_no_stack_and_little_time(depth: int) -> None:
    started = time.monotonic()
    assert repair(["(S"] * depth, WORDS).tree.brackets == (Bracket("S", 0, 4),) * depth
    nested = ["(S"] * depth + ["XX"] * 4 + [")S"] * depth
    assert repair(nested, WORDS).valid
    repair([f"(A{number}" for number in range(depth)] + [")B"] * depth, WORDS)
    assert repair(["XX"] * depth, WORDS).faults == {"words surplus": depth - 4}
    assert time.monotonic() - started < 30  # if it took depth squared, hours


def test_a_sentence_has_a_word() -> None:
    with pytest.raises(ValueError, match="needs a leaf"):
        repair(["(S", ")S"], ())
