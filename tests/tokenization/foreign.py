"""Tokenizers as other toolkits make them, small, and text of many scripts."""

import io
import json
from functools import cache
from typing import Any

import pytest
from hypothesis import strategies as st
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

LINES = (
    "The old man walks along the river and reads a book.",
    "Eine junge Frau spricht am Haus mit dem Hund.",
    "Ünïcödé café naïve Ærø straße ﬁne",
    "Старик идёт вдоль реки и читает книгу.",
    "这位老人沿着河边走路并且读书。",
    "الرجل العجوز يمشي على طول النهر",
    "노인이 강을 따라 걷는다 👩‍👩‍👧 !?",
)
SYMBOLS = (
    *("<pad>", "<s>", "</s>", "<unk>", "<mask>", "[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"),
    *("<|endoftext|>", ">>deu<<", "de_DE", "<extra_id_0>", "<0x41>", "<unused-id-7>", "▁", "##"),
)
ODD = (
    "",
    " ",
    "  ",
    "\t",
    "\n",
    "\u2028",
    "\u00a0",
    "\u3000",
    "\x00",
    "\u200b",
    "\ufffd",
    "\ufb01",
)
KINDS = ("wordpiece", "byte-level", "unigram", "byte-fallback", "words")

_parts = st.one_of(
    st.sampled_from([word for line in LINES for word in line.split()]),
    st.sampled_from(SYMBOLS),
    st.sampled_from(ODD),
    st.text(max_size=4),
)
texts = st.lists(_parts, max_size=9).flatmap(
    lambda parts: st.sampled_from(["", " "]).map(lambda gap: gap.join(parts))
)


@cache
def tokenizer_json(kind: str) -> str:
    """Learn a small tokenizer as the library of Hugging Face would write it."""
    return _MAKERS[kind]().to_str()


def settings_of(kind: str) -> dict[str, Any]:
    return json.loads(tokenizer_json(kind))


def _learn(made: Tokenizer, trainer: Any, special: tuple[str, ...]) -> Tokenizer:
    made.train_from_iterator(LINES * 3, trainer)
    made.add_special_tokens([AddedToken(each, special=True, normalized=False) for each in special])
    return made


def _wordpiece() -> Tokenizer:
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=160, special_tokens=list(special), show_progress=False
    )
    made = _learn(made, trainer, special)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def _byte_level() -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return _learn(made, trainer, ("<|endoftext|>",))


def _unigram() -> Tokenizer:
    special = ("<pad>", "</s>", "<unk>", "<extra_id_0>")
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" " * 2, " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=list(special), unk_token="<unk>", show_progress=False
    )
    return _learn(made, trainer, special)


def _byte_fallback() -> Tokenizer:
    """As LLaMA has it."""
    special = ("<unk>", "<s>", "</s>")
    learner = Tokenizer(models.BPE())
    learner.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=[*special, *fallback], show_progress=False
    )
    learner.train_from_iterator(LINES[:2] * 3, trainer)
    model = json.loads(learner.to_str())["model"]
    made = Tokenizer(
        models.BPE(
            vocab=model["vocab"],
            merges=[tuple(pair) for pair in model["merges"]],
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    made.normalizer = learner.normalizer
    made.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    made.add_special_tokens([AddedToken(each, special=True, normalized=False) for each in special])
    return made


def _words() -> Tokenizer:
    """Whole words looked up, symbols among them: any of these could be typed."""
    special = ("<unk>", "<pad>", "<s>", "</s>")
    made = Tokenizer(models.WordLevel(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordLevelTrainer(special_tokens=list(special), show_progress=False)
    return _learn(made, trainer, special)


_MAKERS = {
    "wordpiece": _wordpiece,
    "byte-level": _byte_level,
    "unigram": _unigram,
    "byte-fallback": _byte_fallback,
    "words": _words,
}


@cache
def sentencepiece_bytes(
    kind: str = "unigram", *, lines: tuple[str, ...] = LINES, size: int = 150, **options: Any
) -> bytes:
    """Learn a SentencePiece model with its own library."""
    library = pytest.importorskip("sentencepiece", reason="needs sentencepiece, which tests have")
    out = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(lines * 5),
        model_writer=out,
        model_type=kind,
        vocab_size=size,
        character_coverage=1.0,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return out.getvalue()
