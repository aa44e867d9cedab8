"""Parallel text of a run once it is ids: what is learned from, and what it is validated on."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dragoman.data import IdStore, LengthReport, Pair, PairReport, PairStore
from dragoman.tokenization import Tokenizer


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSet:
    """One corpus to learn from, as ids.

    Args:
        name: what people call it.
        store: its ids, and what was counted on the way.
        tokenizers: give the text back.
        sha256: of each file, by path.
        folder: of the store; plans of batches are kept there.
        reused: whether it was prepared before.
    """

    name: str
    store: PairStore
    tokenizers: tuple[Tokenizer, ...]
    sha256: Mapping[str, str]
    folder: Path
    reused: bool = False

    def __len__(self) -> int:
        return len(self.store.sources)

    def pair(self, index: int) -> Pair:
        """Give a pair as text, brought to its normal form and as long as it is learned from."""
        source = self.tokenizers[0].decode(self.store.sources[index].tolist())
        target = self.tokenizers[-1].decode(self.store.targets[index].tolist())
        return Pair(int(self.store.numbers[index : index + 1][0]), source, target)

    def notices(self) -> Iterator[str]:
        """Say what was left out or changed, and why, if anything was."""
        if self.reused:
            yield f"{self.name}: {len(self):,} pairs, prepared before"
        for reason, count in self.store.counts["left_out"].items():
            if count and reason.startswith("mended "):
                yield f"{self.name}: {count:,} pairs changed, {reason}"
            elif count:
                yield f"{self.name}: {count:,} pairs left out, {reason}"
        lengths = self.store.counts["lengths"]
        for line in _long_pairs(lengths["dropped"], lengths["truncated"], lengths["alone"]):
            yield f"{self.name}: {line}"

    def card(self) -> str:
        """Say the same for the model card, after how many pairs there are."""
        left_out = [f"{n:,} {why}" for why, n in self.store.counts["left_out"].items() if n]
        lengths = self.store.counts["lengths"]
        names = {"dropped": "too long", "truncated": "cut", "alone": "long, in batches alone"}
        left_out += [f"{lengths[key]:,} {name}" for key, name in names.items() if lengths[key]]
        counts = f"{len(self):,} pairs of {self.store.counts['lines']:,} lines"
        return f"{counts} ({', '.join(left_out)})" if left_out else counts


@dataclass(frozen=True, slots=True)
class ValidationSet:
    """Pairs to validate on, as ids and as text.

    Args:
        name: what people call it.
        sources: source ids, with the tag of the target language where there is one.
        targets: bare target ids.
        pairs: the text they come from, in the same order.
        lengths: how many pairs were too long, and what became of them.
        reports: what was read of each corpus.
    """

    name: str
    sources: IdStore
    targets: IdStore
    pairs: tuple[Pair, ...]
    lengths: LengthReport
    reports: tuple[PairReport, ...]

    def notices(self) -> Iterator[str]:
        """Say what was left out or cut, if anything was."""
        blank = sum(report.blank for report in self.reports)
        if blank:
            yield f"{self.name}: {blank:,} pairs left out, blank on a side"
        counts = self.lengths
        for line in _long_pairs(counts.dropped, counts.truncated, counts.alone):
            yield f"{self.name}: {line}"


@dataclass(frozen=True, slots=True)
class Pairs:
    """All parallel text of a run.

    Args:
        tokenizers: one when the vocabulary is joint, otherwise of source and target.
        train: learned from.
        validation: held out.
        fit: how well the tokenizers of another model fit the text, in lines.
    """

    tokenizers: tuple[Tokenizer, ...]
    train: tuple[TrainingSet, ...]
    validation: ValidationSet | None
    fit: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Digest of the ids trained on: the same text through the same tokenizers."""
        if len(self.train) == 1:
            return self.train[0].store.fingerprint
        together = "".join(part.store.fingerprint for part in self.train)
        return hashlib.sha256(together.encode()).hexdigest()

    def notices(self) -> Iterator[str]:
        """Say what was read and what was left out."""
        sizes = " and ".join(f"{tokenizer.size:,}" for tokenizer in self.tokenizers)
        yield f"vocabulary: {sizes} pieces"
        yield from self.fit
        for part in self.train:
            yield from part.notices()
        if self.validation is not None:
            pairs = len(self.validation.pairs)
            yield f"validation on {pairs:,} pairs of {self.validation.name}"
            yield from self.validation.notices()


def _long_pairs(dropped: int, truncated: int, alone: int) -> Iterator[str]:
    for what, count in (
        ("dropped", dropped),
        ("cut", truncated),
        ("in batches of their own", alone),
    ):
        if count:
            yield f"{count:,} pairs longer than the limit, {what}"
