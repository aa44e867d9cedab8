"""Settings that the library of tokenizers reads without a word, and later ends the process for."""

import base64
import binascii
import struct
from typing import cast

from dragoman.errors import ModelError
from dragoman.tokenization.foreign_spelling import flat
from dragoman.tokenization.tokenizer import Json


def refuse_unsound(settings: Json) -> None:
    """Refuse settings with which the library would fail while it reads or cuts text.

    Raises:
        ModelError: there are such settings.
    """
    for step in flat(settings["normalizer"], "normalizers"):
        if step["type"] == "Precompiled":
            _refuse_table(step.get("precompiled_charsmap"))
    for step in flat(settings["decoder"], "decoders"):
        if step["type"] == "Strip" and step.get("stop") != 0:
            raise ModelError("strips what it decodes in a way that is not read here")
    model = settings["model"]
    if model["type"] == "BPE":
        if model.get("continuing_subword_prefix"):
            raise ModelError("marks parts of words in a way that is not read here")
        if model.get("dropout"):
            raise ModelError("cuts text at random: set dropout to null, as it is for training")
        unknown = model.get("unk_token")
        if unknown is not None and unknown not in cast("Json", model["vocab"]):
            raise ModelError("has no piece for unknown text")
    if model["type"] == "Unigram":
        unknown = model.get("unk_id")
        if type(unknown) is not int or not 0 <= unknown < len(model["vocab"]):
            raise ModelError("has no piece for unknown text")
    elif model["type"] != "BPE" and model.get("unk_token") not in cast("Json", model["vocab"]):
        raise ModelError("has no piece for unknown text")


def _refuse_table(table: object) -> None:
    """Refuse what is no table of normalisation: the size of a trie, the trie, and strings."""
    try:
        content = base64.b64decode(table, validate=True) if isinstance(table, str) else b""
    except (binascii.Error, ValueError):
        content = b""
    size: int = struct.unpack("<I", content[:4])[0] if len(content) >= 4 else 0
    if not 0 < size <= len(content) - 4 or size % 4:
        raise ModelError("its table of normalisation is damaged")
    try:
        content[4 + size :].decode("utf-8")
    except UnicodeDecodeError:
        raise ModelError("its table of normalisation is damaged") from None
