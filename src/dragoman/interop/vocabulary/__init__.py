"""Vocabularies of other toolkits in, ours out; reads text and JSON only, and runs nothing."""

from dragoman.interop.vocabulary.describing import vocabulary_lines
from dragoman.interop.vocabulary.folder import TARGET_FOLDER
from dragoman.interop.vocabulary.pieces import Cut, read_pieces, tokenizer_of_pieces
from dragoman.interop.vocabulary.reading import read_vocabulary
from dragoman.interop.vocabulary.writing import refuse_unwritable, write_vocabulary

__all__ = [
    "TARGET_FOLDER",
    "Cut",
    "read_pieces",
    "read_vocabulary",
    "refuse_unwritable",
    "tokenizer_of_pieces",
    "vocabulary_lines",
    "write_vocabulary",
]
