"""Text to ids on disk: read as a stream, encoded by all processors, taken up where it broke off."""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.data.corpus import Pair
from dragoman.data.lengths import ADDED_SYMBOLS, LengthReport, LengthRule, Origin, apply_length_rule
from dragoman.data.pair_store import PairStore, PairStoreWriter, open_pair_store
from dragoman.data.training_text import TrainingText
from dragoman.errors import DataError, DragomanError
from dragoman.tokenization import Packed, Tokenizer, pack_all

PART = 5_000  # pairs encoded together
KEPT = 100  # parts written between two points that survive a crash


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthLimits:
    """What becomes of long pairs; see ``apply_length_rule``."""

    limit: int  # most tokens of a side, the added symbol included
    longest_alone: int | None
    rule: LengthRule

    def apply(
        self,
        lengths: tuple[NDArray[np.int64], NDArray[np.int64]],
        origin: Origin,
        *,
        more_follow: bool = False,
    ) -> LengthReport:
        """Decide about pairs by their numbers of ids, (N,) each; added symbols come on top.

        Raises:
            DataError: as ``apply_length_rule`` does.
        """
        return apply_length_rule(
            lengths[0] + ADDED_SYMBOLS,
            lengths[1] + ADDED_SYMBOLS,
            limit_source=self.limit,
            limit_target=self.limit,
            longest_alone=self.longest_alone,
            rule=self.rule,
            origin=origin,
            more_follow=more_follow,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """How text becomes ids.

    Args:
        tokenizers: one when the vocabulary is joint, otherwise of source and target.
        tag: id to put in front of every source: that of the target language, if it has one.
        limits: what becomes of long pairs.
        processes: how many work at once; 0 is as many as there are processors for this one.
        said: is told how many pairs have been prepared, now and then.
    """

    tokenizers: tuple[Tokenizer, ...]
    tag: int | None
    limits: LengthLimits
    processes: int = 0
    said: Callable[[int], None] = field(default=lambda _: None)

    def encode(self, pairs: Iterator[Pair]) -> Generator["Part"]:
        """Turn pairs into ids, some thousand at a time, long ones included.

        Raises:
            ValueError: a text holds half a surrogate pair.
            DragomanError: one of the processes has ended.
        """
        vocabularies = self.tokenizers[0], self.tokenizers[-1]
        processes = self.processes or _processors()
        for numbers, (source, target) in pack_all(_parts(pairs), vocabularies, processes=processes):
            tagged = source if self.tag is None else _tagged(source, self.tag)
            yield Part(np.array(numbers, np.int64), tagged, target)


class Part(NamedTuple):
    """Some pairs as ids."""

    numbers: NDArray[np.int64]  # of each pair, (N,)
    source: Packed
    target: Packed

    @property
    def lengths(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids of each source and of each target, (N,)."""
        return self.source.lengths.astype(np.int64), self.target.lengths.astype(np.int64)

    def choose(self, report: LengthReport) -> "Part":
        """Keep what the rule for long pairs keeps, cut where it says."""
        if report.kept.size == self.numbers.size and not report.truncated:
            return self
        return Part(
            self.numbers[report.kept],
            _chosen(self.source, report.kept, report.longest_source),
            _chosen(self.target, report.kept, report.longest_target),
        )


def prepare_pairs(
    text: TrainingText, folder: Path, key: str, preparation: Preparation
) -> PairStore:
    """Turn a corpus into ids on disk, unless they are there.

    Args:
        text: what to read.
        folder: of the store.
        key: what the ids depend on: the text, the vocabularies, the rules.
        preparation: how.

    Raises:
        DataError: the text cannot be read, or no pair is left.
        DragomanError: one of the processes has ended.
        OSError: the disk is full, or the folder cannot be written.
    """
    found = open_pair_store(folder, key)
    if found is not None:
        return found
    sizes = preparation.tokenizers[0].size, preparation.tokenizers[-1].size
    with PairStoreWriter(folder, key, sizes) as writer:
        try:
            _fill(writer, text, preparation)
        except DragomanError:
            raise
        except ValueError as error:  # half a surrogate pair, if a pair is at fault
            raise (text.locate() or error) from None
    store = open_pair_store(folder, key)
    if store is None:
        raise DataError(folder, "was changed while it was written", "give the same command again")
    return store


def _fill(writer: PairStoreWriter, text: TrainingText, preparation: Preparation) -> None:
    counts = {"dropped": 0, "truncated": 0, "alone": 0} | writer.lengths
    taken = writer.taken
    first: Part | None = None
    stream = text.pairs()
    for _ in islice(stream, taken):
        pass  # these are in the store
    with closing(preparation.encode(stream)) as parts:  # an error must not keep processes alive
        for number, part in enumerate(parts, start=1):
            first = first or part
            taken += part.numbers.size
            _add(writer, part, Origin(text.name, part.numbers.tolist()), preparation.limits, counts)
            if number % KEPT == 0:
                writer.keep(taken, counts)
                preparation.said(taken)
    if not writer.pairs and first is not None:  # says that all are too long
        preparation.limits.apply(first.lengths, Origin(text.name, first.numbers.tolist()))
    if not writer.pairs:
        raise DataError(text.name, "no pair is left to learn from", "see data.too_long")
    writer.keep(taken, counts)
    writer.finish({"lines": text.lines, "left_out": text.counts(), "lengths": counts})


def _add(
    writer: PairStoreWriter,
    part: Part,
    origin: Origin,
    limits: LengthLimits,
    counts: dict[str, int],
) -> None:
    """Write what the rule for long pairs keeps of a part, and count the rest."""
    report = limits.apply(part.lengths, origin, more_follow=True)
    for name in counts:
        counts[name] += getattr(report, name)
    kept = part.choose(report)
    writer.append(kept.source, kept.target, kept.numbers)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _parts(pairs: Iterator[Pair]) -> Iterator[tuple[list[int], list[list[str]]]]:
    while part := list(islice(pairs, PART)):
        numbers, sources, targets = zip(*part, strict=True)
        yield list(numbers), [list(sources), list(targets)]


def _tagged(packed: Packed, tag: int) -> Packed:
    starts = packed.lengths.cumsum() - packed.lengths
    return Packed(np.insert(packed.ids, starts, tag).astype(np.int32), packed.lengths + 1)


def _chosen(packed: Packed, kept: NDArray[np.int64], longest: int | None) -> Packed:
    starts = packed.lengths.astype(np.int64).cumsum() - packed.lengths
    lengths = packed.lengths[kept]
    if longest is not None:
        lengths = np.minimum(lengths, longest)
    ends = lengths.astype(np.int64).cumsum()
    shifts = np.repeat(starts[kept] - ends + lengths, lengths)
    places = np.arange(shifts.size) + shifts
    return Packed(packed.ids[places], lengths)
