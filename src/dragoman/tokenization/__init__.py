"""Text to ids and back, and how vocabularies are learnt; knows no tensors, models or corpora."""

from dragoman.tokenization.byte_pair import (
    BytePairMerge,
    Pair,
    apply_merges,
    best_pair,
    learn_merges,
)
from dragoman.tokenization.config import (
    LatticeSampling,
    MergeDropout,
    Sampling,
    TargetTokenizer,
    TokenizerConfig,
)
from dragoman.tokenization.existing import read_existing
from dragoman.tokenization.extending import extend_tokenizer, extend_tokenizers, spelled_before
from dragoman.tokenization.imported import (
    Imported,
    ImportedTokenizer,
    load_tokenizer,
    tokenizer_from_json,
)
from dragoman.tokenization.languages import language_piece, with_languages
from dragoman.tokenization.learning import learn_bpe, learn_tokenizer, learn_tokenizers
from dragoman.tokenization.packing import Packed, Packer
from dragoman.tokenization.packing_pool import pack_all
from dragoman.tokenization.sampling import Draw, SubwordSampler, pair_draws
from dragoman.tokenization.sentencepiece_model import (
    SentencePieceModel,
    parse_sentencepiece_model,
)
from dragoman.tokenization.sentencepiece_writing import beyond_sentencepiece, to_sentencepiece
from dragoman.tokenization.stretches import NormalForm
from dragoman.tokenization.tokenizer import Json, SpecialIds, Tokenizer
from dragoman.tokenization.unigram import learn_unigram
from dragoman.tokenization.wordpiece import (
    WordPieceMerge,
    apply_wordpiece_merges,
    encode_word,
    learn_wordpiece,
    pair_score,
    split_word,
)
from dragoman.tokenization.wordpiece_counts import learn_wordpiece_fast

__all__ = [
    "BytePairMerge",
    "Draw",
    "Imported",
    "ImportedTokenizer",
    "Json",
    "LatticeSampling",
    "MergeDropout",
    "NormalForm",
    "Packed",
    "Packer",
    "Pair",
    "Sampling",
    "SentencePieceModel",
    "SpecialIds",
    "SubwordSampler",
    "TargetTokenizer",
    "Tokenizer",
    "TokenizerConfig",
    "WordPieceMerge",
    "apply_merges",
    "apply_wordpiece_merges",
    "best_pair",
    "beyond_sentencepiece",
    "encode_word",
    "extend_tokenizer",
    "extend_tokenizers",
    "language_piece",
    "learn_bpe",
    "learn_merges",
    "learn_tokenizer",
    "learn_tokenizers",
    "learn_unigram",
    "learn_wordpiece",
    "learn_wordpiece_fast",
    "load_tokenizer",
    "pack_all",
    "pair_draws",
    "pair_score",
    "parse_sentencepiece_model",
    "read_existing",
    "spelled_before",
    "split_word",
    "to_sentencepiece",
    "tokenizer_from_json",
    "with_languages",
]
