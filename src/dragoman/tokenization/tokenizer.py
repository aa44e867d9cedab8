"""One tokenizer and its special symbols: text to ids and back, losslessly.

The law: ``decode(encode(text)) == normalize(text)`` for every string. What makes it hold:

- Pieces hold literal spaces; no visible stand-in such as ``▁`` could be mistaken for text. One
  space goes before the text, so that its first word gets the ids it has elsewhere, and comes off
  again; not so when pieces are single characters.
- What has no piece becomes its UTF-8 bytes, pieces ``<0x00>`` to ``<0xFF>``.
- ``<`` is always cut off as a piece of its own. So no text, typed by a user or learnt from, forms
  ``</s>``, ``<pad>``, ``<2de>`` or ``<0x41>``: control ids enter through the API only.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, cast

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from dragoman.atomic import write_text
from dragoman.errors import ModelError
from dragoman.tokenization.byte_level import from_byte_characters
from dragoman.tokenization.stretches import (
    NormalForm,
    form_steps,
    normal_form_of,
    text_normalizer,
    word_splitter,
)

Json = dict[str, Any]  # Any: what JSON holds is known only after looking


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids of the pieces that no text contains.

    In imported vocabularies some may be one: a target may begin with padding or with the end
    symbol, and ``unknown`` is one of the others where no text is unknown.
    """

    padding: int = 0
    start: int = 1
    end: int = 2
    unknown: int = 3

    @property
    def banned(self) -> tuple[int, ...]:
        """Ids that are never chosen as the next piece; the end symbol always may be."""
        never = dict.fromkeys((self.padding, self.start, self.unknown))
        return tuple(each for each in never if each != self.end)


SPECIAL_PIECES = ("<pad>", "<s>", "</s>", "<unk>")  # in the order of SpecialIds
BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))
LANGUAGE_PIECE = re.compile(r"<2([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)>")  # see languages.py


