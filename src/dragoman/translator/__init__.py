"""Text in, text out: the few lines most users need."""

from dragoman.translator.aligning import align_translations
from dragoman.translator.alternatives import Alternative, word_place
from dragoman.translator.draft import Draft
from dragoman.translator.explaining import explanation
from dragoman.translator.flags import FLAGS, Flag, flags_of
from dragoman.translator.glossary import Glossary, read_glossary
from dragoman.translator.heads import HeadMetric, measure_heads
from dragoman.translator.joining import join_models
from dragoman.translator.markup import Fragment, Tag, translate_fragments
from dragoman.translator.minimum_risk import expected_utilities, least_risk
from dragoman.translator.parsing import PARSING, parse
from dragoman.translator.planning import TooLong
from dragoman.translator.scoring import (
    CorpusScore,
    ScoredPair,
    best_share,
    mean_log_prob,
    score_pairs,
)
from dragoman.translator.sentences import split_sentences, trimmed
from dragoman.translator.translation import Candidate, Translation, has_letters, one_line
from dragoman.translator.translator import SOURCE_LIMIT, Translator
from dragoman.translator.windows import windows
from dragoman.translator.word_alignment import Link, WordAlignment

__all__ = [
    "FLAGS",
    "PARSING",
    "SOURCE_LIMIT",
    "Alternative",
    "Candidate",
    "CorpusScore",
    "Draft",
    "Flag",
    "Fragment",
    "Glossary",
    "HeadMetric",
    "Link",
    "ScoredPair",
    "Tag",
    "TooLong",
    "Translation",
    "Translator",
    "WordAlignment",
    "align_translations",
    "best_share",
    "expected_utilities",
    "explanation",
    "flags_of",
    "has_letters",
    "join_models",
    "least_risk",
    "mean_log_prob",
    "measure_heads",
    "one_line",
    "parse",
    "read_glossary",
    "score_pairs",
    "split_sentences",
    "translate_fragments",
    "trimmed",
    "windows",
    "word_place",
]
