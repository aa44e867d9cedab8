"""From words to trees: leaves, what a model wrote for them, and a tree that needs no model."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.trees.cleaning import TRACE
from dragoman.trees.linearize import ANY_TAG, PUNCTUATION
from dragoman.trees.repair import is_leaf, repair
from dragoman.trees.tree import Bracket, Leaf, Tree

_ESCAPED = {"(": "-LRB-", ")": "-RRB-", "{": "-LCB-", "}": "-RCB-"}
_PUNCTUATION = {
    **dict.fromkeys((",",), ","),
    **dict.fromkeys((".", "?", "!"), "."),
    **dict.fromkeys((":", ";", "-", "--", "..."), ":"),
    **dict.fromkeys(("``", "`"), "``"),
    **dict.fromkeys(("''", "'", '"'), "''"),
}


def leaves_of(words: Sequence[str]) -> tuple[Leaf, ...]:
    """Make leaves of words: punctuation with its tag, all else with the tag ``XX``.

    Args:
        words: as the treebank cuts them (``do n't``, ``its ,``); a parenthesis alone becomes
            ``-LRB-`` or ``-RRB-``, and so does one inside a word.

    Raises:
        ValueError: a word is empty or holds white space.
    """
    return tuple(Leaf(_PUNCTUATION.get(word, ANY_TAG), escaped(word)) for word in words)


def escaped(word: str) -> str:
    """Write a word as the treebank does, without parentheses; brackets and braces stay in words."""
    if word in _ESCAPED:
        return _ESCAPED[word]
    return word.replace("(", _ESCAPED["("]).replace(")", _ESCAPED[")"])


@dataclass(frozen=True, slots=True)
class Parsed:
    """What became of a sentence.

    Args:
        tree: over all of its words; None for a blank sentence.
        tokens: what a model wrote for it.
        faults: what was wrong with that, see ``Repaired``; nothing if it was valid.
    """

    tree: Tree | None
    tokens: str
    faults: Counter[str]


def restore(sentence: str, tokens: str) -> Parsed:
    """Put the words of a sentence and the tokens that a model wrote for it together.

    Args:
        sentence: words with white space between, cut as the treebank cuts them.
        tokens: with blanks between; any text. Tags, but no numbers, are kept where there are as
            many as words; those of punctuation come from the words all the same.
    """
    leaves = leaves_of(sentence.split())
    if not leaves:
        return Parsed(None, tokens, Counter())
    written = tokens.split()
    tags = [ANY_TAG if token.isdecimal() else token for token in written if is_leaf(token)]
    if len(tags) == len(leaves):
        leaves = tuple(
            replace(leaf, tag=tag) if leaf.tag == ANY_TAG else leaf
            for leaf, tag in zip(leaves, tags, strict=True)
        )
    found = repair(written, leaves)
    return Parsed(found.tree, tokens, found.faults)


def with_tags_of(tree: Tree, gold: Tree) -> Tree:
    """Give a tree the tags of another one over the same words; as it is if the words differ.

    Traces of the other one do not count as words.
    """
    leaves = tuple(leaf for leaf in gold.leaves if leaf.tag != TRACE)
    same = tree.words == tuple(leaf.word for leaf in leaves)
    return Tree(leaves, tree.brackets) if same else tree


def right_branching(leaves: Sequence[Leaf]) -> Tree:
    """Make the tree in which each word opens a bracket over all that follows.

    It needs no learning, and English mostly branches so. The outermost bracket is an S, all others
    are VP, which of all labels branches most to the right; punctuation opens none.

    Raises:
        ValueError: there are no leaves.
    """
    starts = [number for number, leaf in enumerate(leaves) if leaf.tag not in PUNCTUATION]
    brackets = [Bracket("S", 0, len(leaves))] if leaves else []
    brackets += [Bracket("VP", start, len(leaves)) for start in starts[1:]]
    return Tree(tuple(leaves), tuple(brackets))
