"""From the trees of a treebank to those that parsers learn and are compared on."""

import re

from dragoman.trees.tree import Bracket, Leaf, Tree

TRACE = "-NONE-"
_FUNCTION = re.compile(r"(?<=.)[-=].*")


def bare_label(label: str) -> str:
    """Cut off what a constituent does and refers to: ``NP-SBJ-1`` to ``NP``, ``NP=2`` to ``NP``.

    A label that starts with a hyphen, such as ``-LRB-``, stays as it is.
    """
    return label if label.startswith("-") else _FUNCTION.sub("", label)


def clean(tree: Tree, *, root: str = "TOP") -> Tree | None:
    """Take out traces, the brackets they leave empty, functions of labels and the root.

    Args:
        tree: as in a treebank.
        root: label of brackets that are left out, with what is in them kept.

    Returns:
        None if there was nothing but traces.
    """
    places = [0]  # what each leaf, and the end, is counted as afterwards
    leaves: list[Leaf] = []
    for leaf in tree.leaves:
        if leaf.tag != TRACE:
            leaves.append(leaf)
        places.append(len(leaves))
    kept = (
        Bracket(bare_label(b.label), places[b.start], places[b.end])
        for b in tree.brackets
        if places[b.start] < places[b.end] and b.label != root
    )
    return Tree(tuple(leaves), tuple(kept)) if leaves else None
