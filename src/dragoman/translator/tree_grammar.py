"""What may come next in a tree over given words, so that a model writes valid ones only."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.trees import leaves_of
from dragoman.trees.linearize import PUNCTUATION
from dragoman.trees.repair import is_leaf

_MOST_OVER_ONE = 6  # brackets that may open before one word, so that a tree ends


@dataclass(frozen=True, slots=True)
class _State:
    """Words so far, and the open brackets with the word at which each opened, innermost last."""

    words: int
    open: tuple[tuple[str, int], ...]


class TreeGrammar:
    """Forbids what makes no tree over a sentence; see ``dragoman.decoding.Ban``.

    A bracket may open while words are left, and close once it has one; each word is written in its
    turn, by its number or a tag; the end comes when all is written and closed.

    Args:
        pieces: names of all ids of the target vocabulary.
        end: id of the end symbol.
        words: of the sentence.
    """

    def __init__(self, pieces: Sequence[str], end: int, words: Sequence[str]) -> None:
        self._names = [piece.removeprefix(" ") for piece in pieces]
        self._all = frozenset(range(len(pieces)))
        self._end = end
        self._opening = frozenset(
            number for number, name in enumerate(self._names) if name[:1] == "(" and name[1:]
        )
        self._ids = {name: number for number, name in enumerate(self._names)}
        tags = {n for n in self._names if n and is_leaf(n) and n[0] != "<" and not n.isdecimal()}
        self._leaves = [
            self._known({str(number), leaf.tag} | (tags - PUNCTUATION))
            for number, leaf in enumerate(leaves_of(words), start=1)
        ]
        self._states = [_State(0, ())]
        self._numbers = {self._states[0]: 0}

    @property
    def possible(self) -> bool:
        """Whether the vocabulary has a token for each word."""
        return bool(self._leaves) and all(self._leaves)

    def _known(self, names: set[str]) -> frozenset[int]:
        return frozenset(self._ids[name] for name in names if name in self._ids)

    def forbidden(self, state: int) -> Tensor:
        """Ids that may not come next, int64, on the CPU."""
        return torch.tensor(sorted(self._all - self._allowed(self._states[state])))

    def _allowed(self, state: _State) -> frozenset[int]:
        found: frozenset[int] = frozenset()
        if state.words < len(self._leaves):
            found |= self._leaves[state.words]
            if sum(start == state.words for _, start in state.open) < _MOST_OVER_ONE:
                found |= self._opening
        elif not state.open:
            found |= {self._end}
        if state.open and state.open[-1][1] < state.words:
            found |= self._known({f"){state.open[-1][0]}", ")"})
        return found

    def after(self, state: int, piece: int, *, forced: bool = False) -> int:
        """Read one piece; one that was forbidden changes nothing."""
        old, name = self._states[state], self._names[piece]
        if piece not in self._allowed(old) or piece == self._end:
            return state
        if name[0] == "(":
            new = _State(old.words, (*old.open, (name[1:], old.words)))
        elif name[0] == ")":
            new = _State(old.words, old.open[:-1])
        else:
            new = _State(old.words + 1, old.open)
        if new not in self._numbers:
            self._numbers[new] = len(self._states)
            self._states.append(new)
        return self._numbers[new]
