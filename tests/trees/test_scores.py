"""Scores by hand, and the sample that comes with EVALB (Sekine and Collins 1997, public domain).

The sample's trees are written here in other words; its figures are those of its ``sample.rsl``.
"""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.trees import (
    Bracket,
    BracketScore,
    Leaf,
    Rules,
    Tree,
    add_scores,
    read_tree_lines,
    score_brackets,
)
from tests.trees.drawn import trees


def read(text: str) -> Tree | None:
    (tree,) = read_tree_lines([text], "f")
    return tree


def scored(gold: str, found: str, rules: Rules | None = None) -> BracketScore:
    right = read(gold)
    assert right is not None
    return score_brackets(right, read(found), rules or Rules())


GOLD = "(S (A (P we)) (B (Q are) (A (R two) (T friends))))"
LONG = "(A (P we)) (B (Q are) (A (R two) (T friends)))"
DEEP = "(A (R two) (T friends))"
# Of the sample: gold, found, state (1 error, 2 skipped), matched, gold, found, crossing.
SAMPLE: list[tuple[str, str, int, int, int, int, int]] = [
    (GOLD, GOLD, 0, 4, 4, 4, 0),
    (GOLD, GOLD.replace("(A (R", "(C (R"), 0, 3, 4, 4, 0),
    (GOLD, GOLD.replace("(T", "(U"), 0, 4, 4, 4, 0),
    (GOLD, GOLD.replace("(A (P", "(C (P").replace("(T", "(U"), 0, 3, 4, 4, 0),
    (GOLD, "(S (A (P we)) (B (Q are) (R two) (A (T friends))))", 0, 3, 4, 4, 0),
    (GOLD, "(S (A (P we) (Q are)) (A (R two) (T friends)))", 0, 2, 4, 3, 1),
    (GOLD, "(S (P we) (Q are) (R two) (T friends))", 0, 1, 4, 1, 0),
    (GOLD, "(P we) (Q are) (R two) (T friends)", 0, 0, 4, 0, 0),
    (GOLD, GOLD.replace(DEEP, f"(A {DEEP})"), 0, 4, 4, 5, 0),
    (GOLD, GOLD.replace(DEEP, f"(A (A (A (A {DEEP}))))"), 0, 4, 4, 8, 0),
    (GOLD, "", 2, 0, 0, 0, 0),
    (GOLD, GOLD.replace("are", "were").replace(DEEP, f"(A {DEEP})"), 1, 0, 0, 0, 0),
    (GOLD, GOLD.replace(DEEP, f"(U not) (A {DEEP})"), 1, 0, 0, 0, 0),
    (GOLD, "", 2, 0, 0, 0, 0),
    (GOLD, f"(TOP {GOLD})", 0, 4, 4, 4, 0),
    (GOLD, GOLD.replace(" (B", " (NONE *) (B"), 1, 0, 0, 0, 0),
    (GOLD, GOLD.replace(" (B", " (S (NONE abc) (A (NONE *))) (B"), 1, 0, 0, 0, 0),
    (GOLD, GOLD.replace("(T", "(TT"), 0, 4, 4, 4, 0),
    (GOLD, GOLD.replace("we", "We"), 0, 4, 4, 4, 0),
    (GOLD, GOLD.replace("we", "They"), 1, 0, 0, 0, 0),
    ("(S (A-SBJ-1 (P we)) (B-WHATEVER (Q are) (A (R two) (T friends))))", GOLD, 0, 4, 4, 4, 0),
    (f"(S {' '.join([LONG] * 11)})", f"(S {' '.join([LONG] * 11)})", 0, 34, 34, 34, 0),
    (f"(S {LONG} (-NONE- *))", f"(S {LONG} (-NONE- *))", 0, 4, 4, 4, 0),
    (f"(S {LONG} (: *))", f"(S {LONG} (: *))", 0, 4, 4, 4, 0),
]
SAMPLE_RULES = Rules(
    deleted=frozenset({"TOP", "-NONE-", ",", ":", "``", "''"}),
    same_labels={"TT": "T"},
    same_words={"We": "we"},
)


@pytest.mark.parametrize("number", range(1, len(SAMPLE) + 1))
def test_a_sentence_of_the_sample_of_evalb_counts_as_there(number: int) -> None:
    gold, found, *expected = SAMPLE[number - 1]
    score = scored(gold, found, SAMPLE_RULES)
    state = score.errors + 2 * score.skipped
    assert [state, score.matched, score.gold, score.found, score.crossing] == expected


def test_the_sample_of_evalb_has_its_summary() -> None:
    total = add_scores(scored(gold, found, SAMPLE_RULES) for gold, found, *_ in SAMPLE)
    assert (total.sentences, total.errors, total.skipped, total.scored) == (24, 5, 2, 17)
    assert (total.matched, total.gold, total.found) == (86, 98, 95)
    shares = (total.recall, total.precision, total.exact_match, total.no_crossing)
    assert [round(100 * share, 2) for share in shares] == [87.76, 90.53, 52.94, 94.12]
    assert round(total.mean_crossing, 2) == 0.06


