"""The text of a corpus that can be learned from, read as often as asked: filtered, without blanks.

What is left out is counted anew in each reading, so the counts are whole when a reading is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from dragoman.data.corpora import Corpus
from dragoman.data.corpus import Pair, open_corpus
from dragoman.data.corpus_files import corpus_files, corpus_name
from dragoman.data.filtering import Filters, PairFilter
from dragoman.data.lines import is_blank
from dragoman.errors import DataError


class TrainingText:
    """A corpus to learn from.

    Args:
        corpus: where the text is; what can be read only once, such as a pipe, is kept in memory.
        filters: which pairs are left out or mended, if any.
        compared: sets that the filter ``overlap`` compares with, by name.
    """

    def __init__(
        self,
        corpus: Corpus,
        filters: Filters | None = None,
        compared: Mapping[str, Iterable[Pair]] | None = None,
    ) -> None:
        self.corpus, self.name = corpus, corpus_name(corpus)
        self._filters, self._compared = filters or Filters(), compared
        self.held_out = frozenset[str]()  # sentences that are not for learning
        self._kept: tuple[list[Pair], Counter[str]] | None = None
        self._start()

    @property
    def again(self) -> bool:
        """Whether the files will be there to be read again, with the same text."""
        return all(path.is_file() for path in corpus_files(self.corpus))

    def pairs(self) -> Iterator[Pair]:
        """Read all pairs to learn from, those held out left out.

        Raises:
            DataError: as ``open_corpus`` does, or no pair has text on both sides.
        """
        for pair in self.all_pairs():
            if self.holds_out(pair):
                self._held += 1
            else:
                yield pair

    def holds_out(self, pair: Pair) -> bool:
        """Say whether a pair is not for learning: a held-out sentence stands on either side."""
        return pair.source in self.held_out or pair.target in self.held_out

    def all_pairs(self) -> Iterator[Pair]:
        """Read all pairs, those held out too.

        Raises:
            DataError: as ``pairs`` does.
        """
        self._start()
        found = False
        for pair in self._filter.kept(self._counted(self._all())):
            source, target = pair.source, pair.target
            # Most text begins with a letter, and then it is not blank.
            if (source[:1].isalnum() or not is_blank(source)) and (
                target[:1].isalnum() or not is_blank(target)
            ):
                found = True
                yield pair
            else:
                self.blank += 1
        if not found:
            raise self._nothing()

    def counts(self) -> dict[str, int]:
        """Say what the last reading left out or changed, and why."""
        dropped = {f"filter {name}": count for name, count in self._filter.counts.items()}
        mended = {f"mended {name}": count for name, count in self._filter.changes.items()}
        counts = {"blank on a side": self.blank, "held out for validation": self._held}
        return {**counts, **self.left_out, **dropped, **mended}

    def locate(self) -> DataError | None:
        """Find the pair that is no Unicode text, after encoding has failed for it."""
        for pair in self.all_pairs():
            for text in (pair.source, pair.target):
                try:
                    text.encode()
                except UnicodeEncodeError as fault:
                    code = ord(text[fault.start])
                    problem = f"character {fault.start} is U+{code:04X}, half of a surrogate pair"
                    hint = "write the whole character, or drop the line"
                    return DataError(self.name, problem, hint, line=pair.number)
        return None

    def _start(self) -> None:
        self.lines = self.blank = self._held = 0
        self.left_out = Counter[str]()
        self._filter = PairFilter(
            self._filters,
            held_out=self._compared,
            source_language=self.corpus.source_language,
            target_language=self.corpus.target_language,
        )

    def _all(self) -> Iterable[Pair]:
        if self._kept is None and not self.again:
            left_out = Counter[str]()
            self._kept = list(open_corpus(self.corpus, left_out)), left_out
        if self._kept is None:
            return open_corpus(self.corpus, self.left_out)
        pairs, left_out = self._kept
        self.left_out.update(left_out)
        return pairs

    def _counted(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        # In runs, since a step of Python for each of millions of pairs is felt.
        waiting = iter(pairs)
        while run := list(islice(waiting, 1_000)):
            self.lines += len(run)
            yield from run

    def _nothing(self) -> DataError:
        told = ", ".join(f"{what}: {count}" for what, count in self.counts().items() if count)
        problem = f"no pair has text on both sides; {told}" if told else "no lines"
        return DataError(self.name, problem, "give a corpus with at least one pair")
