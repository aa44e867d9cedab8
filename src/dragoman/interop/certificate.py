"""Proof that a model in another format is the same: both sides are run, and have to agree.

The other side is the program that the format is made for, not our own reader. What is compared:
the log-probabilities of all pieces along given targets, and the translations that greedy and beam
search find. A search takes the better of two candidates, so where those are closer than rounding
can tell, either may win: such a translation is counted apart, after our own search has been seen to
change when log-probabilities move by as little as the tolerance.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.errors import ModelError
from dragoman.interop.own_side import Own, OwnReader
from dragoman.interop.probes import probe_sources, probe_targets

Array = NDArray[np.float32]
TOLERANCE = 1e-4  # nats; for large log-probabilities, a part of them
SYMBOLS = 3  # most that a frame puts around a text
WRITTEN = 40  # pieces of a translation, at most
BEAMS = {"greedy": 1, "beam 4": 4}


class Side(Protocol):
    """A sequence-to-sequence model in one format, run by the program that it is for."""

    @property
    def name(self) -> str:
        """Program, version and kind of model."""
        ...

    @property
    def longest(self) -> int | None:
        """Pieces that a source or target may have, symbols included; None is no limit."""
        ...

    @property
    def patience(self) -> float | None:
        """Of ``BeamSearch``, with which ours ends as the search of the program does."""
        ...

    @property
    def banned(self) -> tuple[int, ...]:
        """Ids that its search never writes."""
        ...

    @property
    def reads_empty(self) -> bool:
        """Whether it runs the model on a source without pieces."""
        ...

    def log_probs(self, source: Sequence[int], target: Sequence[int]) -> Array:
        """Score bare ids: (T + 1, V), or (T + 1,) of the target's pieces and the end symbol."""
        ...

    def translate(self, source: Sequence[int], *, beam: int, max_length: int) -> list[int]:
        """Search for bare ids: the best log-probability a piece, the end symbol included."""
        ...


@runtime_checkable
class Reader(Protocol):
    """A model of one text in one format, run by the program that it is for."""

    @property
    def name(self) -> str:
        """Program, version and kind of model."""
        ...

    @property
    def longest(self) -> int | None:
        """Pieces that a text may have; None is no limit."""
        ...

    def outputs(self, ids: Sequence[int]) -> Array:
        """Give what the model computes for ids, symbols included: (L, V), (L, D) or (C,)."""
        ...


@runtime_checkable
class Layered(Protocol):
    """A side that shows what comes out of each part, by our names, in the order of computing."""

    def layers(self, source: Sequence[int], target: Sequence[int]) -> dict[str, Array]:
        """Give the output of each part, (positions, width)."""
        ...


