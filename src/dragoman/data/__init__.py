"""Corpora to batches; knows ids and files, no model."""

from dragoman.data.batching import Batch, TokenBatches, pad_rows
from dragoman.data.corpus import (
    Corpus,
    Files,
    Pair,
    PairReport,
    TsvFile,
    corpus_name,
    decode_lines,
    is_blank,
    open_corpus,
    read_aligned,
    read_lines,
    read_pairs,
)
from dragoman.data.lengths import (
    ADDED_SYMBOLS,
    LengthReport,
    LengthRule,
    Origin,
    apply_length_rule,
)
from dragoman.data.planning import group_by_length, plan_batches
from dragoman.data.sample import SampleCorpus, sample_corpus
from dragoman.data.store import IdStore

__all__ = [
    "ADDED_SYMBOLS",
    "Batch",
    "Corpus",
    "Files",
    "IdStore",
    "LengthReport",
    "LengthRule",
    "Origin",
    "Pair",
    "PairReport",
    "SampleCorpus",
    "TokenBatches",
    "TsvFile",
    "apply_length_rule",
    "corpus_name",
    "decode_lines",
    "group_by_length",
    "is_blank",
    "open_corpus",
    "pad_rows",
    "plan_batches",
    "read_aligned",
    "read_lines",
    "read_pairs",
    "sample_corpus",
]
