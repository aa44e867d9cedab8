"""One pass through the pairs of a corpus, all families of faults at once.

Memory is bounded but for 16 bytes a pair and kind of copy (``FirstSeen``) and 8 bytes a fault. What
is usual is learnt from the first ``HEAD`` pairs, which are held.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from dragoman.data.check.alignment import Alignment, Slip
from dragoman.data.check.characters import CharacterTable
from dragoman.data.check.chunk import Chunk, make_chunk
from dragoman.data.check.cleaned import mend_chunk
from dragoman.data.check.copies import Duplicates, find_copies
from dragoman.data.check.coverage import Coverage
from dragoman.data.check.finding import Findings, Side
from dragoman.data.check.lengths import find_odd_lengths
from dragoman.data.check.numbers import find_differing_addresses, find_differing_numbers
from dragoman.data.check.overlap import KnownTexts, find_overlap
from dragoman.data.check.profile import Profile, SideProfile, profile_of
from dragoman.data.check.reading import Notes, read_on
from dragoman.data.check.report import Report, SetReport, SideSizes
from dragoman.data.check.scripts import find_foreign_scripts
from dragoman.data.check.visible import find_blank, find_unreadable
from dragoman.data.corpus import Corpus, Pair, corpus_name
from dragoman.tokenization import Tokenizer

HEAD = 50_000  # pairs that show what is usual
CHUNK = 5_000  # pairs looked at together


def check(
    train: Corpus,
    *,
    validation: Corpus | None = None,
    test: Corpus | None = None,
    tokenizers: Sequence[Tokenizer] = (),
    samples: int = 3,
    name: str = "train",
) -> Report:
    """Look for every kind of fault in ``KINDS``.

    Args:
        train: is read once; a pipe will do if it is alone.
        validation: is read twice, like ``test``.
        test: both are searched for what they share with each other and with ``train``.
        tokenizers: one for both sides, or two; coverage is measured with them.
        samples: how many pairs of each kind to show.
        name: what the report calls ``train``.

    Raises:
        DataError: a file cannot be read at all. Faults inside files are findings instead.
    """
    table = CharacterTable()
    rest = [(n, c) for n, c in (("validation", validation), ("test", test)) if c is not None]
    held_out = [_known(called, corpus, table) for called, corpus in rest]
    learnt = KnownTexts(name, only=held_out)
    reports = [_Check(name, train, table, tokenizers, samples).run(held_out, learnt)]
    for called, corpus in rest:
        others = [learnt, *(known for known in held_out if known.name != called)]
        reports.append(_Check(called, corpus, table, tokenizers, samples).run(others))
    return Report(sets=tuple(reports))


def chunks_of(pairs: Iterable[Pair], table: CharacterTable) -> tuple[Profile, Iterator[Chunk]]:
    """Cut pairs into chunks, and say what is usual in the first of them."""
    stream = iter(pairs)
    parts = iter(lambda: list(islice(stream, CHUNK)), [])
    head = [make_chunk(part, table) for part in islice(parts, HEAD // CHUNK)]
    rest = (make_chunk(part, table) for part in parts)
    usual = head or [make_chunk([Pair(1, "", "")], table)]  # an empty corpus has no habits
    return profile_of(usual), chain(_emptying(head), rest)


def _emptying(head: list[Chunk]) -> Iterator[Chunk]:
    head.reverse()
    while head:
        yield head.pop()


def _known(name: str, corpus: Corpus, table: CharacterTable) -> KnownTexts:
    """Remember the texts of a held-out set."""
    known = KnownTexts(name)
    profile, chunks = chunks_of(read_on(corpus, Notes()), table)
    for chunk in chunks:
        known.keep(chunk, mend_chunk(chunk, profile, Findings(0)))
    return known


@dataclass(slots=True)
class _Check:
    """The pass through one set."""

    name: str
    corpus: Corpus
    table: CharacterTable
    tokenizers: Sequence[Tokenizer]
    samples: int
    notes: Notes = field(default_factory=Notes)
    pairs: int = 0
    readable: int = 0  # with text on both sides

    def run(self, others: Sequence[KnownTexts], learnt: KnownTexts | None = None) -> SetReport:
        """Read and look.

        Args:
            others: sets that should share nothing with this one.
            learnt: remembers what the others have of this one.
        """
        found, duplicates = Findings(self.samples), Duplicates()
        profile, chunks = chunks_of(read_on(self.corpus, self.notes), self.table)
        alignment = Alignment(profile)
        coverage = Coverage(self.tokenizers[0], self.tokenizers[-1]) if self.tokenizers else None
        totals: dict[Side, _Totals] = {"source": _Totals(), "target": _Totals()}
        for chunk in chunks:
            self._count(chunk, totals)
            find_unreadable(chunk, found)
            find_blank(chunk, found)
            mended = mend_chunk(chunk, profile, found)
            find_foreign_scripts(chunk, profile, self.table.scripts, found)
            find_odd_lengths(chunk, profile, found)
            find_differing_numbers(chunk, found)
            find_differing_addresses(chunk, found)
            find_copies(chunk, mended, found)
            duplicates.look(chunk, mended, found)
            find_overlap(chunk, mended, others, found)
            if learnt is not None and others:
                learnt.keep(chunk, mended)
            alignment.look(chunk)
            if coverage is not None:
                coverage.look(chunk, mended, found)
        alignment.finish()
        self._note_files(alignment, found)
        return self._report(profile, totals, coverage, found)

    def _count(self, chunk: Chunk, totals: "dict[Side, _Totals]") -> None:
        self.pairs += len(chunk)
        self.readable += int((~(chunk.source.blank() | chunk.target.blank())).sum())
        for side, view in chunk.sides():
            totals[side].characters += int(view.lengths.sum())
            totals[side].longest = max(totals[side].longest, int(view.lengths.max()))
            for script, letters in zip(self.table.scripts, view.letters.sum(0), strict=False):
                totals[side].letters[script] = totals[side].letters.get(script, 0) + int(letters)

    def _note_files(self, alignment: Alignment, found: Findings) -> None:
        """Note what concerns the files or many pairs at once."""
        if not self.readable:
            found.add("no-pairs", 1, "", f"{self.pairs} pairs, all blank on a side", "", "")
        if self.notes.broken:
            found.add("unreadable", self.pairs + 1, "", self.notes.broken, "", "")
        for number, columns, row in self.notes.rows:
            found.add("columns", number, "", f"columns: {columns}, expected 2", row, "")
        lines = self.notes.lines
        if lines.get("source") != lines.get("target") and not self.notes.broken:
            line, detail = _unequal(lines["source"], lines["target"], alignment)
            found.add("unequal-sides", line, "", detail, "", "")
        wanted = {slip.start for slip in alignment.slips[: self.samples]}
        texts = _texts_at(self.corpus, wanted) if wanted else {}
        for slip in alignment.slips:
            pair = texts.get(slip.start, Pair(slip.start, "", ""))
            for line in range(slip.start, slip.end + 1):
                found.add("misaligned", line, "", _slipped(slip), pair.source, pair.target)

    def _report(
        self,
        profile: Profile,
        totals: "dict[Side, _Totals]",
        coverage: Coverage | None,
        found: Findings,
    ) -> SetReport:
        shares: dict[Side, float] = coverage.shares() if coverage is not None else {}
        return SetReport(
            name=self.name,
            corpus=corpus_name(self.corpus),
            pairs=self.pairs,
            source=totals["source"].sizes(profile.source, shares.get("source")),
            target=totals["target"].sizes(profile.target, shares.get("target")),
            notes=_remarks(self.notes),
            findings=found.all(),
        )


@dataclass(slots=True)
class _Totals:
    characters: int = 0
    longest: int = 0
    letters: dict[str, int] = field(default_factory=dict[str, int])

    def sizes(self, usual: SideProfile, uncovered: float | None) -> SideSizes:
        """Sum up one side."""
        letters = sorted(self.letters.items(), key=lambda item: -item[1])
        whole = max(1, sum(self.letters.values()))
        return SideSizes(
            characters=self.characters,
            longest=self.longest,
            scripts={name: count / whole for name, count in letters if count},
            form=usual.form,
            uncovered=uncovered,
        )


def _unequal(sources: int, targets: int, alignment: Alignment) -> tuple[int, str]:
    """Say which line the fault of unequal sides seems to begin at, and why."""
    counts = f"source {sources:,} lines, target {targets:,}"
    # A line too many in the target moves the translations that follow it down.
    direction = 1 if targets > sources else -1
    starts = [slip.start for slip in alignment.slips if slip.shift * direction > 0]
    starts += [start for shift in (1, 2, 3) if (start := alignment.last_run(shift * direction))]
    if starts:
        return min(starts), f"{counts}; the sides seem to slip from about line {min(starts):,}"
    at = min(sources, targets) + 1
    return at, f"{counts}; no slip was seen, so lines may be missing at the end"


def _slipped(slip: Slip) -> str:
    lines = "one line" if abs(slip.shift) == 1 else f"{abs(slip.shift)} lines"
    where = "further down" if slip.shift > 0 else "further up"
    return f"to line {slip.end:,}: the translations seem to stand {lines} {where}"


def _texts_at(corpus: Corpus, numbers: set[int]) -> dict[int, Pair]:
    """Read a few pairs again."""
    found: dict[int, Pair] = {}
    for pair in read_on(corpus, Notes()):
        if pair.number in numbers:
            found[pair.number] = pair
            if len(found) == len(numbers):
                break
    return found


def _remarks(notes: Notes) -> tuple[str, ...]:
    marked = [f"{name}: begins with a byte-order mark, which is dropped" for name in notes.marked]
    returns = [
        f"{name}: {count:,} lines end in CRLF, which is no part of them"
        for name, count in notes.carriage_returns.items()
        if count
    ]
    return (*marked, *returns)
