"""Trees as sequences that a translator can write (Vinyals et al. 2015, arXiv 1412.7449, section 2).

    (S (NP (PRP it)) (VP (VBZ works)) (. .))    becomes    (S (NP XX )NP (VP XX )VP . )S

A word becomes its tag, and every tag the same ``XX``, which that paper found better than tags.
Tags of punctuation stay: they tell what is left out of scores, and which word is which. A closing
bracket names what it closes.
"""

from dragoman.trees.tree import Tree, closing, opening

ANY_TAG = "XX"
PUNCTUATION = frozenset({",", ".", ":", "``", "''"})


def linearize(tree: Tree, *, tags: bool = False) -> str:
    """Write a tree as tokens with blanks between, without its words.

    Args:
        tree: its tags do not begin with a parenthesis, as no ``Leaf`` allows it.
        tags: write all tags as they are.
    """
    tokens: list[str] = []
    for leaf, before, behind in zip(tree.leaves, opening(tree), closing(tree), strict=True):
        tokens += [f"({label}" for label in before]
        tokens.append(leaf.tag if tags or leaf.tag in PUNCTUATION else ANY_TAG)
        tokens += [f"){label}" for label in behind]
    return " ".join(tokens)
