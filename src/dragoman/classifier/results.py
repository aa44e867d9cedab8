"""What an encoder says of texts and images."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Classification:
    """What a text or an image is.

    Args:
        label: the likeliest class.
        probability: of it.
        probabilities: of every class.
        shortened: whether the text was longer than the model takes, and its end was not read.
    """

    label: str
    probability: float
    probabilities: dict[str, float]
    shortened: bool = False


class TaggedWord(NamedTuple):
    """A word, its likeliest tag, and the probability of that."""

    word: str
    label: str
    probability: float


@dataclass(frozen=True, slots=True)
class Tagging:
    """What the words of a text are.

    Args:
        words: those that were read.
        shortened: whether the text was longer than the model takes, and its end has no tags.
    """

    words: tuple[TaggedWord, ...]
    shortened: bool = False


class Filling(NamedTuple):
    """What may stand in a gap, its piece of the vocabulary, and its probability."""

    text: str
    piece: str
    probability: float
