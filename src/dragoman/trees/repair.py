"""Any sequence of tokens as a tree over given words: what a model wrote, made whole.

A model that writes brackets one by one may leave some open, close others twice, or lose count of
the words. None of that costs the sentence: a valid sequence becomes its tree, and any other the
tree that these rules make of it. Words come from the sentence alone, never from the model.

- ``(X`` opens a bracket, ``)X`` closes the innermost open X and what is open inside of it, ``)``
  the innermost; one that closes nothing is ignored.
- Any other token stands for a word. When there are too few or too many, those of the sequence and
  those of the sentence are laid side by side with the fewest edits, punctuation on its like and
  numbers on the words they name, so that a word passed over does not shift all behind it. A word
  without a token goes with the next one, or with the last token when none is left; a token without
  a word goes out.
- At the end all closes. A bracket without words goes out.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.trees.linearize import PUNCTUATION
from dragoman.trees.tree import Growing, Leaf, Tree

_PARENTHESES = frozenset("()")
_MOST_COMPARED = 4_000_000  # tokens times words; beyond, words are counted off from the left


@dataclass(frozen=True, slots=True)
class Repaired:
    """A tree, and what was wrong with the tokens it was made of.

    Args:
        tree: over the words given.
        faults: how often each of ``unclosed``, ``unopened``, ``crossed`` (a bracket that closed
            with others open inside), ``empty``, ``words missing`` and ``words surplus``; nothing if
            the tokens were a valid tree over as many words.
    """

    tree: Tree
    faults: Counter[str]

    @property
    def valid(self) -> bool:
        """Whether there was nothing to repair."""
        return not self.faults


def is_leaf(token: str) -> bool:
    """Say whether a token stands for a word."""
    return _PARENTHESES.isdisjoint(token)


def repair(tokens: Sequence[str], leaves: Sequence[Leaf]) -> Repaired:
    """Make a tree of tokens.

    Takes time in proportion to the tokens, times the number of words when that is wrong.

    Args:
        tokens: as ``linearize`` writes them, or anything else.
        leaves: the sentence, at least one word; what the tokens say of tags is only used to find
            out which word is which.

    Raises:
        ValueError: there are no leaves.
    """
    if not leaves:
        raise ValueError("a tree needs a leaf")
    written = [token for token in tokens if is_leaf(token)]
    builder = _Builder()
    missing = len(leaves) - len(written)
    builder.faults["words missing"] += max(missing, 0)
    builder.faults["words surplus"] += max(-missing, 0)
    places = iter(_places(written, leaves))
    for token in tokens:
        if is_leaf(token):
            builder.growing.place = next(places)
        elif token[0] == "(" and token[1:] and is_leaf(token[1:]):
            builder.open(token[1:])
        elif token[0] == ")" and is_leaf(token[1:]):
            builder.close(token[1:])
        else:
            builder.faults["unopened"] += 1
    builder.growing.place = len(leaves)
    builder.close_all()
    return Repaired(builder.growing.tree(leaves), +builder.faults)


@dataclass
class _Builder:
    """A tree in the making, and what was wrong so far."""

    growing: Growing = field(default_factory=Growing)
    faults: Counter[str] = field(default_factory=Counter[str])
    labels: list[str] = field(default_factory=list[str])  # open, the innermost last
    count: Counter[str] = field(default_factory=Counter[str])  # of those

    def open(self, label: str) -> None:
        self.growing.start(label)
        self.labels.append(label)
        self.count[label] += 1

    def close(self, label: str) -> None:
        """Close the innermost bracket of a label; of any if that is empty."""
        if not (self.count[label] if label else self.labels):
            self.faults["unopened"] += 1
            return
        while label and self.labels[-1] != label:
            self.faults["crossed"] += 1
            self._close()
        self._close()

    def close_all(self) -> None:
        self.faults["unclosed"] += len(self.labels)
        while self.labels:
            self._close()

    def _close(self) -> None:
        self.count[self.labels.pop()] -= 1
        if not self.growing.stop():
            self.faults["empty"] += 1


def _places(tokens: Sequence[str], leaves: Sequence[Leaf]) -> list[int]:
    """Say for each token how many leaves there are up to it, itself included."""
    if len(tokens) * len(leaves) > _MOST_COMPARED or len(tokens) == len(leaves):
        places = [min(number, len(leaves)) for number in range(1, len(tokens) + 1)]
    else:
        places = _aligned(tokens, [leaf.tag if leaf.tag in PUNCTUATION else "" for leaf in leaves])
    if places:
        places[-1] = len(leaves)
    return places


def _aligned(tokens: Sequence[str], leaves: Sequence[str]) -> list[int]:
    """Lay tokens beside leaves with the fewest edits; of several ways the one that pairs late.

    Returns:
        For each token one past the leaf it was laid beside, or as many as before it if beside none.
    """
    wanted = [{leaf} if leaf else {str(number), ""} for number, leaf in enumerate(leaves, start=1)]
    named = [token if token in PUNCTUATION or token.isdecimal() else "" for token in tokens]
    rows = [list(range(len(leaves) + 1))]  # edits from the first i tokens to each start of leaves
    for i, token in enumerate(named, start=1):
        above, row = rows[-1], [i]
        for j, fitting in enumerate(wanted, start=1):
            row.append(min(above[j - 1] + (token not in fitting), above[j] + 1, row[j - 1] + 1))
        rows.append(row)
    places = [0] * len(tokens)
    i, j = len(tokens), len(leaves)
    while i:
        edits = rows[i][j]
        if j and edits == rows[i - 1][j - 1] + (named[i - 1] not in wanted[j - 1]):
            places[i - 1] = j
            i, j = i - 1, j - 1
        elif j and edits == rows[i][j - 1] + 1:
            j -= 1
        else:
            places[i - 1] = j
            i -= 1
    return places
