"""Text in, text out: the few lines most users need."""

from dragoman.translator.alternatives import Alternative, word_place
from dragoman.translator.explaining import explanation
from dragoman.translator.flags import FLAGS, Flag, flags_of
from dragoman.translator.glossary import Glossary, read_glossary
from dragoman.translator.markup import Fragment, Tag, translate_fragments
from dragoman.translator.planning import TooLong
from dragoman.translator.scoring import (
    CorpusScore,
    ScoredPair,
    best_share,
    mean_log_prob,
    score_pairs,
)
from dragoman.translator.sentences import split_sentences
from dragoman.translator.translation import Candidate, Translation, has_letters, one_line
from dragoman.translator.translator import SOURCE_LIMIT, Translator
from dragoman.translator.windows import windows

__all__ = [
    "FLAGS",
    "SOURCE_LIMIT",
    "Alternative",
    "Candidate",
    "CorpusScore",
    "Flag",
    "Fragment",
    "Glossary",
    "ScoredPair",
    "Tag",
    "TooLong",
    "Translation",
    "Translator",
    "best_share",
    "explanation",
    "flags_of",
    "has_letters",
    "mean_log_prob",
    "one_line",
    "read_glossary",
    "score_pairs",
    "split_sentences",
    "translate_fragments",
    "windows",
    "word_place",
]