class Tokenizer:
    """A vocabulary at work.

    ``special`` holds the ids of the special symbols, ``languages`` those of language tags by name.

    Args:
        backend: made by ``assemble`` or read from ``tokenizer.json``.

    Raises:
        ModelError: the backend could turn typed text into control ids, shorten it or change it.
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        settings = cast("Json", json.loads(backend.to_str()))
        vocabulary = backend.get_vocab()
        self._backend = backend
        self._pieces = {number: piece for piece, number in vocabulary.items()}
        self.special = _special_ids(vocabulary)
        self.languages = _languages(backend, vocabulary)
        self.normal_form: NormalForm
        self.normal_form, self.lead = normal_form_of(settings["normalizer"])
        self._form = normalizers.Sequence(form_steps(self.normal_form))
        over_bytes = is_over_bytes(settings["pre_tokenizer"])
        meaning = from_byte_characters if over_bytes else _piece_bytes
        controls = {*astuple(self.special), *self.languages.values()}
        texts = {number: piece for number, piece in self._pieces.items() if number not in controls}
        try:
            self._bytes = {number: meaning(piece) for number, piece in texts.items()}
        except ValueError as error:
            raise ModelError(f"has a piece over bytes that is none ({error})") from None
        if over_bytes:  # for display
            self._pieces |= {each: self._bytes[each].decode("utf-8", "replace") for each in texts}
        self._bytes |= dict.fromkeys(controls, b"")
        self._refuse_unsafe(settings)

    @property
    def lossless(self) -> bool:
        """Whether ``decode(encode(text))`` is ``normalize(text)`` for every text."""
        return True

    @property
    def gap(self) -> int:
        """Id that stands for a gap to fill, in a model that learnt to fill gaps."""
        return self.special.unknown

    @property
    def size(self) -> int:
        """Pieces in the vocabulary, special symbols and byte pieces included."""
        return len(self._pieces)

    def encode(self, text: str) -> list[int]:
        """Turn text into ids, without start or end symbols.

        What has neither a piece nor byte pieces becomes ``special.unknown``.

        Raises:
            ValueError: the text holds half a surrogate pair, which is no Unicode character.
        """
        try:
            return self._backend.encode(text, add_special_tokens=False).ids
        except (TypeError, UnicodeEncodeError):
            refuse_surrogates(text)
            raise

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """Turn texts into ids, one list each, in order; faster than one by one.

        Raises:
            ValueError: as ``encode``; the message counts texts from 0.
        """
        try:
            encodings = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        except (TypeError, UnicodeEncodeError):
            for number, text in enumerate(texts):
                refuse_surrogates(text, f"text {number}: ")
            raise
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into text.

        Special symbols leave no trace. Byte pieces that are not UTF-8, as a model may generate
        them, become U+FFFD. Any character may come out, line breaks included.

        Raises:
            ValueError: an id is outside the vocabulary.
        """
        try:
            text = b"".join([self._bytes[number] for number in ids])
        except KeyError as error:
            raise self._outside(error) from None
        return text.decode("utf-8", errors="replace").removeprefix(self.lead)

    def decode_many(self, many: Iterable[Iterable[int]]) -> list[str]:
        """Turn lists of ids into texts, in order."""
        return [self.decode(ids) for ids in many]

    def piece_bytes(self) -> dict[int, bytes]:
        """Say which bytes of text each piece stands for; none for special symbols and tags."""
        return dict(self._bytes)

    def names(self) -> list[str]:
        """Name all pieces as ``tokenizer.json`` does, in the order of their ids."""
        vocabulary = self._backend.get_vocab(with_added_tokens=True)
        return sorted(vocabulary, key=vocabulary.__getitem__)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Name ids for display: ``" word"``, ``"ing"``, ``"</s>"``, ``"<0xE2>"``.

        A piece that begins a word keeps its leading space.

        Raises:
            ValueError: an id is outside the vocabulary.
        """
        try:
            return [self._pieces[number] for number in ids]
        except KeyError as error:
            raise self._outside(error) from None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Say which characters of text each piece of ``encode(text)`` stands for: first, one past.

        Pieces that share a character, as its bytes do, name it each.

        Raises:
            ValueError: as ``encode``.
        """
        refuse_surrogates(text)
        return list(self._backend.encode(text, add_special_tokens=False).offsets)

    def normalize(self, text: str) -> str:
        """Bring text to the normal form of this vocabulary; doing it twice changes nothing more.

        Raises:
            ValueError: the text holds half a surrogate pair.
        """
        refuse_surrogates(text)
        return self._form.normalize_str(text)

    def cut(self, text: str) -> list[str]:
        """Cut text, brought to its form, into the stretches that no piece crosses.

        Raises:
            ValueError: the text holds half a surrogate pair.
        """
        refuse_surrogates(text)
        normalizer, pre_tokenizer = self._backend.normalizer, self._backend.pre_tokenizer
        assert normalizer is not None  # files without one are refused
        normalised = normalizer.normalize_str(text)
        if pre_tokenizer is None or not normalised:
            return [normalised] if normalised else []
        return [stretch for stretch, _ in pre_tokenizer.pre_tokenize_str(normalised)]

    def to_json(self) -> str:
        """Write what ``tokenizer.json`` holds."""
        return self._backend.to_str(pretty=True)

    def save(self, path: Path) -> None:
        """Write ``tokenizer.json``, aside first, so that no reader meets half a file.

        Raises:
            ModelError: the file cannot be written.
        """
        try:
            write_text(path, self.to_json())
        except OSError as error:
            raise ModelError(
                f"{path}: cannot be written: {error.strerror}; make room or choose another folder, "
                "then give the same command"
            ) from None

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read a file that ``save`` wrote.

        Raises:
            ModelError: the file is missing, damaged, or breaks a promise of this class.
        """
        try:
            backend = tokenizers.Tokenizer.from_str(path.read_bytes().decode("utf-8"))
        except FileNotFoundError:
            raise ModelError(f"{path}: no such file") from None
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
        except Exception as error:  # the library raises no narrower class
            raise ModelError(f"{path}: not a tokenizer, or damaged ({error})") from None
        try:
            return cls(backend)
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None

    def _refuse_unsafe(self, settings: Json) -> None:
        """Check the promises of this class on a text made to break them."""
        if settings["added_tokens"]:
            raise ModelError("has added tokens, which would be found inside what users type")
        if settings["truncation"] or settings["padding"]:
            raise ModelError("cuts or pads text; set truncation and padding to null")
        typed = " ".join(["", *SPECIAL_PIECES, *SPECIAL_PIECES, "<0x41>", ""])
        ids = self.encode(typed)
        unknown = self.special.unknown
        ids += [number for piece in SPECIAL_PIECES for number in self.encode(piece)]
        if ({*astuple(self.special)} - {unknown}) & {*ids}:
            raise ModelError("turns typed text such as </s> into control ids")
        decoded = self.decode(self.encode(typed))
        if unknown not in ids and decoded != typed:
            raise ModelError(f"gives back {typed!r} as {decoded!r}")

    def _outside(self, error: KeyError) -> ValueError:
        return ValueError(f"id {error.args[0]} is outside the vocabulary of {self.size:,} pieces")


def assemble(
    model: models.Model,
    normal_form: NormalForm,
    *,
    splitter: pre_tokenizers.PreTokenizer | None = None,
    lead: str = " ",
    over_bytes: bool = False,
) -> Tokenizer:
    """Put a learnt vocabulary between the steps before and after it.

    Args:
        model: of the library; its pieces hold literal spaces and begin with ``SPECIAL_PIECES``.
        normal_form: what text is brought to first.
        splitter: cuts text into the stretches that a piece may not cross, and loses nothing;
            ``word_splitter`` unless given.
        lead: goes before the text and comes off again: a space, or nothing when no piece tells
            the beginning of a word.
        over_bytes: pieces are made of ``byte_level.BYTE_CHARACTERS``, which the splitter makes.

    Raises:
        ModelError: the vocabulary breaks a promise of ``Tokenizer``.
    """
    backend = tokenizers.Tokenizer(model)
    backend.normalizer = text_normalizer(normal_form, lead=lead)
    backend.pre_tokenizer = splitter or word_splitter()
    # For others who read the file; `Tokenizer.decode` does the same, and invalid bytes better.
    strip = [decoders.Strip(lead, 1, 0)] if lead else []
    spelled = [decoders.ByteLevel()] if over_bytes else [decoders.ByteFallback(), decoders.Fuse()]
    backend.decoder = decoders.Sequence([*spelled, *strip])
    return Tokenizer(backend)


def refuse_surrogates(text: str, where: str = "") -> None:
    """Refuse a string that is not Unicode text.

    Raises:
        ValueError: it holds half a surrogate pair; ``where`` begins the message.
        TypeError: it is no string.
    """
    try:
        str.encode(text, "utf-8")  # a TypeError that says so when it is no string
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise ValueError(
            f"{where}character {error.start} is U+{code:04X}, half of a surrogate pair; "
            "decode the input as UTF-8 or UTF-16 first"
        ) from None


def is_over_bytes(pre_tokenizer: Json | None) -> bool:
    """Whether pieces are made of ``byte_level.BYTE_CHARACTERS``."""
    if pre_tokenizer is None:
        return False
    if pre_tokenizer["type"] == "Sequence":
        return is_over_bytes(pre_tokenizer["pretokenizers"][-1])
    return pre_tokenizer["type"] == "ByteLevel"


def _special_ids(vocabulary: dict[str, int]) -> SpecialIds:
    missing = [piece for piece in SPECIAL_PIECES if piece not in vocabulary]
    if missing:
        raise ModelError(f"has no piece {' or '.join(missing)}")
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise ModelError("has ids that are not 0, 1, 2 and so on without gaps")
    return SpecialIds(*(vocabulary[piece] for piece in SPECIAL_PIECES))


def _languages(backend: tokenizers.Tokenizer, vocabulary: dict[str, int]) -> dict[str, int]:
    """Find the ids of language tags by name: pieces of their shape that no text gives."""
    found = {
        match[1]: number
        for piece, number in sorted(vocabulary.items(), key=lambda each: each[1])
        if (match := LANGUAGE_PIECE.fullmatch(piece))
    }
    typed = " ".join(f"<2{name}> a<2{name}><2{name}>" for name in found)
    given = {*backend.encode(typed, add_special_tokens=False).ids} if found else set[int]()
    return {name: number for name, number in found.items() if number not in given}


def _piece_bytes(piece: str) -> bytes:
    if piece in BYTE_PIECES:
        return bytes([BYTE_PIECES.index(piece)])
    return piece.encode()
