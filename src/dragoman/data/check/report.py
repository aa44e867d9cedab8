"""What a check found, for people and for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.data.check.finding import Finding, Sample
from dragoman.data.check.profile import NormalForm

_WIDTH = 100  # characters of a sample shown


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSizes:
    """How much text one side holds."""

    characters: int
    longest: int  # characters
    scripts: dict[str, float]  # share of the letters, largest first
    form: NormalForm  # Unicode normal form of most texts
    uncovered: float | None = None  # share of the tokenizer's pieces; None without one
    language: str | None = None  # short code; None where nothing tells


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReport:
    """What was found in one corpus."""

    name: str  # "train", "validation", "test" or a file
    corpus: str  # its files
    pairs: int  # read, faulty ones included
    source: SideSizes
    target: SideSizes
    notes: tuple[str, ...]  # about the files, nothing to mend
    findings: tuple[Finding, ...]  # in the order of ``KINDS``

    @property
    def wrong(self) -> tuple[Finding, ...]:
        """What must be mended before training."""
        return tuple(f for f in self.findings if f.severity(self.pairs) == "wrong")

    def find(self, kind: str) -> Finding | None:
        """Give what was found of a kind."""
        return next((found for found in self.findings if found.kind.name == kind), None)

    def lines(self) -> Iterator[str]:
        """Write the report for people."""
        yield f"{self.name}: {self.corpus}: {self.pairs:,} pairs"
        for side, sizes in (("source", self.source), ("target", self.target)):
            yield f"  {side}: {_described(sizes)}"
        yield from (f"  {note}" for note in self.notes)
        if not self.findings:
            yield "  nothing found"
            return
        yield ""
        yield from self._table()
        for finding in self.findings:
            yield ""
            yield f"  {finding.kind.name}: {finding.kind.meaning}"
            for sample in finding.samples:
                yield from _shown(sample)

    def _table(self) -> Iterator[str]:
        yield f"  {'':10}  {'kind':<16}  {'pairs':>9}  {'share':>8}  first lines"
        for finding in self.findings:
            share = f"{finding.pairs / max(1, self.pairs):.3%}"
            lines = ", ".join(f"{line:,}" for line in finding.lines[:5])
            more = ", ..." if finding.pairs > 5 else ""
            yield (
                f"  {finding.severity(self.pairs):<10}  {finding.kind.name:<16}  "
                f"{finding.pairs:>9,}  {share:>8}  {lines}{more}"
            )

    def summary(self) -> dict[str, Any]:  # Any: JSON
        """Give the report as JSON holds it."""
        return {
            "name": self.name,
            "corpus": self.corpus,
            "pairs": self.pairs,
            "source": _plain_sizes(self.source),
            "target": _plain_sizes(self.target),
            "notes": list(self.notes),
            "findings": [_plain(finding, self.pairs) for finding in self.findings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found in all sets of a run, or in several files."""

    sets: tuple[SetReport, ...]

    @property
    def wrong(self) -> bool:
        """Whether anything must be mended before training."""
        return any(found.wrong for found in self.sets)

    def lines(self) -> Iterator[str]:
        """Write the report for people."""
        for found in self.sets:
            yield from found.lines()
            yield ""
        kinds = [f"{found.name}: {f.kind.name}" for found in self.sets for f in found.wrong]
        yield f"wrong: {', '.join(kinds)}" if kinds else "nothing that would make training wrong"

    def summary(self) -> dict[str, Any]:  # Any: JSON
        """Give the report as JSON holds it."""
        return {"wrong": self.wrong, "sets": [found.summary() for found in self.sets]}


def visible(text: str, width: int = _WIDTH) -> str:
    """Show what cannot be seen as ``<U+200B>``, bad bytes as ``<0xE9>``, and cut long texts.

    What is shown of a long text is around its first such character.
    """
    cut = text
    if len(text) > width:
        first = next((at for at, c in enumerate(text) if not c.isprintable()), 0)
        start = max(0, min(first - width // 2, len(text) - width))
        cut = "…" * (start > 0) + text[start : start + width] + "…" * (start + width < len(text))
    return "".join(c if c.isprintable() else _named(c) for c in cut)


def _named(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"<0x{ord(character) - 0xDC00:02X}>"
    return f"<U+{ord(character):04X}>"


def _shown(sample: Sample) -> Iterator[str]:
    yield f"    line {sample.line:,}: {visible(sample.detail, 300)}"
    if sample.source or sample.target:
        yield f"      source: {visible(sample.source)}"
        yield f"      target: {visible(sample.target)}"


def _described(sizes: SideSizes) -> str:
    scripts = ", ".join(f"{name.title()} {share:.1%}" for name, share in _most(sizes.scripts))
    covered = "" if sizes.uncovered is None else f"; {sizes.uncovered:.3%} of pieces uncovered"
    language = "" if sizes.language is None else f"language {sizes.language}; "
    return (
        f"{language}{sizes.characters:,} characters, longest {sizes.longest:,}, {sizes.form}; "
        f"letters: {scripts or 'none'}{covered}"
    )


def _most(scripts: dict[str, float]) -> Sequence[tuple[str, float]]:
    return [(name, share) for name, share in scripts.items() if share >= 0.001][:4]


def _plain_sizes(sizes: SideSizes) -> dict[str, Any]:  # Any: JSON
    return {
        "characters": sizes.characters,
        "longest": sizes.longest,
        "scripts": sizes.scripts,
        "normal_form": sizes.form,
        "uncovered": sizes.uncovered,
        "language": sizes.language,
    }


def _plain(finding: Finding, pairs: int) -> dict[str, Any]:  # Any: JSON
    return {
        "kind": finding.kind.name,
        "meaning": finding.kind.meaning,
        "severity": finding.severity(pairs),
        "pairs": finding.pairs,
        "lines": finding.lines[:1000].tolist(),
        "samples": [
            {
                "line": sample.line,
                "side": sample.side,
                "detail": sample.detail,
                "source": visible(sample.source, 1000),
                "target": visible(sample.target, 1000),
            }
            for sample in finding.samples
        ],
    }
