"""What the pieces of another toolkit spell: it writes spaces and bytes in ways of its own.

GPT-2          "Ġword"     bytes as characters
SentencePiece  "▁word"     a space as U+2581, a byte as <0x41>
WordPiece      "word"      the start of a word, and "##ing" what goes on
subword-nmt    "wo@@"      a word that goes on, or "word</w>" its end
"""

import json
from collections.abc import Iterator

import tokenizers

from dragoman.tokenization.byte_level import from_byte_characters
from dragoman.tokenization.tokenizer import BYTE_PIECES, Json

SPACE = "▁"  # U+2581
_TIDY = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")


class Spelling:
    """How one vocabulary spells text, found in how it decodes.

    ``lead`` is what the first piece of a text begins with and ``decode`` takes off.

    Args:
        settings: what a ``tokenizer.json`` holds.
    """

    def __init__(self, settings: Json) -> None:
        steps = [*flat(settings["decoder"], "decoders")]
        kinds = {step["type"]: step for step in steps}
        self._over_bytes = "ByteLevel" in kinds
        self._prefix = kinds["WordPiece"]["prefix"] if "WordPiece" in kinds else None
        self._suffix = kinds["BPEDecoder"]["suffix"] if "BPEDecoder" in kinds else None
        self._apart = not steps
        self._joins = any(step.get("pattern") == {"Regex": r"@@\z"} for step in steps)
        self._ends_words = settings["model"].get("end_of_word_suffix") or ""
        self._space = "Metaspace" in kinds or any(
            step["type"] == "Replace" and step["content"] == " " for step in steps
        )
        self._falls_back = "ByteFallback" in kinds
        leads = self._prefix is not None or self._apart or (self._space and not self._joins)
        self.lead = " " if leads and _leads(steps) else ""
        self._normalizer = _text_normalizer(settings)

    def bytes(self, piece: str) -> bytes:
        """Give the bytes of text that a piece stands for, within a text."""
        if self._over_bytes:
            try:
                return from_byte_characters(piece)
            except ValueError:
                return piece.encode()  # a whole piece that was added to the vocabulary
        if self._falls_back and piece in BYTE_PIECES:
            return bytes([BYTE_PIECES.index(piece)])
        return self.text(piece).encode()

    def text(self, piece: str) -> str:
        """Give the text of a piece that is not over bytes."""
        if self._prefix is not None:
            goes_on = piece.startswith(self._prefix)
            return piece.removeprefix(self._prefix) if goes_on else f" {piece}"
        if self._suffix is not None:
            return piece.replace(self._suffix, " ")
        if self._apart:
            return f" {piece}"
        if self._joins:
            return piece.removesuffix("@@") if piece.endswith("@@") else f"{piece} "
        return piece.replace(SPACE, " ") if self._space else piece

    def cut_name(self, piece: str) -> str:
        """Name a piece of another list as the file does that cuts text."""
        if not (self._joins and self._ends_words):
            return piece
        goes_on = piece.endswith("@@")
        return piece.removesuffix("@@") if goes_on else piece + self._ends_words

    def shown(self, piece: str) -> str:
        """Write a piece for display: a space as a space, a byte as ``<0xE2>``."""
        if self._over_bytes:
            return self.bytes(piece).decode("utf-8", "replace")
        return piece if self._falls_back and piece in BYTE_PIECES else self.text(piece)

    def normalize(self, text: str) -> str:
        """Bring text to the form of the vocabulary, spaces written as spaces."""
        if self._normalizer is None:
            return text
        text = self._normalizer.normalize_str(text)
        return text.replace(SPACE, " ") if self._space else text


def cleaned_up(text: str) -> str:
    """Take out spaces before English punctuation and short forms, as ``transformers`` does."""
    for each in _TIDY:
        text = text.replace(each, each.strip())
    return text


def flat(step: Json | None, inside: str) -> Iterator[Json]:
    """Give the steps of a sequence, sequences in it included."""
    if step is None:
        return
    if step["type"] != "Sequence":
        yield step
        return
    for each in step[inside]:
        yield from flat(each, inside)


def _leads(steps: list[Json]) -> bool:
    """Whether the decoder takes a space off the beginning."""
    kinds = {step["type"]: step for step in steps}
    if "Metaspace" in kinds:
        metaspace = kinds["Metaspace"]
        scheme = metaspace.get("prepend_scheme", "always")
        return scheme != "never" and metaspace.get("add_prefix_space", True)
    trims = any(step["type"] == "Replace" and step["content"] == "" for step in steps)
    return not steps or "WordPiece" in kinds or "Strip" in kinds or trims


def _text_normalizer(settings: Json) -> tokenizers.normalizers.Normalizer | None:
    """Build what changes text, without the steps that only write spaces in another way."""
    steps = [
        step
        for step in flat(settings["normalizer"], "normalizers")
        if step["type"] != "Prepend"
        and not (step["type"] == "Replace" and step["pattern"] == {"String": " "})
    ]
    if not steps:
        return None
    # The library reads normalizers only as part of a tokenizer.
    empty: Json = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str())
    empty["normalizer"] = {"type": "Sequence", "normalizers": steps}
    return tokenizers.Tokenizer.from_str(json.dumps(empty)).normalizer
