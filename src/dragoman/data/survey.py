"""A first reading of text: what vocabularies are learnt from, and what is held out."""

from collections.abc import Callable
from hashlib import blake2b
from heapq import heappush, heapreplace

from dragoman.data.corpus import Pair
from dragoman.data.training_text import TrainingText
from dragoman.errors import DataError

_TOLD = 500_000  # lines between two words on how far reading is


class Survey:
    """One reading of several corpora before they are encoded: text to learn from, and a hold-out.

    Args:
        texts: are read when ``read`` is called.
        sample: the most pairs to remember of each corpus, evenly spread over it; 0 for none.
        hold_out: how many source sentences to hold out, drawn from the first corpus.
        seed: of the draw. Which sentences it takes depends on them alone, not on their order.
    """

    def __init__(self, texts: list[TrainingText], *, sample: int, hold_out: int, seed: int) -> None:
        self._texts, self._most, self._count, self._seed = texts, sample, hold_out, seed
        self.sources: list[str] = []
        self.targets: list[str] = []
        self.held_out: tuple[Pair, ...] = ()

    def take(self, held_out: tuple[Pair, ...]) -> None:
        """Hold out what an earlier reading of the same text held out."""
        self.held_out = held_out
        sources = frozenset(pair.source for pair in held_out)
        for text in self._texts:  # the same sentences may stand in any of them
            text.held_out = sources

    def read(self, said: Callable[[str, int], None] | None = None) -> None:
        """Read; no corpus will give the pairs that are held out, nor others like them.

        Args:
            said: is told the name of a corpus and how many lines of it were read, now and then.

        Raises:
            DataError: a corpus cannot be read, or holding out leaves nothing.
        """
        for number, text in enumerate(self._texts):
            draw = HoldOut(self._count if number == 0 else 0, self._seed)
            sample = EvenSample(self._most)
            told = _TOLD
            for pair in text.all_pairs():
                draw.offer(pair)
                sample.offer(pair)
                if text.lines >= told:
                    if said is not None:
                        said(text.name, told)
                    told += _TOLD
            if number == 0:
                self.take(draw.pairs())
            kept = [pair for pair in sample.pairs if not text.holds_out(pair)]
            if text.held_out and not kept and next(text.pairs(), None) is None:
                problem = f"holding out {self._count} pairs leaves none to train on"
                raise DataError(text.name, problem, "lower data.hold_out, or give data.validation")
            self.sources += [pair.source for pair in kept]
            self.targets += [pair.target for pair in kept]


class EvenSample:
    """Pairs spread evenly over a stream of unknown length: every first, second, fourth, ...

    Args:
        most: how many to remember; 0 for none.
    """

    def __init__(self, most: int) -> None:
        self._most, self._step, self._offered = most, 1, 0
        self.pairs: list[Pair] = []

    def offer(self, pair: Pair) -> None:
        """Remember a pair if it is its turn."""
        if self._most and self._offered % self._step == 0:
            self.pairs.append(pair)
            if len(self.pairs) > self._most:
                del self.pairs[1::2]
                self._step *= 2
        self._offered += 1


class HoldOut:
    """Draws source sentences from a stream by their hashes; of equal ones, the first pair stands.

    Args:
        count: how many.
        seed: another seed, another draw.
    """

    def __init__(self, count: int, seed: int) -> None:
        self._count, self._key = count, seed.to_bytes(8, "little", signed=True)
        self._chosen: dict[int, Pair] = {}
        self._highest: list[int] = []  # a heap of the hashes, negative

    def offer(self, pair: Pair) -> None:
        """Look at a pair."""
        if not self._count:
            return
        text = pair.source.encode("utf-8", "surrogatepass")
        number = int.from_bytes(blake2b(text, digest_size=8, key=self._key).digest())
        if number in self._chosen:
            return
        if len(self._highest) < self._count:
            heappush(self._highest, -number)
        elif number < -self._highest[0]:
            del self._chosen[-heapreplace(self._highest, -number)]
        else:
            return
        self._chosen[number] = pair

    def pairs(self) -> tuple[Pair, ...]:
        """Give the pairs drawn, in the order of the corpus."""
        return tuple(sorted(self._chosen.values(), key=lambda pair: pair.number))
