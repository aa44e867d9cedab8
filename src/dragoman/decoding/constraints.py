"""What may come next: a minimum length, repeated n-grams, banned phrases, rarer repetitions.

    log P'(v) = -inf                 for a piece v that may not come
                theta * log P(v)     for one that the hypothesis holds already
                log P(v)             for any other

Hypotheses grow by P', which is not made to sum to 1 again; what they report is P. A
log-probability is never above 0, so multiplying it by theta > 1 always makes a repetition rarer
(Keskar et al. 2019, arXiv 1909.05858, divide logits by it, which for negative ones does the
opposite).

A forced prefix is obeyed whatever stands here, but what it holds counts as having come.

Shapes: S sentences, R rows of hypotheses, T pieces written so far, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from dragoman.decoding.candidates import Candidates
from dragoman.decoding.hypothesis import Symbols, items
from dragoman.decoding.required import Needs
from dragoman.decoding.settings import BeamSearch


class Ban(Protocol):
    """Phrases that may not come, as a machine that reads a hypothesis piece by piece.

    Its states are numbers; before the first piece it is in state 0.
    """

    def forbidden(self, state: int) -> Tensor:
        """Ids that would complete a phrase, the end symbol if it would, int64, on the CPU."""
        ...

    def after(self, state: int, piece: int, *, forced: bool = False) -> int:
        """Read one piece; of a forced one no phrase is begun or gone on with."""
        ...


class BannedPhrases:
    """Bans sequences of ids; see ``Ban``. Text that can be cut in several ways needs them all.

    Args:
        phrases: ids in order, at least one each.

    Raises:
        ValueError: a phrase is empty.
    """

    def __init__(self, phrases: Sequence[Sequence[int]]) -> None:
        self._phrases = [tuple(phrase) for phrase in phrases]
        if not all(self._phrases):
            raise ValueError("phrases: one is empty")
        self._begun = {phrase[:end] for phrase in self._phrases for end in range(len(phrase))}
        self._begun.add(())
        self._states: list[tuple[int, ...]] = [()]
        self._numbers: dict[tuple[int, ...], int] = {(): 0}

    def forbidden(self, state: int) -> Tensor:
        """Last ids of the phrases of which the rest has just come."""
        past = self._states[state]
        last = {p[-1] for p in self._phrases if past[len(past) - len(p) + 1 :] == p[:-1]}
        return torch.tensor(sorted(last), dtype=torch.int64)

    def after(self, state: int, piece: int, *, forced: bool = False) -> int:
        """Keep the longest end of what has come that begins a phrase."""
        past = () if forced else (*self._states[state], piece)
        while past not in self._begun:
            past = past[1:]
        if past not in self._numbers:
            self._numbers[past] = len(self._states)
            self._states.append(past)
        return self._numbers[past]


@dataclass(frozen=True, slots=True)
class Guide:
    """What the open hypotheses hold and what that means for the next piece; a value.

    Args:
        config: of the search.
        symbols: ids treated apart.
        ban: phrases that may not come.
        never: ``symbols.banned``, on the device of the model.
        step: number of the next piece, from 1.
        written: pieces of each row, (R, T) on the CPU; (R, 0) where nobody asks for them.
        states: of the ban, one per row; none without it.
    """

    config: BeamSearch
    symbols: Symbols
    ban: Ban | None
    never: Tensor
    written: Tensor
    states: tuple[int, ...] = ()
    step: int = 1
    needs: Needs | None = None

    @classmethod
    def start(
        cls,
        config: BeamSearch,
        symbols: Symbols,
        ban: Ban | None,
        rows: int,
        device: torch.device,
        needs: Needs | None = None,
    ) -> "Guide":
        """Begin with rows that hold nothing."""
        never = torch.tensor(symbols.banned, dtype=torch.int64, device=device)
        written = torch.empty((rows, 0), dtype=torch.int64)
        states = (0,) * rows if ban is not None else ()
        return cls(config, symbols, ban, never, written, states, needs=needs)

    @property
    def rescales(self) -> bool:
        """Whether P' differs from P in more than what may not come."""
        return self.config.repetition_penalty != 1

    @property
    def remembers(self) -> bool:
        """Whether the pieces of hypotheses matter."""
        return self.rescales or self.config.no_repeat_ngram > 0 or self.config.groups > 1

    def adjust(self, log_probs: Tensor) -> Tensor:
        """Turn log P into log P', (R, V), in place."""
        device = log_probs.device
        if self.rescales and self.written.size(1):
            seen = self.written.to(device)
            known = log_probs.gather(1, seen)
            log_probs.scatter_(1, seen, known * self.config.repetition_penalty)
        log_probs.index_fill_(1, self.never, -math.inf)
        if self.step < self.config.min_length:
            log_probs[:, self.symbols.end] = -math.inf
        if self.config.no_repeat_ngram:
            rows, pieces = repeating(self.written, self.config.no_repeat_ngram)
            log_probs[rows.to(device), pieces.to(device)] = -math.inf
        if self.ban is not None:
            for row, state in enumerate(self.states):
                log_probs[row].index_fill_(0, self.ban.forbidden(state).to(device), -math.inf)
        return log_probs

    def may_stop(self, row: int, piece: int) -> bool:
        """Say whether a row and one piece more may be cut off there: it lacks nothing, no ban."""
        if self.needs is not None and not self.needs.met(row, piece):
            return False
        if self.ban is None:
            return True
        forbidden = self.ban.forbidden(self.ban.after(self.states[row], piece))
        return self.symbols.end not in items(forbidden)

    def follow(
        self, opened: Candidates, forced: Sequence[int], numbers: Sequence[int] = ()
    ) -> "Guide":
        """Go on with what is open.

        Args:
            opened: continues the rows.
            forced: how many pieces of each sentence must come.
            numbers: which sentences are left; not asked for where nothing is required.
        """
        needs = None if self.needs is None else self.needs.follow(opened, numbers)
        if not self.remembers and self.ban is None:
            return Guide(
                self.config, self.symbols, None, self.never, self.written, (), self.step + 1, needs
            )
        rows, pieces = opened.rows.flatten(), opened.pieces.flatten()
        written = torch.cat((self.written[rows], pieces[:, None]), dim=1)
        states: tuple[int, ...] = ()
        if self.ban is not None:
            width = opened.rows.size(1)
            pairs: list[tuple[int, int]] = list(zip(items(rows), items(pieces), strict=True))
            states = tuple(
                self.ban.after(self.states[row], piece, forced=self.step <= forced[place // width])
                for place, (row, piece) in enumerate(pairs)
            )
        return replace(self, written=written, states=states, step=self.step + 1, needs=needs)


def repeating(written: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Find the pieces that would make the last n pieces of a row a sequence that it has already.

    Args:
        written: pieces, (R, T).
        n: at least 1; with 1, every piece that has come.

    Returns:
        Rows and pieces, as many as there are finds.
    """
    rows, length = written.shape
    if length < n:
        nothing = torch.empty(0, dtype=torch.int64)
        return nothing, nothing
    windows = written.unfold(1, n, 1)  # (R, T - n + 1, n)
    begun = written[:, length - n + 1 :].view(rows, 1, n - 1)
    row, place = (windows[:, :, :-1] == begun).all(dim=2).nonzero(as_tuple=True)
    return row, windows[row, place, n - 1]
