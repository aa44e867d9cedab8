"""Where one side has slipped: runs of pairs that fit a line further up or down better.

For each shift, a pair gains what its source fits the shifted target better than its own: by length
(how far the log ratio is from the corpus's median) and by anchors, the tokens both share: numbers
and beginnings of long words (names, cognates). Gains add up and never fall below zero (CUSUM; Page
1954, Biometrika 41): in aligned text the sum stays near zero, in a slipped run it climbs. A run is
reported when it passes ``THRESHOLD``; it began where the sum was zero last and ended at its top.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dragoman.data.check.characters import Mark
from dragoman.data.check.chunk import Chunk, SideView
from dragoman.data.check.profile import Profile, log_ratios

REACH = 3  # lines up and down
THRESHOLD = 25.0  # about that many nats of evidence
_DRIFT = 0.3  # taken off each gain, so that equal fits, as of headings, never add up
_WORST_FIT = 3.0  # a misfit of length beyond this says no more
_ANCHOR = 1.0  # worth of a shared token; at most three count
_MOST_ANCHORS = 3
_TOKEN = re.compile(r"[^\W\d]{4,}")
_NUMBER = re.compile(r"\d+")
_UNSPACED = 20  # characters a word on average, beyond which the script has no spaces
_SHORTEST = 4  # characters of a word that tells something
_PREFIX = 5  # letters in which cognates agree: nation|al, nation|ale

Anchors = set[str]


@dataclass(slots=True)
class Run:
    """A sum of gains under one shift."""

    total: float = 0.0
    start: int = 0  # number of its first pair
    top: float = 0.0
    end: int = 0  # number of the pair at the top


@dataclass(frozen=True, slots=True)
class Slip:
    """Pairs ``start`` to ``end`` whose source fits the target ``shift`` lines further on."""

    start: int
    end: int
    shift: int
    evidence: float


@dataclass(slots=True)
class _Waiting:
    """Pairs whose neighbours are not all there yet."""

    numbers: list[int] = field(default_factory=list[int])
    source_lengths: list[int] = field(default_factory=list[int])
    target_lengths: list[int] = field(default_factory=list[int])
    sources: list[Anchors] = field(default_factory=list[Anchors])
    targets: list[Anchors] = field(default_factory=list[Anchors])


class Alignment:
    """Watches all shifts at once.

    Args:
        profile: what lengths are usual.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._shifts = [shift for shift in range(-REACH, REACH + 1) if shift]
        self._runs = {shift: Run() for shift in self._shifts}
        self._waiting = _Waiting()
        self._context = 0  # of those waiting, how many have been judged
        self.slips: list[Slip] = []

    def look(self, chunk: Chunk) -> None:
        """Judge pairs as soon as their neighbours are known."""
        waiting = self._waiting
        waiting.numbers += chunk.numbers
        waiting.source_lengths += chunk.source.lengths.tolist()
        waiting.target_lengths += chunk.target.lengths.tolist()
        waiting.sources += _anchors(chunk.source)
        waiting.targets += _anchors(chunk.target)
        self._judge(len(waiting.numbers) - REACH)
        drop = max(0, len(waiting.numbers) - 2 * REACH)
        self._context = max(0, self._context - drop)
        for kept in (
            waiting.numbers,
            waiting.source_lengths,
            waiting.target_lengths,
            waiting.sources,
            waiting.targets,
        ):
            del kept[:drop]

    def finish(self) -> None:
        """Judge the last pairs and close all runs."""
        self._judge(len(self._waiting.numbers))
        for shift in self._shifts:
            self._close(shift)
        self.slips = _strongest(self.slips)

    def last_run(self, shift: int) -> int:
        """Give the pair where a run that lasts to the end may have begun, or 0."""
        run = self._runs[shift]
        return run.start if run.total > _WORST_FIT else 0

    def _judge(self, stop: int) -> None:
        start = self._context
        if stop <= start:
            return
        numbers = self._waiting.numbers
        for shift, gains in zip(self._shifts, self._gains(start, stop), strict=True):
            run = self._runs[shift]
            total, top = run.total, run.top
            for number, gain in zip(numbers[start:stop], gains.tolist(), strict=True):
                if total <= 0.0:
                    if gain <= 0.0:
                        continue
                    run.start, top = number, 0.0
                    total = 0.0
                total += gain
                if total > top:
                    top, run.end = total, number
                elif total <= 0.0 or total < top - THRESHOLD:
                    run.total, run.top = total, top
                    self._close(shift)
                    total = top = 0.0
            run.total, run.top = total, top
        self._context = stop

    def _close(self, shift: int) -> None:
        run = self._runs[shift]
        if run.top > THRESHOLD:
            self.slips.append(Slip(run.start, run.end, shift, run.top))
            run.top = 0.0

    def _gains(self, start: int, stop: int) -> list[NDArray[np.float64]]:
        """Say how much better pairs ``start`` to ``stop`` fit under each shift, (stop - start,)."""
        waiting = self._waiting
        source = np.asarray(waiting.source_lengths, np.int64)
        target = np.asarray(waiting.target_lengths, np.int64)
        own = self._misfit(source[start:stop], target[start:stop])
        shared = self._shared(start, stop, 0)
        gains: list[NDArray[np.float64]] = []
        for shift in self._shifts:
            low, high = max(start, -shift), min(stop, len(target) - shift)
            gain = np.full(stop - start, -1.0)
            if low < high:
                here = slice(low - start, high - start)
                other = self._misfit(source[low:high], target[low + shift : high + shift])
                gain[here] = own[here] - other - _DRIFT
                gain[here] += _ANCHOR * (self._shared(low, high, shift) - shared[here])
            gains.append(gain)
        return gains

    def _misfit(self, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.float64]:
        """Say how far lengths are from fitting, in spreads, from 0 to ``_WORST_FIT``."""
        away = np.abs(log_ratios(source, target) - self._profile.ratio) / self._profile.spread
        return np.minimum(away, _WORST_FIT)

    def _shared(self, start: int, stop: int, shift: int) -> NDArray[np.float64]:
        """Count anchors that sources share with the shifted targets, at most three each."""
        sources = self._waiting.sources[start:stop]
        targets = self._waiting.targets[start + shift : stop + shift]
        counts = [
            0 if a.isdisjoint(b) else len(a & b) for a, b in zip(sources, targets, strict=True)
        ]
        return np.minimum(np.asarray(counts, np.float64), _MOST_ANCHORS)


def _anchors(view: SideView) -> Iterator[Anchors]:
    numbers = (view.marks & int(Mark.DIGIT)).astype(bool).tolist()
    return map(anchors_of, view.texts, numbers)


def anchors_of(text: str, numbers: bool) -> Anchors:
    """List what a translation may share with a text: numbers and beginnings of long words.

    Args:
        text: of one side.
        numbers: whether it holds any.
    """
    lower = text.lower()
    words = lower.split()
    if len(text) > _UNSPACED * len(words):
        words = _TOKEN.findall(lower)
    found = {word[:_PREFIX] for word in words if len(word) >= _SHORTEST}
    if numbers:
        found.update(_NUMBER.findall(text))
    return found


def _strongest(slips: Sequence[Slip]) -> list[Slip]:
    """Of runs that overlap, keep the one with most evidence; in order of their starts."""
    kept: list[Slip] = []
    for slip in sorted(slips, key=lambda slip: -slip.evidence):
        if all(slip.end < other.start or slip.start > other.end for other in kept):
            kept.append(slip)
    return sorted(kept, key=lambda slip: slip.start)
