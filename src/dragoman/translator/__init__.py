"""Text in, text out: the few lines most users need."""

from dragoman.translator.translation import Candidate, Translation, has_letters, one_line
from dragoman.translator.translator import SOURCE_LIMIT, TooLong, Translator

__all__ = [
    "SOURCE_LIMIT",
    "Candidate",
    "TooLong",
    "Translation",
    "Translator",
    "has_letters",
    "one_line",
]