@dataclass(frozen=True, slots=True)
class Searched:
    """How a search came out on both sides.

    Args:
        name: of the search.
        probes: how many.
        equal: with the same result.
        ties: of the others, those that need not be the same.
        reason: why they need not.
    """

    name: str
    probes: int
    equal: int
    ties: int
    reason: str = "hang on rounding"

    def line(self) -> str:
        """Say it for people."""
        hanging = f"; {self.ties} more {self.reason}" if self.ties else ""
        return f"{self.name}: the same for {self.equal} of {self.probes}{hanging}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was compared, and how it came out.

    Args:
        client: the other program.
        compared: which numbers: ``log-probabilities`` or ``outputs``.
        probes: how many sources or texts.
        largest: difference found.
        tolerance: difference allowed; infinite where numbers are kept in fewer bits.
        searches: how translations or continuations came out.
    """

    client: str
    compared: str
    probes: int
    largest: float
    tolerance: float
    searches: tuple[Searched, ...] = ()

    def lines(self) -> list[str]:
        """Say it for people."""
        allowed = f"at most {self.tolerance:.0e} is allowed"
        if math.isinf(self.tolerance):
            allowed = "written down only, as numbers are kept in fewer bits"
        return [
            f"compared with {self.client} on {self.probes} probes",
            f"{self.compared}: largest difference {self.largest:.1e}; {allowed}",
            *(searched.line() for searched in self.searches),
        ]

    def as_json(self) -> dict[str, Any]:  # Any: as JSON holds it
        """Give all of it for programs; a tolerance without end is null."""
        return asdict(self) | {"tolerance": None if math.isinf(self.tolerance) else self.tolerance}


def certify(
    bundle: Bundle, other: Side, *, exact: bool = True, tolerance: float = TOLERANCE
) -> Certificate:
    """Run a sequence-to-sequence model and its other form on probe sentences.

    Args:
        bundle: model and tokenizers.
        other: the same model elsewhere.
        exact: both must agree; otherwise differences are only written down, as for numbers in
            fewer bits.
        tolerance: of a log-probability in nats, or of a part of it when it is above 1.

    Raises:
        ModelError: they do not agree; names the first part of the model that differs, where the
            other program shows its parts.
    """
    own = Own(bundle, patience=other.patience, banned=other.banned)
    room = _room(own.longest, other.longest)
    sources = [ids for ids in probe_sources(bundle, room) if ids or other.reads_empty]
    targets = probe_targets(bundle, sources, room)
    largest = 0.0
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        theirs = other.log_probs(source, target)
        off = difference(own.log_probs(source, target, given=theirs.ndim == 1), theirs)
        largest = max(largest, off)
        if exact and off > tolerance:
            where = first_layer(own, other, source, target, tolerance)
            raise _refused(other.name, number, off, tolerance, f"log-probabilities{where}")
    searches = [_search(own, other, sources, name, exact, tolerance) for name in BEAMS]
    allowed = tolerance if exact else math.inf
    return Certificate(
        other.name, "log-probabilities", len(sources), largest, allowed, tuple(searches)
    )


def certify_reader(
    bundle: Bundle, other: Reader, *, exact: bool = True, tolerance: float = TOLERANCE
) -> Certificate:
    """Run a model of one text and its other form on probe texts; see ``certify``.

    Where the outputs are logits, the most probable piece is compared at every place.
    """
    own = OwnReader(bundle)
    texts = [own.framed(ids) for ids in probe_sources(bundle, _room(own.longest, other.longest))]
    texts = [ids for ids in texts if ids]
    largest, places, equal, ties = 0.0, 0, 0, 0
    for number, ids in enumerate(texts):
        ours, theirs = own.outputs(ids), other.outputs(ids)
        off = difference(ours, theirs)
        largest = max(largest, off)
        if exact and off > tolerance:
            raise _refused(other.name, number, off, tolerance, "outputs")
        if own.writes and ours.shape == theirs.shape:
            best = theirs.argmax(-1)
            same = ours.argmax(-1) == best
            behind = ours.max(-1) - np.take_along_axis(ours, best[:, None], -1)[:, 0]
            places, equal = places + len(ids), equal + int(same.sum())
            ties += int((~same & (behind <= 2 * tolerance * np.abs(ours).max())).sum())
    searches = (Searched("most probable next piece", places, equal, ties),) if own.writes else ()
    allowed = tolerance if exact else math.inf
    return Certificate(other.name, "outputs", len(texts), largest, allowed, searches)


def difference(ours: Array, theirs: Array) -> float:
    """Give the largest difference, relative above 1; infinite where shapes or infinities differ."""
    if ours.shape != theirs.shape:
        return math.inf
    with np.errstate(invalid="ignore"):
        off = np.abs(ours.astype(np.float64) - theirs) / np.maximum(1.0, np.abs(ours))
    off[ours == theirs] = 0.0  # infinities, too
    return float(np.nan_to_num(off, nan=math.inf).max(initial=0.0))


def first_layer(
    own: Own, other: Side, source: Sequence[int], target: Sequence[int], tolerance: float
) -> str:
    """Name the first part whose output differs, if the other program shows its parts."""
    if not isinstance(other, Layered):
        return ""
    ours = own.layers(source, target)
    for name, theirs in other.layers(source, target).items():
        if (off := difference(ours[name], theirs)) > tolerance:
            return f", first in {name} (by {off:.2g})"
    return ", in no part of the model by more"


def _search(
    own: Own,
    other: Side,
    sources: Sequence[Sequence[int]],
    name: str,
    exact: bool,
    tolerance: float,
) -> Searched:
    limit = min(WRITTEN, _room(own.longest, other.longest) or WRITTEN)
    found = own.translate_all(sources, beam=BEAMS[name], max_length=limit)
    equal = ties = 0
    for number, (source, ours) in enumerate(zip(sources, found, strict=True)):
        theirs = other.translate(source, beam=BEAMS[name], max_length=limit)
        if ours == theirs:
            equal += 1
        elif exact and own.undecided(source, beam=BEAMS[name], max_length=limit, noise=tolerance):
            ties += 1
        elif exact:
            raise ModelError(
                f"{other.name}: probe {number} is translated as {theirs} ({name}), by Dragoman as "
                f"{ours}; nothing was written"
            )
    return Searched(name, len(sources), equal, ties)


def _refused(name: str, probe: int, off: float, tolerance: float, what: str) -> ModelError:
    return ModelError(
        f"{name}: differs from Dragoman by {off:.2g} for probe {probe} in {what}; at most "
        f"{tolerance:.0e} is allowed; nothing was written"
    )


def _room(*limits: int | None) -> int | None:
    """Say how many bare pieces fit both sides: some places are kept for symbols."""
    given = [limit for limit in limits if limit is not None]
    return max(1, min(given) - SYMBOLS) if given else None
