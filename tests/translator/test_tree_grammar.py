import random

import pytest

from dragoman.translator.tree_grammar import TreeGrammar
from dragoman.trees import leaves_of, repair

PIECES = ["<pad>", "<s>", "</s>", "<unk>", " (S", " (NP", " )S", " )NP", " 1", " 2", " 3", " ,"]
END = 2


def walk(grammar: TreeGrammar, *names: str) -> int:
    state = 0
    for name in names:
        state = grammar.after(state, PIECES.index(f" {name}"))
    return state


def allowed(grammar: TreeGrammar, state: int) -> set[str]:
    forbidden = set(grammar.forbidden(state).tolist())
    return {name.strip() for number, name in enumerate(PIECES) if number not in forbidden}


def test_only_what_makes_a_tree_may_come() -> None:
    grammar = TreeGrammar(PIECES, END, ["we", ",", "go"])
    assert allowed(grammar, 0) == {"(S", "(NP", "1"}
    assert allowed(grammar, walk(grammar, "(S", "(NP")) == {"(S", "(NP", "1"}
    assert allowed(grammar, walk(grammar, "(S", "(NP", "1")) == {"(S", "(NP", ")NP", ",", "2"}
    assert allowed(grammar, walk(grammar, "(S", "1", ",", "3")) == {")S"}
    assert allowed(grammar, walk(grammar, "(S", "1", ",", "3", ")S")) == {"</s>"}


def test_brackets_over_one_word_come_to_an_end() -> None:
    grammar = TreeGrammar(PIECES, END, ["we"])
    assert allowed(grammar, walk(grammar, *["(NP"] * 6)) == {"1"}


def test_what_is_forbidden_changes_nothing() -> None:
    grammar = TreeGrammar(PIECES, END, ["we", "go"])
    assert walk(grammar, ")S", "2", "(S") == walk(grammar, "(S")
    assert grammar.after(walk(grammar, "1"), END) == walk(grammar, "1")


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_written_under_it_is_a_tree_over_the_words(seed: int) -> None:
    rng = random.Random(seed)
    words = ["a", ",", "b"]
    grammar = TreeGrammar(PIECES, END, words)
    state, written = 0, list[str]()
    while True:
        name = rng.choice(sorted(allowed(grammar, state)))
        if name == "</s>":
            break
        written.append(name)
        state = walk(grammar, *written)
    assert repair(written, leaves_of(words)).valid


def test_there_is_none_where_a_word_has_no_token() -> None:
    assert TreeGrammar(PIECES, END, ["a", "b", "c"]).possible
    assert not TreeGrammar(PIECES, END, ["a", "b", "c", "d"]).possible
    assert not TreeGrammar(PIECES, END, []).possible
    assert TreeGrammar([*PIECES, " XX"], END, ["a"] * 9).possible
