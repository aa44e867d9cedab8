"""Who proposes pieces that a large model then judges: a small model, or copying.

A drafter belongs to one text. It is told what has been written, which only grows: by what it
proposed up to the first piece that was refused, and by another in place of that.

Shapes: G pieces proposed, V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from dragoman.decoding.reading import Reader, Reading
from dragoman.nn import CausalLM

LONGEST = 3  # pieces that a place to copy from is looked up by

Choose = Callable[[Tensor], tuple[int, Tensor | None]]
"""Picks a piece by log-probabilities (1, V), which may be overwritten; gives the distribution (V,)
that it was drawn from, or None when it is the likeliest and certain to be picked."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Pieces that may come next.

    Args:
        pieces: ids, G of them; an end symbol stands last or nowhere.
        chances: q, the distribution that each was drawn from, (G, V), float64 on the CPU; None
            when nothing else could have been proposed.
    """

    pieces: tuple[int, ...] = ()
    chances: Tensor | None = None


class Drafter(Protocol):
    """Proposes how one text goes on."""

    def propose(self, written: Sequence[int], most: int, choose: Choose) -> Proposal:
        """Say what may come after ``written`` (without start symbol or prompt), 0 to ``most``."""
        ...


class Drafts(Protocol):
    """Makes a drafter for each text."""

    def begin(self, source: Sequence[int], opening: Sequence[int]) -> Drafter:
        """Begin a text.

        Args:
            source: what is translated, its end symbol included; empty without a source.
            opening: what stands before the first piece: the start symbol, and then a prompt.
        """
        ...


@dataclass(slots=True)
class ModelDrafter:
    """A small model that writes the same text.

    Args:
        reading: has read all but the last piece of ``opening``.
        opening: the start symbol, and then a prompt.
        end: id of the end symbol.
        known: what has been read.
    """

    reading: Reading
    opening: tuple[int, ...]
    end: int
    known: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """Note what has been read."""
        self.known = list(self.opening[:-1])

    def propose(self, written: Sequence[int], most: int, choose: Choose) -> Proposal:
        """Read what is new, then write on alone, up to an end symbol or its last position."""
        text = [*self.opening, *written]
        shared, longest = 0, min(len(self.known), len(text) - 1)
        while shared < longest and self.known[shared] == text[shared]:
            shared += 1
        reading, new, known = self.reading.cut(shared), text[shared:], text[:shared]
        pieces: list[int] = []
        chances: list[Tensor] = []
        while len(pieces) < most and len(known) + len(new) <= (reading.most or 1 << 30):
            log_probs, reading = reading.read(new)
            known += new
            piece, chance = choose(log_probs[-1:])
            pieces.append(piece)
            chances += [] if chance is None else [chance]
            if piece == self.end:
                break
            new = [piece]
        self.reading, self.known = reading, known
        return Proposal(tuple(pieces), torch.stack(chances) if chances else None)


@dataclass(frozen=True, slots=True)
class ModelDrafts:
    """Drafts by a model of the same vocabularies; see ``Drafts``.

    Args:
        reader: of a model that passes ``check_reading``.
        end: id of the end symbol.
    """

    reader: Reader
    end: int

    def begin(self, source: Sequence[int], opening: Sequence[int]) -> Drafter:
        """Begin to read; nothing is proposed for what is longer than the positions of the model."""
        model = self.reader.model
        if isinstance(model, CausalLM):
            most, length = model.max_length, len(opening)
        else:
            most, length = model.max_source_length, len(source)
        if most is not None and length > most:
            return NoDrafter()
        return ModelDrafter(self.reader.begin(source, opening), tuple(opening), self.end)


class NoDrafter:
    """Proposes nothing."""

    def propose(self, written: Sequence[int], most: int, choose: Choose) -> Proposal:
        """Leave all to the large model."""
        return Proposal()


@dataclass(slots=True)
class CopyDrafter:
    """Copies what followed the last pieces where they came before, in the source or the text.

    After Yang et al. 2023 (arXiv 2304.04487). Names, numbers and addresses are what a translation
    copies; the model writes their first piece itself.

    Args:
        before: the source without its end symbol, or the prompt.
        text: that, and what has been written.
        places: where the first piece stands that follows each run of at most ``LONGEST`` pieces.
    """

    before: tuple[int, ...]
    text: list[int] = field(init=False, default_factory=list[int])
    places: dict[tuple[int, ...], int] = field(init=False)

    def __post_init__(self) -> None:
        """Look through what stands there already."""
        self.places = {}
        for piece in self.before:
            self._add(piece)

    def propose(self, written: Sequence[int], most: int, choose: Choose) -> Proposal:
        """Look up the longest end of what was written, of at most ``LONGEST`` pieces."""
        for piece in written[len(self.text) - len(self.before) :]:
            self._add(piece)
        for length in range(min(LONGEST, len(written)), 0, -1):
            place = self.places.get(tuple(self.text[-length:]))
            if place is not None:
                return Proposal(tuple(self.text[place : place + most]))
        return Proposal()

    def _add(self, piece: int) -> None:
        place = len(self.text)
        for length in range(1, min(LONGEST, place) + 1):
            self.places.setdefault(tuple(self.text[place - length :]), place)
        self.text.append(piece)


@dataclass(frozen=True, slots=True)
class CopyDrafts:
    """Drafts by copying, for models with one vocabulary on both sides; see ``Drafts``.

    Args:
        around: how many symbols stand before a source and after it; nobody copies them.
    """

    around: tuple[int, int] = (0, 1)

    def begin(self, source: Sequence[int], opening: Sequence[int]) -> Drafter:
        """Take the source without its end symbol, or the prompt without its start symbol."""
        before, after = self.around
        return CopyDrafter((*source[before : max(before, len(source) - after)], *opening[1:]))
