"""What is usual in a corpus, seen from its first pairs: lengths, ratios, scripts, normal forms."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.data.check.characters import CharacterTable, Counts, Mark
from dragoman.data.check.chunk import Chunk, SideView, make_chunk
from dragoman.data.corpus import Pair

NormalForm = Literal["NFC", "NFD"]

HEAD = 50_000  # pairs that show what is usual
CHUNK = 5_000  # pairs looked at together
SAMPLE = 200  # texts of a side that show its language
FEWEST_LETTERS = 20  # of a text whose language can be told
SOFTENING = 5  # characters added to both lengths, so that the ratio of short texts says less
_FOREIGN = 0.1  # share of a side's letters from which a script is at home there
_TAILS = 4.0  # distances from the median to a decile; a normal law has 1 in 3 million beyond


@dataclass(frozen=True, slots=True)
class SideProfile:
    """What is usual on one side."""

    scripts: frozenset[int]  # numbers of those at home
    form: NormalForm
    longest: float  # characters; more is far from usual
    letters: Counts  # by script, (S,)
    sample: Sequence[str]  # up to SAMPLE texts of FEWEST_LETTERS or more, from all over the head


@dataclass(frozen=True, slots=True)
class Profile:
    """What is usual in the pairs."""

    source: SideProfile
    target: SideProfile
    ratio: float  # median log of target length to source length
    spread: float  # half the distance between its outer deciles
    lowest: float  # log ratios outside of these are far from usual
    highest: float


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


def log_ratios(source: Counts, target: Counts) -> NDArray[np.float64]:
    """Compare lengths in characters: log of target to source, (N,); 0 is equal."""
    return np.log((target + SOFTENING) / (source + SOFTENING))


def profile_of(chunks: Sequence[Chunk]) -> Profile:
    """Say what is usual in the head of a corpus, at least one pair."""
    sources, targets = [c.source for c in chunks], [c.target for c in chunks]
    shown = [~c.blank() for c in chunks]
    ratios = np.concatenate(
        [
            log_ratios(c.source.lengths, c.target.lengths)[seen]
            for c, seen in zip(chunks, shown, strict=True)
        ]
    )
    low, middle, high = np.quantile(ratios, (0.1, 0.5, 0.9)) if ratios.size else (0.0, 0.0, 0.0)
    # A corpus of few or equal lengths must not make a twofold difference look odd.
    return Profile(
        source=_side(sources),
        target=_side(targets),
        ratio=float(middle),
        spread=max(float(high - low) / 2, 0.1),
        lowest=float(middle - max(_TAILS * (middle - low), np.log(2.5))),
        highest=float(middle + max(_TAILS * (high - middle), np.log(2.5))),
    )


def _side(views: Sequence[SideView]) -> SideProfile:
    wide = max(view.letters.shape[1] for view in views)
    letters = np.zeros(wide, np.int64)
    for view in views:
        letters[: view.letters.shape[1]] += view.letters.sum(0)
    home = np.flatnonzero(letters > _FOREIGN * letters.sum())
    lengths = np.concatenate([view.lengths[~view.blank()] for view in views])
    middle, high = np.quantile(np.log(lengths), (0.5, 0.9)) if lengths.size else (0.0, 0.0)
    return SideProfile(
        scripts=frozenset(home.tolist()),
        form=_usual_form(views),
        longest=max(200.0, float(np.exp(middle + _TAILS * (high - middle)))),
        letters=letters,
        sample=_sample(views),
    )


def _sample(views: Sequence[SideView]) -> list[str]:
    enough = [np.flatnonzero(view.letters.sum(1) >= FEWEST_LETTERS) for view in views]
    places = [(which, at) for which, found in enumerate(enough) for at in found.tolist()]
    step = max(1, len(places) // SAMPLE)
    return [views[which].texts[at] for which, at in places[::step][:SAMPLE]]


def _usual_form(views: Sequence[SideView]) -> NormalForm:
    """NFD if more texts have an accent apart from its letter than one composed with it."""
    composed = sum(len(view.having(Mark.COMPOSED)) for view in views)
    changed = sum(
        not unicodedata.is_normalized("NFC", view.texts[at])
        for view in views
        for at in view.having(Mark.DECOMPOSED)
    )
    return "NFD" if changed > composed else "NFC"
