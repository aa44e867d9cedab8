"""What can be wrong with parallel text, how bad it is, and what was found.

A kind is *wrong* when a model would learn something false: always, as with unequal sides, or once
its share of the pairs passes a limit, as with copied sources. Everything else is *suspicious*:
worth a look, and harmless in small numbers. What ``fix`` does about a kind stands beside it.
"""

from array import array
from dataclasses import dataclass, field
from typing import Literal, Protocol

Severity = Literal["wrong", "suspicious"]
Remedy = Literal["drop", "change", "keep", "refuse"]
Side = Literal["source", "target", ""]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault.

    Args:
        name: what reports, JSON and logs call it.
        meaning: in a few words.
        remedy: what ``fix`` does: leave the pair out, change its text, keep it, or write nothing.
        limit: share of the pairs above which it is wrong; 0 when one is enough, None when never.
    """

    name: str
    meaning: str
    remedy: Remedy = "keep"
    limit: float | None = None


# In the order of reports. Shares above one tenth to one fifth are no accident but a broken corpus.
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("no-pairs", "no pair has text on both sides", "refuse", 0.0),
        Kind("unreadable", "reading ended before the corpus did", "refuse", 0.0),
        Kind("unequal-sides", "the files differ in their number of lines", "refuse", 0.0),
        Kind("misaligned", "a run of pairs fits another line better", "drop", 0.0),
        Kind("bad-bytes", "not UTF-8, or half a surrogate pair", "drop", 0.0),
        Kind("columns", "a row that has not two columns", "drop", 0.0),
        Kind("blank", "nothing to see on either side", "drop", 0.5),
        Kind("one-sided", "nothing to see on one side", "drop", 0.1),
        Kind("replacement", "U+FFFD stands for text lost earlier", "drop", 0.1),
        Kind("control", "control characters", "change"),
        Kind("zero-width", "characters without width, outside joined words", "change"),
        Kind("byte-order-mark", "U+FEFF inside the text", "change"),
        Kind("bidi", "marks of writing direction", "change"),
        Kind("line-separator", "a character that other programs take for a line end", "change"),
        Kind("carriage-return", "a CR that ends no line", "change"),
        Kind("tab", "a tab inside a segment", "change"),
        Kind("entity", "HTML entities", "change"),
        Kind("normal-form", "not in the side's usual Unicode normal form", "change"),
        Kind("wrong-script", "most letters are of a script foreign to the side", "drop", 0.2),
        Kind("wrong-language", "clearly in a language foreign to the side", "drop", 0.2),
        Kind("length", "far longer than the rest", "keep"),
        Kind("length-ratio", "sides of implausibly different lengths", "drop", 0.2),
        Kind("copied-source", "the target is the source", "drop", 0.2),
        Kind("digits", "numbers that differ", "keep", 0.5),
        Kind("addresses", "URLs or e-mail addresses that differ", "keep", 0.5),
        Kind("duplicate", "the same pair as an earlier one", "drop"),
        Kind("near-duplicate", "the same but for case, spaces and punctuation", "keep"),
        Kind("overlap", "a side that is in the training set too", "drop", 0.1),
        Kind("uncovered", "characters that the tokenizer spells in bytes or cannot write", "keep"),
    )
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One pair with a fault."""

    line: int  # number of the pair, from 1
    side: Side  # where the fault is; empty when it is in the pair
    detail: str
    source: str
    target: str


@dataclass(slots=True)
class Finding:
    """All pairs with one kind of fault."""

    kind: Kind
    lines: "array[int]" = field(default_factory=lambda: array("q"))  # rising, each number once
    samples: list[Sample] = field(default_factory=list[Sample])

    @property
    def pairs(self) -> int:
        """Number of pairs that have the fault."""
        return len(self.lines)

    def severity(self, pairs: int) -> Severity:
        """Say how bad it is in a set of so many pairs."""
        limit = self.kind.limit
        return "wrong" if limit is not None and self.pairs > limit * pairs else "suspicious"


class Collector(Protocol):
    """Whoever wants to hear of faults."""

    def add(self, kind: str, line: int, side: Side, detail: str, source: str, target: str) -> None:
        """Note that a pair has a fault; line numbers rise within a kind."""
        ...


class Findings:
    """Faults as they come in, pair by pair.

    Args:
        samples: how many of each kind to keep with their text.
    """

    def __init__(self, samples: int = 3) -> None:
        self.samples = samples
        self._found: dict[str, Finding] = {}

    def add(self, kind: str, line: int, side: Side, detail: str, source: str, target: str) -> None:
        """Note that a pair has a fault; a second one of that kind in the pair counts no more."""
        finding = self._found.setdefault(kind, Finding(KINDS[kind]))
        if finding.lines and finding.lines[-1] == line:
            return
        finding.lines.append(line)
        if len(finding.samples) < self.samples:
            finding.samples.append(Sample(line, side, detail, source, target))

    def all(self) -> tuple[Finding, ...]:
        """List what was found, in the order of ``KINDS``."""
        return tuple(self._found[name] for name in KINDS if name in self._found)
