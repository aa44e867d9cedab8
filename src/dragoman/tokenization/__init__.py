"""Text to ids and back, and how vocabularies are learnt; knows no tensors, models or corpora."""

from dragoman.tokenization.learning import TokenizerConfig, learn_bpe, learn_tokenizers
from dragoman.tokenization.tokenizer import NormalForm, SpecialIds, Tokenizer

__all__ = [
    "NormalForm",
    "SpecialIds",
    "Tokenizer",
    "TokenizerConfig",
    "learn_bpe",
    "learn_tokenizers",
]
