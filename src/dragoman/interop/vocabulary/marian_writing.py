"""Write tokenizers as a Marian folder: two SentencePiece models that cut, and lists of ids.

Only vocabularies that were read from such files, or from a list with such a model, have this form.
"""

import base64
import json
from collections.abc import Sequence
from pathlib import Path

from dragoman.atomic import write_bytes, write_text
from dragoman.interop.vocabulary.folder import SPECIAL_MAP, TOKENIZER_CONFIG
from dragoman.protobuf import bytes_field, float_field, integer_field
from dragoman.tokenization import ImportedTokenizer, Json, Tokenizer
from dragoman.tokenization.foreign_file import unused

_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_UNIGRAM = 1
_END, _UNKNOWN_TEXT = "</s>", "<unk>"  # how Marian calls them, always


def fits_marian(tokenizer: Tokenizer) -> bool:
    """Whether a vocabulary is a list of ids beside a unigram model of SentencePiece."""
    if not isinstance(tokenizer, ImportedTokenizer) or tokenizer.imported.names is None:
        return False
    settings = tokenizer.settings
    normalizer: Json = settings["normalizer"] or {}
    cuts = settings["model"]["type"] == "Unigram" and settings["pre_tokenizer"] is None
    names, special = tokenizer.names(), tokenizer.special
    called = names[special.end], names[special.unknown]
    return cuts and normalizer.get("type") == "Sequence" and called == (_END, _UNKNOWN_TEXT)


def write_marian(
    folder: Path, tokenizers: Sequence[ImportedTokenizer], *, longest: int | None
) -> None:
    """Write ``source.spm``, ``target.spm``, ``vocab.json`` and what says how they are read.

    Args:
        folder: is there.
        tokenizers: one or two for which ``fits_marian`` holds.
        longest: pieces a text may have, the end symbol included.

    Raises:
        OSError: the folder cannot be written, or the disk is full.
    """
    source, target = tokenizers[0], tokenizers[-1]
    separate = source.names() != target.names()
    write_bytes(folder / "source.spm", unigram_model(source.settings))
    write_bytes(folder / "target.spm", unigram_model(target.settings))
    write_text(folder / "vocab.json", _list(source))
    if separate:
        write_text(folder / "target_vocab.json", _list(target))
    special = {
        "eos_token": _END,
        "unk_token": _UNKNOWN_TEXT,
        "pad_token": source.names()[source.special.padding],
    }
    config = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": separate, **special}
    config |= {"model_max_length": longest} if longest is not None else {}
    write_text(folder / TOKENIZER_CONFIG, json.dumps(config, indent=2) + "\n")
    write_text(folder / SPECIAL_MAP, json.dumps(special, indent=2) + "\n")


def unigram_model(settings: Json) -> bytes:
    """Write the ``.model`` file from which ``sentencepiece_settings`` made these settings."""
    model = settings["model"]
    controls = {each["content"] for each in settings["added_tokens"]}
    pieces: list[bytes] = []
    for number, (name, score) in enumerate(model["vocab"]):
        kind = _NORMAL
        if number == model["unk_id"]:
            kind = _UNKNOWN
        elif name in controls:
            kind = _CONTROL
        elif model["byte_fallback"] and name.startswith("<0x") and len(name) == 6:
            kind = _BYTE
        fields = bytes_field(1, name) + float_field(2, score if kind == _NORMAL else 0.0)
        pieces.append(bytes_field(1, fields + integer_field(3, kind)))
    trainer = integer_field(3, _UNIGRAM) + integer_field(4, len(pieces))
    trainer += integer_field(35, int(model["byte_fallback"])) + integer_field(40, model["unk_id"])
    trainer += bytes_field(45, model["vocab"][model["unk_id"]][0])
    return b"".join(pieces) + bytes_field(2, trainer) + bytes_field(3, _normalizer(settings))


def _normalizer(settings: Json) -> bytes:
    steps: list[Json] = settings["normalizer"]["normalizers"]
    kinds = [step["type"] for step in steps]
    tables = [step["precompiled_charsmap"] for step in steps if step["type"] == "Precompiled"]
    rule = "nmt_nfkc" if "NFC" in kinds else "user_defined" if tables else "identity"
    written = bytes_field(1, rule)
    written += bytes_field(2, base64.b64decode(tables[0])) if tables else b""
    trims = any("Regex" in step["pattern"] for step in steps if step["type"] == "Replace")
    written += integer_field(3, int("Prepend" in kinds)) + integer_field(4, int(trims))
    return written + integer_field(5, 1)


def _list(tokenizer: ImportedTokenizer) -> str:
    ids = {name: number for number, name in enumerate(tokenizer.names()) if name != unused(number)}
    return json.dumps(ids, ensure_ascii=False, indent=1) + "\n"
