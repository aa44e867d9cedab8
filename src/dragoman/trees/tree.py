"""Constituency trees as the Penn Treebank has them, without a tree of objects.

A tree is the words of a sentence and the brackets over them, each with where it starts and ends.
That is what scores compare, and it is flat: a bracket in ten thousand others costs no stack.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LABEL = re.compile(r"[^\s()]+")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A word and its part of speech, the preterminal above it.

    Args:
        tag: such as ``NN``; neither white space nor parentheses, not empty.
        word: likewise; the treebank writes ``-LRB-`` for a parenthesis.

    Raises:
        ValueError: one of both is empty or holds white space or a parenthesis.
    """

    tag: str
    word: str

    def __post_init__(self) -> None:
        """Check what could not be written and read again."""
        for name in ("tag", "word"):
            if not _LABEL.fullmatch(getattr(self, name)):
                raise ValueError(f"{name}: {getattr(self, name)!r} cannot stand in a tree")


@dataclass(frozen=True, slots=True)
class Bracket:
    """A constituent: leaves ``start`` to ``end``, counted from 0, the last one not included.

    Args:
        label: such as ``NP`` or ``NP-SBJ``; neither white space nor parentheses, not empty.
        start: first leaf.
        end: one past the last leaf; more than ``start``.

    Raises:
        ValueError: the label could not be written, or there is no leaf.
    """

    label: str
    start: int
    end: int

    def __post_init__(self) -> None:
        """Check what could not be written and read again."""
        if not _LABEL.fullmatch(self.label):
            raise ValueError(f"label: {self.label!r} cannot stand in a tree")
        if not 0 <= self.start < self.end:
            raise ValueError(f"{self.label}: from {self.start} to {self.end} there is no leaf")


@dataclass(frozen=True, slots=True)
class Tree:
    """The words of a sentence and the brackets over them.

    There may be several brackets at the top, and leaves in none.

    Args:
        leaves: from left to right, at least one.
        brackets: a parent before its children, children from left to right; none crosses another.

    Raises:
        ValueError: there is no leaf, a bracket goes beyond them, or brackets cross or are not in
            this order.
    """

    leaves: tuple[Leaf, ...]
    brackets: tuple[Bracket, ...]

    def __post_init__(self) -> None:
        """Check that it is a tree."""
        if not self.leaves:
            raise ValueError("a tree needs a leaf")
        ends = [len(self.leaves)]  # of the brackets that are open
        start = 0
        for bracket in self.brackets:
            while len(ends) > 1 and ends[-1] <= bracket.start:
                ends.pop()
            if bracket.start < start or bracket.end > ends[-1]:
                raise ValueError(f"{bracket}: out of order, or across another bracket")
            ends.append(bracket.end)
            start = bracket.start

    @property
    def words(self) -> tuple[str, ...]:
        """The sentence."""
        return tuple(leaf.word for leaf in self.leaves)


def opening(tree: Tree) -> tuple[tuple[str, ...], ...]:
    """Say for each leaf which brackets open before it, the outer ones first."""
    found: list[list[str]] = [[] for _ in tree.leaves]
    for bracket in tree.brackets:
        found[bracket.start].append(bracket.label)
    return tuple(map(tuple, found))


def closing(tree: Tree) -> tuple[tuple[str, ...], ...]:
    """Say for each leaf which brackets close behind it, the inner ones first."""
    found: list[list[str]] = [[] for _ in tree.leaves]
    for bracket in reversed(tree.brackets):
        found[bracket.end - 1].append(bracket.label)
    return tuple(map(tuple, found))


class Growing:
    """A tree in the making, from left to right."""

    def __init__(self) -> None:
        self.place = 0  # leaves so far
        self.open: list[int] = []  # in ``_brackets``, the innermost last
        self._brackets: list[tuple[str, int, int]] = []

    @property
    def labels(self) -> list[str]:
        """Labels of the brackets that are open, the innermost last."""
        return [self._brackets[number][0] for number in self.open]

    def start(self, label: str) -> None:
        """Open a bracket."""
        self.open.append(len(self._brackets))
        self._brackets.append((label, self.place, -1))

    def stop(self) -> bool:
        """Close the innermost bracket, of which there is one; say whether it has a leaf."""
        number = self.open.pop()
        label, start, _ = self._brackets[number]
        self._brackets[number] = (label, start, self.place)
        return start < self.place

    def tree(self, leaves: Iterable[Leaf]) -> Tree:
        """Give the tree of all brackets that were closed and have a leaf."""
        kept = (Bracket(*bracket) for bracket in self._brackets if bracket[1] < bracket[2])
        return Tree(tuple(leaves), tuple(kept))
