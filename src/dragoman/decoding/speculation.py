"""Speculative decoding: proposed pieces are read by the large model in one pass, and judged.

Leviathan et al. 2022 (arXiv 2211.17192). A pass that reads G + 1 pieces costs little more than one
that reads a single piece, because most of its time goes into fetching weights; it yields as many
pieces as were proposed rightly, and one more. Greedy text is that of ``search`` with a beam of one,
to the piece, unless it is called close: then the order of additions could have decided between two
pieces somewhere. Sampled texts come as often as those of ``sample``.

One text at a time: several would seldom go on by the same number of pieces.

Shapes: N pieces read in a pass, G of them proposed, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from dragoman.decoding.drafting import Choose, Drafter, Proposal
from dragoman.decoding.judging import Judged
from dragoman.decoding.reading import Reading


@dataclass(frozen=True, slots=True)
class DraftCounts:
    """What became of proposed pieces.

    Args:
        drafted: pieces proposed.
        accepted: those that stayed.
        passes: of the large model, reading a forced prefix or prompt included.
        pieces: that these passes wrote, end symbols included, forced ones not.
        repeated: texts decoded again without a draft because two pieces were close.
    """

    drafted: int = 0
    accepted: int = 0
    passes: int = 0
    pieces: int = 0
    repeated: int = 0

    def __add__(self, other: "DraftCounts") -> "DraftCounts":
        """Count both."""
        return DraftCounts(
            self.drafted + other.drafted,
            self.accepted + other.accepted,
            self.passes + other.passes,
            self.pieces + other.pieces,
            self.repeated + other.repeated,
        )

    @property
    def acceptance(self) -> float:
        """Share of the proposed pieces that stayed; 0 when there were none."""
        return self.accepted / self.drafted if self.drafted else 0.0

    @property
    def pieces_per_pass(self) -> float:
        """How far a pass brought a text; 1 is what plain decoding does."""
        return self.pieces / self.passes if self.passes else 0.0


class Judge(Protocol):
    """Decides about the pieces of one text; see ``judging``."""

    def choose(self, log_probs: Tensor) -> tuple[int, Tensor | None]:
        """Pick a piece to propose; see ``Choose``."""
        ...

    def force(self, log_probs: Tensor, pieces: Sequence[int]) -> Judged:
        """Take pieces that must come."""
        ...

    def judge(self, log_probs: Tensor, proposal: Proposal) -> Judged:
        """Decide what comes next."""
        ...

    def may_stop(self, piece: int) -> bool:
        """Say whether the text may be cut off after ``piece``, its last."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be written.

    Args:
        opening: stands before what is written: the start symbol, and then a prompt.
        prefix: pieces that must come first.
        limit: most pieces written, prefix and end symbol included; more than the prefix has.
        end: id of the end symbol.
        draft_length: most pieces proposed at once.
    """

    opening: tuple[int, ...]
    prefix: tuple[int, ...]
    limit: int
    end: int
    draft_length: int


@dataclass(slots=True)
class Draftwise:
    """A text written so far, and how.

    Args:
        pieces: a prefix and the end symbol included.
        log_probs: the model's own, one per piece.
        total: what the hypothesis has grown to.
        stuck: nothing may come after it, so it is no text.
        close: rounding could have decided otherwise somewhere.
        counts: of proposed pieces.
    """

    pieces: list[int] = field(default_factory=list[int])
    log_probs: list[float] = field(default_factory=list[float])
    total: float = 0.0
    stuck: bool = False
    close: bool = False
    counts: DraftCounts = field(default_factory=DraftCounts)

    def add(self, judged: Judged) -> None:
        """Go on with what was decided."""
        self.pieces += judged.pieces
        self.log_probs += judged.log_probs
        for growth in judged.growth:
            self.total += growth
        self.stuck |= judged.stuck
        self.close |= judged.close


@torch.inference_mode()
def write(reading: Reading, drafter: Drafter, judge: Judge, task: Task) -> Draftwise:
    """Write one text.

    Args:
        reading: has read all but the last piece of ``task.opening``; is used up.
        drafter: new.
        judge: new.
        task: what is to be written.

    Raises:
        ModelError: the model gives log-probabilities that are not numbers.
    """
    text = Draftwise(list(task.prefix))
    unread = [*task.opening[-1:], *task.prefix]
    kept = len(task.opening) - 1  # pieces read that are as written
    choose: Choose = judge.choose
    while True:
        most = min(task.draft_length, task.limit - len(text.pieces) - 1)
        proposal = drafter.propose(text.pieces, most, choose) if most > 0 else Proposal()
        log_probs, reading = reading.read([*unread, *proposal.pieces])
        place = len(unread) - 1  # of what follows the last piece written
        if task.prefix and not text.counts.passes:
            text = Draftwise()
            text.add(judge.force(log_probs[:place], task.prefix))
        judged = Judged() if text.stuck else judge.judge(log_probs[place:], proposal)
        text.add(judged)
        text.counts += DraftCounts(len(proposal.pieces), judged.accepted, 1, len(judged.pieces))
        if text.stuck or text.pieces[-1] == task.end or len(text.pieces) >= task.limit:
            return text
        kept += len(unread) + judged.accepted
        reading, unread = reading.cut(kept), text.pieces[-1:]
