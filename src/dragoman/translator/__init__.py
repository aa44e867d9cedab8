"""Text in, text out: the few lines most users need."""

from dragoman.translator.explaining import explanation
from dragoman.translator.flags import FLAGS, Flag, flags_of
from dragoman.translator.markup import Fragment, Tag, translate_fragments
from dragoman.translator.planning import TooLong
from dragoman.translator.sentences import split_sentences
from dragoman.translator.translation import Candidate, Translation, has_letters, one_line
from dragoman.translator.translator import SOURCE_LIMIT, Translator

__all__ = [
    "FLAGS",
    "SOURCE_LIMIT",
    "Candidate",
    "Flag",
    "Fragment",
    "Tag",
    "TooLong",
    "Translation",
    "Translator",
    "explanation",
    "flags_of",
    "has_letters",
    "one_line",
    "split_sentences",
    "translate_fragments",
]