def test_f1_is_that_of_all_sentences_together() -> None:
    # By hand: 1 of 2 and 1 found, then 2 of 2 and 3 found: P = 3/4, R = 3/4.
    first = scored("(S (NP (N a)) (V b))", "(S (N a) (V b))")
    second = scored("(S (N a) (VP (V b)))", "(S (X (N a)) (VP (V b)))")
    assert (first.precision, first.recall, first.f1) == (1, 0.5, pytest.approx(2 / 3))
    both = add_scores([first, second])
    assert (both.precision, both.recall, both.f1, both.exact_match) == (0.75, 0.75, 0.75, 0)


def test_punctuation_counts_neither_as_words_nor_in_spans() -> None:
    gold = "(S (`` ``) (NP (N a) (, ,)) (VP (V b)) (. .) ('' ''))"
    found = "(S (`` ``) (NP (N a)) (, ,) (VP (V b) (. .)) ('' ''))"
    assert scored(gold, found).exact == 1
    # A bracket over punctuation alone is none.
    assert scored(gold, found.replace("(, ,)", "(PRN (, ,))")).exact == 1
    # Another tag for it makes it a word of one side.
    assert scored(gold, found.replace("(, ,)", "(N ,)")).errors == 1


def test_particles_count_as_adverbs_and_functions_do_not_count() -> None:
    gold = "(S (NP-SBJ (N a)) (VP (V b) (PRT (RP up))))"
    assert scored(gold, "(S (NP=2 (N a)) (VP (V b) (ADVP-DIR (RP up))))").exact == 1


def test_a_bracket_that_stands_twice_matches_twice_at_most() -> None:
    once, twice = "(S (NP (N a)) (V b))", "(S (NP (NP (N a))) (V b))"
    # EVALB's README, section 7, 5: found m = 3 (with S), gold n = 2 (with S).
    more = scored(once, twice)
    assert (more.precision, more.recall) == (pytest.approx(2 / 3), 1)
    less = scored(twice, once)
    assert (less.precision, less.recall) == (1, pytest.approx(2 / 3))


def test_crossing_is_counted_in_what_was_found() -> None:
    gold = "(S (A (N a) (N b)) (B (N c) (N d)))"
    score = scored(gold, "(S (N a) (X (Y (N b) (N c))) (N d))")
    assert (score.crossing, score.uncrossed, score.mean_crossing) == (2, 0, 2)


def test_of_nothing_all_is_zero() -> None:
    empty = add_scores([])
    assert empty == BracketScore()
    shares = (empty.precision, empty.recall, empty.f1, empty.exact_match, empty.no_crossing)
    assert shares == (0, 0, 0, 0, 0)
    assert empty.mean_crossing == 0
    assert scored("(S (N a))", "(S (. .))").skipped == 1


def counted_like_evalb(gold: Tree, found: Tree) -> tuple[int, int, int, int]:
    """Walk over every pair of brackets as its C program does, marking those that are taken."""
    gone = {",", ":", "``", "''", ".", "-NONE-", "TOP"}
    sides: list[list[tuple[str, int, int]]] = []
    for tree in (gold, found):
        kept = [leaf.tag not in gone for leaf in tree.leaves]
        rows: list[tuple[str, int, int]] = []
        for bracket in tree.brackets:
            start, end = sum(kept[: bracket.start]), sum(kept[: bracket.end])
            label = bracket.label.split("-")[0]
            if start < end:
                rows.append(("ADVP" if label == "PRT" else label, start, end))
        sides.append(rows)
    taken: set[int] = set()
    for row in sides[0]:
        for number, other in enumerate(sides[1]):
            if number not in taken and row == other:
                taken.add(number)
                break
    crossing = sum(
        any(a < c < b < d or c < a < d < b for _, a, b in sides[0]) for _, c, d in sides[1]
    )
    return len(taken), len(sides[0]), len(sides[1]), crossing


@given(gold=trees(), found=trees(), seed=st.integers(0, 2**31))
def test_counts_are_those_of_a_walk_over_all_pairs(gold: Tree, found: Tree, seed: int) -> None:
    rng = random.Random(seed)
    words = tuple(Leaf(rng.choice(["N", ",", "."]), "w") for _ in gold.leaves)
    gold = Tree(words, gold.brackets)
    kept = (b for b in found.brackets if b.end <= len(words))
    found = Tree(words, tuple(kept))
    score = score_brackets(gold, found)
    if score.scored:
        counts = (score.matched, score.gold, score.found, score.crossing)
        assert counts == counted_like_evalb(gold, found)


@pytest.mark.parametrize("depth", [10_000])
def test_depth_costs_no_stack(depth: int) -> None:
    deep = Tree((Leaf("N", "a"), Leaf("N", "b")), (Bracket("X", 0, 2),) * depth)
    other = Tree(deep.leaves, (Bracket("X", 0, 2),) * 10 + (Bracket("Y", 0, 1),))
    score = score_brackets(deep, other)
    assert (score.matched, score.gold, score.found) == (10, depth, 11)
