"""One pass through the pairs of a corpus, all families of faults at once.

Memory is bounded but for 16 bytes a pair and kind of copy (``FirstSeen``) and 8 bytes a fault. What
is usual is learnt from the first ``HEAD`` pairs, which are held.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.data.check.alignment import Alignment, Slip
from dragoman.data.check.characters import CharacterTable
from dragoman.data.check.chunk import Chunk
from dragoman.data.check.coverage import Coverage
from dragoman.data.check.finding import Findings, Side
from dragoman.data.check.inspector import Inspector
from dragoman.data.check.languages import Expected, Identifier, Languages, load_identifier
from dragoman.data.check.overlap import KnownTexts, known_texts
from dragoman.data.check.profile import Profile, SideProfile, chunks_of
from dragoman.data.check.reading import Notes, read_on
from dragoman.data.check.report import Report, SetReport, SideSizes
from dragoman.data.corpus import Corpus, Pair, corpus_name
from dragoman.errors import MissingExtraError
from dragoman.tokenization import Tokenizer

_NO_IDENTIFIER = "wrong-language was not looked for; it needs: pip install 'dragoman[language]'"


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
    rest = [(n, c) for n, c in (("validation", validation), ("test", test)) if c is not None]
    return check_sets([(name, train)], rest, tokenizers=tokenizers, samples=samples)


def check_sets(
    train: Sequence[tuple[str, Corpus]],
    held_out: Sequence[tuple[str, Corpus]],
    *,
    tokenizers: Sequence[Tokenizer] = (),
    samples: int = 3,
) -> Report:
    """Look for every kind of fault in several sets, as ``check`` does in one of each.

    Args:
        train: each set that is learned from, with what the report calls it.
        held_out: each set that is not; all are searched for what they share with any other.
        tokenizers: one for both sides, or two.
        samples: how many pairs of each kind to show.

    Raises:
        DataError: a file cannot be read at all.
    """
    table, identify = CharacterTable(), _identifier()
    known = [known_texts(called, read_on(corpus, Notes()), table) for called, corpus in held_out]
    kept = [(corpus, texts) for (_, corpus), texts in zip(held_out, known, strict=True)]
    reports: list[SetReport] = []
    for called, corpus in train:
        others = [texts for other, texts in kept[: len(held_out)] if _may_share(corpus, other)]
        own = KnownTexts(called, only=others)
        kept.append((corpus, own))
        looked = _Check(called, corpus, table, tokenizers, samples, identify)
        reports.append(looked.run(others, own))
    learnt = [*kept[len(held_out) :], *kept[: len(held_out)]]  # what was learnt from is named first
    for called, corpus in held_out:
        others = [
            texts for other, texts in learnt if texts.name != called and _may_share(corpus, other)
        ]
        looked = _Check(called, corpus, table, tokenizers, samples, identify)
        reports.append(looked.run(others))
    return Report(sets=tuple(reports))


def _may_share(one: Corpus, other: Corpus) -> bool:
    """Say whether a text in both is amiss; into another language it may be."""
    languages = one.target_language, other.target_language
    return None in languages or languages[0] == languages[1]


def _identifier() -> Identifier | None:
    try:
        return load_identifier()
    except MissingExtraError:
        return None


@dataclass(slots=True)
class _Check:
    """The pass through one set."""

    name: str
    corpus: Corpus
    table: CharacterTable
    tokenizers: Sequence[Tokenizer]
    samples: int
    identify: Identifier | None
    notes: Notes = field(default_factory=Notes)
    pairs: int = 0
    readable: int = 0  # with text on both sides

    def run(self, others: Sequence[KnownTexts], learnt: KnownTexts | None = None) -> SetReport:
        """Read and look.

        Args:
            others: sets that should share nothing with this one.
            learnt: remembers what the others have of this one.
        """
        found = Findings(self.samples)
        profile, chunks = chunks_of(read_on(self.corpus, self.notes), self.table)
        spoken = self.corpus.source_language, self.corpus.target_language
        languages = Languages(self.identify, profile, spoken) if self.identify else None
        inspector = Inspector(profile, self.table, others=others, languages=languages)
        alignment = Alignment(profile)
        coverage = Coverage(self.tokenizers[0], self.tokenizers[-1]) if self.tokenizers else None
        totals: dict[Side, _Totals] = {"source": _Totals(), "target": _Totals()}
        for chunk in chunks:
            self._count(chunk, totals)
            mended = inspector.look(chunk, found)
            if learnt is not None and others:
                learnt.keep(chunk, mended)
            alignment.look(chunk)
            if coverage is not None:
                coverage.look(chunk, mended, found)
        alignment.finish()
        self._note_files(alignment, found)
        return self._report(profile, totals, coverage, languages, found)

    def _count(self, chunk: Chunk, totals: "dict[Side, _Totals]") -> None:
        self.pairs += len(chunk)
        self.readable += int((~chunk.blank()).sum())
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
        for number, problem, row in self.notes.rows:
            found.add("columns", number, "", problem, row, "")
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
        languages: Languages | None,
        found: Findings,
    ) -> SetReport:
        shares: dict[Side, float] = coverage.shares() if coverage is not None else {}
        return SetReport(
            name=self.name,
            corpus=corpus_name(self.corpus),
            pairs=self.pairs,
            source=totals["source"].sizes(
                profile.source, shares.get("source"), _name(languages and languages.source)
            ),
            target=totals["target"].sizes(
                profile.target, shares.get("target"), _name(languages and languages.target)
            ),
            notes=(*_remarks(self.notes), *([_NO_IDENTIFIER] if languages is None else [])),
            findings=found.all(),
        )


@dataclass(slots=True)
class _Totals:
    characters: int = 0
    longest: int = 0
    letters: dict[str, int] = field(default_factory=dict[str, int])

    def sizes(self, usual: SideProfile, uncovered: float | None, language: str | None) -> SideSizes:
        """Sum up one side."""
        letters = sorted(self.letters.items(), key=lambda item: -item[1])
        whole = max(1, sum(self.letters.values()))
        return SideSizes(
            characters=self.characters,
            longest=self.longest,
            scripts={name: count / whole for name, count in letters if count},
            form=usual.form,
            uncovered=uncovered,
            language=language,
        )


def _name(expected: Expected | None) -> str | None:
    return None if expected is None else expected.name


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
    counts = ", ".join(f"{what} {count:,}" for what, count in notes.left_out.items())
    rules = [f"left out by the rules of the format: {counts}"] if counts else []
    return (*marked, *returns, *rules, *notes.remarks)
