"""Trees as sequences that a translator can write (Vinyals et al. 2015, arXiv 1412.7449, section 2).

    (S (NP (PRP it)) (VP (VBZ works)) (. .))    becomes    (S (NP XX )NP (VP XX )VP . )S
                                                or         (S (NP 1 )NP (VP 2 )VP . )S

A word becomes its tag, and every tag the same ``XX``, which that paper found better than tags; or
it becomes its number in the sentence, which says what a model otherwise has to count. Tags of
punctuation stay in both: they tell what is left out of scores, and which word is which. A closing
bracket names what it closes.
"""

from typing import Literal

from dragoman.trees.tree import Leaf, Tree, closing, opening

ANY_TAG = "XX"
PUNCTUATION = frozenset({",", ".", ":", "``", "''"})

LeafForm = Literal["same", "tags", "numbers"]


def linearize(tree: Tree, leaves: LeafForm = "same") -> str:
    """Write a tree as tokens with blanks between, without its words.

    Args:
        tree: any.
        leaves: what stands for a word that is no punctuation: the ``same`` XX for all, its tag,
            or its number, counted from 1 with punctuation.
    """
    tokens: list[str] = []
    rows = zip(tree.leaves, opening(tree), closing(tree), strict=True)
    for number, (leaf, before, behind) in enumerate(rows, start=1):
        tokens += [f"({label}" for label in before]
        tokens.append(_token(leaf, number, leaves))
        tokens += [f"){label}" for label in behind]
    return " ".join(tokens)


def _token(leaf: Leaf, number: int, leaves: LeafForm) -> str:
    if leaves == "tags" or leaf.tag in PUNCTUATION:
        return leaf.tag
    return str(number) if leaves == "numbers" else ANY_TAG
