"""Text in, text out: the few lines most users need."""

from dragoman.translator.aligning import align_translations
from dragoman.translator.alignment import Aligner
from dragoman.translator.alignment import Pair as AlignedPair
from dragoman.translator.alternatives import Alternative, word_place
from dragoman.translator.attention_of import (
    attention_as_written,
    attention_note,
    attention_of_ids,
    check_ids,
)
from dragoman.translator.draft import Draft
from dragoman.translator.explaining import explanation
from dragoman.translator.flags import FLAGS, Flag, flags_of
from dragoman.translator.glossary import Glossary, read_glossary
from dragoman.translator.heads import HeadMetric, measure_heads
from dragoman.translator.joining import join_models
from dragoman.translator.markup import (
    Fragment,
    Tag,
    split_long,
    translate_fragments,
    translate_marked,
)
from dragoman.translator.minimum_risk import expected_utilities, least_risk
from dragoman.translator.parsing import PARSING, parse
from dragoman.translator.piece_spans import Span, piece_spans
from dragoman.translator.planning import TooLong, gap
from dragoman.translator.scoring import (
    CorpusScore,
    ScoredPair,
    best_share,
    mean_log_prob,
    score_pairs,
)
from dragoman.translator.sentences import split_sentences, trimmed
from dragoman.translator.target_language import language_tag
from dragoman.translator.translation import Candidate, Translation, has_letters, one_line
from dragoman.translator.translator import SOURCE_LIMIT, Translator
from dragoman.translator.windows import windows
from dragoman.translator.word_alignment import Link, WordAlignment

__all__ = [
    "FLAGS",
    "PARSING",
    "SOURCE_LIMIT",
    "AlignedPair",
    "Aligner",
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
    "Span",
    "Tag",
    "TooLong",
    "Translation",
    "Translator",
    "WordAlignment",
    "align_translations",
    "attention_as_written",
    "attention_note",
    "attention_of_ids",
    "best_share",
    "check_ids",
    "expected_utilities",
    "explanation",
    "flags_of",
    "gap",
    "has_letters",
    "join_models",
    "language_tag",
    "least_risk",
    "mean_log_prob",
    "measure_heads",
    "one_line",
    "parse",
    "piece_spans",
    "read_glossary",
    "score_pairs",
    "split_long",
    "split_sentences",
    "translate_fragments",
    "translate_marked",
    "trimmed",
    "windows",
    "word_place",
]
