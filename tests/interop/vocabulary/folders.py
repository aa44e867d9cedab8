"""Small folders as transformers, Marian and others write them, made with their own libraries."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.tokenization.foreign import LINES, sentencepiece_bytes, settings_of

SHARED = Path(__file__).parents[4] / "shared" / "data" / "pretrained"
PICKLE = b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x06exit 1\x94\x85\x94R\x94."
OLD_PICKLE = b"cos\nsystem\n(S'exit 1'\ntR."  # of protocol 0, which is text
FAMILIES = ("bert", "gpt2", "bart", "t5", "mbart", "llama", "albert")


def shared(name: str) -> Path:
    if not SHARED.is_dir():
        pytest.skip("needs ../shared/data/pretrained")
    return SHARED / name


def write(folder: Path, files: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
            continue
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def family(name: str, folder: Path) -> Path:
    """Write the files of an older tokenizer of a family, without a ``tokenizer.json``."""
    return write(folder, _FAMILIES[name]())


def _bert() -> dict[str, Any]:
    ids = settings_of("wordpiece")["model"]["vocab"]
    return {
        "vocab.txt": "".join(f"{piece}\n" for piece in sorted(ids, key=ids.__getitem__)),
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "do_lower_case": True},
        "config.json": {"model_type": "bert", "vocab_size": len(ids), "pad_token_id": 0},
    }


def _merges() -> str:
    pairs = settings_of("byte-level")["model"]["merges"]
    return "#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in pairs)


def _gpt2() -> dict[str, Any]:
    ids = settings_of("byte-level")["model"]["vocab"]
    sized = {"vocab_size": len(ids), "bos_token_id": 0, "eos_token_id": 0}
    return {
        "vocab.json": ids,
        "merges.txt": _merges(),
        "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"},
        "config.json": {"model_type": "gpt2", **sized},
    }


def _bart() -> dict[str, Any]:
    given = settings_of("byte-level")["model"]["vocab"]
    plain = [piece for piece in sorted(given, key=given.__getitem__) if piece != "<|endoftext|>"]
    order = ["<s>", "<pad>", "</s>", "<unk>", *plain, "<mask>"]
    special = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    return {
        "vocab.json": {piece: number for number, piece in enumerate(order)},
        "merges.txt": _merges(),
        "tokenizer_config.json": {"tokenizer_class": "BartTokenizer"},
        "config.json": {
            "model_type": "bart",
            "vocab_size": len(order),
            "is_encoder_decoder": True,
            **special,
        },
    }


def _t5() -> dict[str, Any]:
    special = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    return {
        "spiece.model": sentencepiece_bytes(pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
        "tokenizer_config.json": {"tokenizer_class": "T5Tokenizer", "extra_ids": 100},
        "config.json": {
            "model_type": "t5",
            "vocab_size": 300,
            "is_encoder_decoder": True,
            **special,
        },
    }


def _mbart() -> dict[str, Any]:
    special = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    return {
        "sentencepiece.bpe.model": sentencepiece_bytes(normalization_rule_name="identity"),
        "tokenizer_config.json": {"tokenizer_class": "MBartTokenizer", "src_lang": "en_XX"},
        "config.json": {
            "model_type": "mbart",
            "vocab_size": 177,
            "is_encoder_decoder": True,
            **special,
        },
    }


def _llama() -> dict[str, Any]:
    model = sentencepiece_bytes(
        "bpe",
        size=450,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    )
    sized = {"vocab_size": 450, "bos_token_id": 1, "eos_token_id": 2}
    return {
        "tokenizer.model": model,
        "tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer"},
        "config.json": {"model_type": "llama", **sized},
    }


def _albert() -> dict[str, Any]:
    model = sentencepiece_bytes(
        pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols="[CLS],[SEP],[MASK]"
    )
    return {
        "spiece.model": model,
        "tokenizer_config.json": {"tokenizer_class": "AlbertTokenizer", "do_lower_case": True},
        "config.json": {"model_type": "albert", "vocab_size": 160, "pad_token_id": 0},
    }


_FAMILIES = {
    "bert": _bert,
    "gpt2": _gpt2,
    "bart": _bart,
    "t5": _t5,
    "mbart": _mbart,
    "llama": _llama,
    "albert": _albert,
}


@cache
def marian_models() -> tuple[bytes, bytes]:
    """Learn two SentencePiece models that know different letters."""
    options: dict[str, Any] = {"eos_id": 0, "unk_id": 1, "bos_id": -1}
    return (
        sentencepiece_bytes(lines=LINES[:2], size=60, **options),
        sentencepiece_bytes(lines=LINES[1:], size=140, **options),
    )


def marian(folder: Path, *, separate: bool = False) -> Path:
    """Write a Marian folder; its lists leave out some pieces of the models."""
    library = pytest.importorskip("sentencepiece", reason="needs sentencepiece, which tests have")
    models = [library.SentencePieceProcessor(model_proto=each) for each in marian_models()]
    source, target = ([m.id_to_piece(n) for n in range(2, m.get_piece_size())] for m in models)
    joint = [*dict.fromkeys([*source, *target])]
    chosen = [source, target] if separate else [joint, joint]
    lists: list[dict[str, int]] = []
    for pieces in chosen:
        kept = [piece for number, piece in enumerate(pieces) if number % 9]
        order = ["</s>", "<unk>", "<pad>", ">>fra<<", ">>cmn_Hans<<", *kept]
        lists.append({piece: number for number, piece in enumerate(order)})
    special = {"pad_token_id": 2, "eos_token_id": 0, "decoder_start_token_id": 2}
    files: dict[str, Any] = {
        "source.spm": marian_models()[0],
        "target.spm": marian_models()[1],
        "vocab.json": lists[0],
        "tokenizer_config.json": {
            "tokenizer_class": "MarianTokenizer",
            "source_lang": "en",
            "target_lang": "fr",
            "separate_vocabs": separate,
        },
        "config.json": {
            "model_type": "marian",
            "is_encoder_decoder": True,
            "vocab_size": len(lists[0]),
            "decoder_vocab_size": len(lists[1]),
            **special,
        },
    }
    return write(folder, files | ({"target_vocab.json": lists[1]} if separate else {}))
