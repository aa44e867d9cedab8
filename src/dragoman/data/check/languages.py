"""Texts in a language foreign to their side, told by py3langid (extra ``language``).

py3langid is naive Bayes over byte n-grams (Lui and Baldwin 2012, langid.py): exact enough on a
sentence, slow at a thousand a second. So the words that are common in texts it is sure of, taken
from the head of the corpus, tell which texts are beyond doubt: it is asked about the others only.
"""

import functools
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from dragoman.data.check.chunk import Chunk, SideView
from dragoman.data.check.finding import Collector, Side
from dragoman.data.check.language_names import family_of, short_name
from dragoman.data.check.profile import FEWEST_LETTERS, Profile
from dragoman.errors import MissingExtraError

Ranking = Sequence[tuple[str, float]]  # languages with their probabilities, likeliest first
Identifier = Callable[[str], Ranking]

NO_LANGUAGE = "zxx"  # the identifier's word for what is no text
_SURE = 0.9  # probability of another language from which a text is reported, ...
_IMPLAUSIBLE = 0.05  # ... if the side's own is below this
_MOSTLY = 0.6  # share of sure texts that make a language that of the side
_FEWEST_SURE = 10  # texts
_COMMON = 300  # words
_UNSPACED = 20  # characters a word on average, beyond which the script has no spaces
_OFTEN = 0.25  # share of common words in a text beyond doubt, at most
_ASKED = 0.02  # share of a side's own texts that may be asked about, for speed


def load_identifier() -> Identifier:
    """Load the identifier; its model is part of the package.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        from py3langid import langid  # type: ignore[import-untyped]  # has no types
    except ImportError:
        raise MissingExtraError("wrong-language", "language") from None
    library = cast("Any", langid)
    return _load(library.LanguageIdentifier.from_model_file, library.MODEL_FILE)


@functools.cache
def _load(read: Callable[..., Any], file: str) -> Identifier:  # Any: it has no types
    """Unpack the model once, as it takes most of a second."""
    return cast("Identifier", read(file, norm_probs=True).rank)


@dataclass(frozen=True, slots=True)
class Expected:
    """The language of a side.

    Args:
        name: short code, for messages.
        family: those that are not told from it.
        common: words of it that leave no doubt.
        often: a text with a larger share of them is not asked about.
    """

    name: str
    family: frozenset[str]
    common: frozenset[str]
    often: float

    def doubtful(self, text: str) -> bool:
        """Say whether the words of a text leave doubt."""
        words = words_of(text)
        return len(words & self.common) <= self.often * len(words)

    def contradicted(self, ranking: Ranking) -> bool:
        """Say whether a text is clearly of another language."""
        best, chance = ranking[0]
        own = sum(share for language, share in ranking if language in self.family)
        return (
            best not in self.family
            and best != NO_LANGUAGE
            and chance > _SURE
            and own < _IMPLAUSIBLE
        )


class Languages:
    """What language each side is of, and which texts are not.

    Args:
        identify: ranks the languages of a text.
        profile: holds a sample of each side.
        languages: of source and target, where they are known; otherwise what the sample mostly is.
    """

    def __init__(
        self, identify: Identifier, profile: Profile, languages: tuple[str | None, str | None]
    ) -> None:
        self._identify = identify
        samples = profile.source.sample, profile.target.sample
        common = [_common_words(sample) for sample in samples]
        self.source = self._expect(samples[0], languages[0], common[1])
        self.target = self._expect(samples[1], languages[1], common[0])

    def look(self, chunk: Chunk, found: Collector) -> None:
        """Note texts that are clearly of another language than their side."""
        faults: dict[int, tuple[Side, str]] = {}
        for side, view in chunk.sides():
            expected = self.source if side == "source" else self.target
            if expected is None:
                continue
            for at, ranking in self._doubtful(view, expected):
                if expected.contradicted(ranking):
                    best, chance = ranking[0]
                    detail = f"{best} rather than {expected.name} ({chance:.0%})"
                    faults.setdefault(at, (side, detail))
        chunk.note("wrong-language", faults, found)

    def _doubtful(self, view: SideView, expected: Expected) -> list[tuple[int, Ranking]]:
        enough = np.flatnonzero(view.letters.sum(1) >= FEWEST_LETTERS).tolist()
        return [
            (at, self._identify(view.texts[at]))
            for at in enough
            if expected.doubtful(view.texts[at])
        ]

    def _expect(
        self, sample: Sequence[str], declared: str | None, other: Collection[str]
    ) -> Expected | None:
        """Say what language a side is of; None where nothing tells, or it is not known."""
        ranked = [(text, self._identify(text)) for text in sample]
        name = _majority(ranked) if declared is None else short_name(declared)
        if name is None or not _knows(self._identify, name):
            return None
        family = family_of(name)
        own = [text for text, ranking in ranked if ranking[0][0] in family]
        common = _common_words(own) - frozenset(other)
        expected = Expected(name, family, common, _OFTEN)
        shares = [_share(words_of(text), common) for text in own]
        often = min(_OFTEN, float(np.quantile(shares, _ASKED))) if shares else 0.0
        return Expected(expected.name, family, common, often)


def words_of(text: str) -> frozenset[str]:
    """List the words of a text, or its characters where nothing parts words."""
    lower = text.lower()
    words = lower.split()
    return frozenset(lower if len(lower) > _UNSPACED * len(words) else words)


def _share(words: frozenset[str], common: frozenset[str]) -> float:
    return len(words & common) / max(1, len(words))


def _common_words(texts: Sequence[str]) -> frozenset[str]:
    counts = Counter(word for text in texts for word in words_of(text))
    return frozenset(word for word, count in counts.most_common(_COMMON) if count > 1)


def _majority(ranked: Sequence[tuple[str, Ranking]]) -> str | None:
    """Name the language that most sure texts are of."""
    sure = [ranking[0][0] for _, ranking in ranked if ranking[0][1] > _SURE]
    if len(sure) < _FEWEST_SURE:
        return None
    name, _ = Counter(sure).most_common(1)[0]
    members = sum(language in family_of(name) for language in sure)
    return name if members >= _MOSTLY * len(sure) and name != NO_LANGUAGE else None


def _knows(identify: Identifier, name: str) -> bool:
    return any(language == name for language, _ in identify("a"))
