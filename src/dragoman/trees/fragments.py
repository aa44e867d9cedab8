"""Parts of trees as trees of their own: more to learn from where trees are few."""

import random

from dragoman.trees.tree import Bracket, Tree


def fragment(tree: Tree, number: int) -> Tree:
    """Take out a bracket with its words and all that is in it.

    Args:
        tree: any.
        number: of the bracket, from 0.
    """
    top = tree.brackets[number]
    inside = [top]
    for bracket in tree.brackets[number + 1 :]:
        if bracket.start >= top.end:
            break
        inside.append(bracket)
    moved = (Bracket(b.label, b.start - top.start, b.end - top.start) for b in inside)
    return Tree(tree.leaves[top.start : top.end], tuple(moved))


def draw_fragments(tree: Tree, most: int, rng: random.Random) -> list[Tree]:
    """Draw parts of a tree that have two words or more and not all of them, no words twice.

    Args:
        tree: any.
        most: how many; fewer where there are not as many.
        rng: draws.
    """
    spans: dict[tuple[int, int], int] = {}  # the outermost bracket over each
    for number, bracket in enumerate(tree.brackets):
        words = bracket.end - bracket.start
        if 1 < words < len(tree.leaves):
            spans.setdefault((bracket.start, bracket.end), number)
    numbers = list(spans.values())
    return [fragment(tree, number) for number in rng.sample(numbers, min(most, len(numbers)))]
