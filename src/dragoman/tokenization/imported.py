"""A tokenizer of another toolkit, used as it is: its ids, its normal form, its way to cut text.

What ``Tokenizer`` promises holds here but for one law: text does not always come back. A vocabulary
may write in lower case, forget spaces or not know a character; ``lossless`` says so. Still no text
gives a control id: while text is cut, control pieces go by names that nobody can type.
"""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import cast

import tokenizers

from dragoman.errors import ModelError
from dragoman.tokenization.foreign_file import (
    OURS,
    complete,
    hide,
    names_of,
    padded,
    special_names,
)
from dragoman.tokenization.foreign_soundness import refuse_unsound
from dragoman.tokenization.foreign_spelling import Spelling, cleaned_up
from dragoman.tokenization.tokenizer import Json, SpecialIds, Tokenizer, refuse_surrogates


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What ``tokenizer.json`` does not say of a vocabulary.

    Args:
        special: ids of padding, of what a target begins with, of the end and of unknown text.
            ``start`` may be ``end`` or ``padding``; ``unknown`` is one of the others where the
            vocabulary has none, and then what has no piece is left out.
        size: ids of the model; those that have no piece are given names and never come out of
            text. None when there are no more than pieces.
        controls: ids that no text may give, besides ``special`` and what the file calls special.
        languages: ids of tags that stand before a source, by the name of the language.
        names: pieces by id, when the file only cuts text and the ids are those of another list;
            what is not among them becomes unknown. None when the ids are those of the file.
        tidy: whether ``decode`` takes out spaces before punctuation, as ``transformers`` does when
            ``clean_up_tokenization_spaces`` is set.
    """

    special: SpecialIds
    size: int | None = None
    controls: tuple[int, ...] = ()
    languages: Mapping[str, int] = field(default_factory=dict[str, int])
    names: tuple[str, ...] | None = None
    tidy: bool = False


class ImportedTokenizer(Tokenizer):
    """A vocabulary of another toolkit at work; used wherever a ``Tokenizer`` is.

    ``controls`` holds the ids that no text gives, by name.

    Args:
        settings: what a ``tokenizer.json`` of the Hugging Face format holds.
        imported: what it does not say.

    Raises:
        ModelError: it is no tokenizer, ids are outside of it, or two pieces have one name.
    """

    def __init__(self, settings: Json, imported: Imported) -> None:
        settings = complete(settings)
        _refuse_damaged(settings)
        self.imported = imported
        self.special, self.languages = imported.special, dict(imported.languages)
        self.normal_form = "none"  # its own normal form is no other's
        self._settings = settings
        names, marked = names_of(settings) if imported.names is None else (imported.names, [])
        self._names = padded(names, imported.size)
        known = astuple(imported.special)
        unnamed = range(len(names), len(self._names))
        ids = {*known, *imported.controls, *imported.languages.values(), *marked, *unnamed}
        outside = [number for number in sorted(ids) if not 0 <= number < len(self._names)]
        if outside:
            raise ModelError(f"has {self.size:,} pieces, so that there is no id {outside[0]}")
        self._controls = frozenset(ids)
        self._unknown = None if known[-1] in known[:-1] else known[-1]
        self.controls = {self._names[number]: number for number in sorted(ids)}
        self._backend = self._open(settings)
        self._spelling = Spelling(settings)
        self.lead = self._spelling.lead
        self._bytes = {
            number: b"" if number in ids else self._spelling.bytes(name)
            for number, name in enumerate(self._names)
        }
        self._pieces = {
            number: name if number in ids else self._spelling.shown(name)
            for number, name in enumerate(self._names)
        }
        self._ids: dict[str, int] | None = None
        if imported.names is not None:
            text = ((number, name) for number, name in enumerate(names) if number not in ids)
            self._ids = {self._spelling.cut_name(name): number for number, name in text}

    @property
    def settings(self) -> Json:
        """What the other toolkit's ``tokenizer.json`` holds, or how its files cut text."""
        return self._settings

    @property
    def lossless(self) -> bool:
        """Whether ``decode(encode(text))`` is ``normalize(text)`` for every text; not promised."""
        return False

    @property
    def gap(self) -> int:
        """Id that stands for a gap: that of a piece for it where there is one."""
        masks = (self.controls[name] for name in ("[MASK]", "<mask>") if name in self.controls)
        return next(masks, self.special.unknown)

    @property
    def size(self) -> int:
        """Ids of the model, those without a piece included."""
        return len(self._names)

    def encode(self, text: str) -> list[int]:
        """Turn text into ids, without start or end symbols and without control ids.

        What has no piece becomes ``special.unknown``, or nothing where that is another symbol.

        Raises:
            ValueError: the text holds half a surrogate pair, which is no Unicode character.
        """
        refuse_surrogates(text)
        return self._ids_of(self._backend.encode(text, add_special_tokens=False))

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """Turn texts into ids, one list each, in order; faster than one by one.

        Raises:
            ValueError: as ``encode``; the message counts texts from 0.
        """
        for number, text in enumerate(texts):
            refuse_surrogates(text, f"text {number}: ")
        # The faster one does not say which pieces they are, only their ids in the file.
        fast = self._ids is None
        cut = self._backend.encode_batch_fast if fast else self._backend.encode_batch
        encodings = cut(list(texts), add_special_tokens=False)
        return [self._ids_of(each) for each in encodings]

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids into text as the toolkit of this vocabulary does.

        Special symbols leave no trace, the one for unknown text included.

        Raises:
            ValueError: an id is outside the vocabulary.
        """
        ids = list(ids)
        for number in ids:
            if not 0 <= number < self.size:
                raise self._outside(KeyError(number))
        names = [self._names[number] for number in ids if number not in self._controls]
        decoder = self._backend.decoder
        text = " ".join(names) if decoder is None else decoder.decode(names)
        return cleaned_up(text) if self.imported.tidy else text

    def names(self) -> list[str]:
        """Name all pieces as the toolkit of this vocabulary does, in the order of their ids."""
        return list(self._names)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Say which characters of text each piece of ``encode(text)`` stands for: first, one past.

        Raises:
            ValueError: as ``encode``.
        """
        refuse_surrogates(text)
        encoding = self._backend.encode(text, add_special_tokens=False)
        found = zip(encoding.offsets, self._found(encoding), strict=True)
        return [span for span, number in found if number is not None]

    def normalize(self, text: str) -> str:
        """Bring text to the form in which this vocabulary sees it, spaces written as spaces.

        Raises:
            ValueError: the text holds half a surrogate pair.
        """
        refuse_surrogates(text)
        return self._spelling.normalize(text)

    def cut(self, text: str) -> list[str]:
        """Cut text, brought to its form, into the stretches that no piece crosses.

        Raises:
            ValueError: the text holds half a surrogate pair.
        """
        refuse_surrogates(text)
        normalizer, pre_tokenizer = self._backend.normalizer, self._backend.pre_tokenizer
        normalised = text if normalizer is None else normalizer.normalize_str(text)
        if pre_tokenizer is None or not normalised:
            return [normalised] if normalised else []
        return [stretch for stretch, _ in pre_tokenizer.pre_tokenize_str(normalised)]

    def to_json(self) -> str:
        """Write what ``tokenizer.json`` holds: their file, and under ``model`` what is ours."""
        own = {**asdict(self.imported), "names": self.imported.names}
        settings = {**self._settings, "model": {**self._settings["model"], OURS: own}}
        return json.dumps(settings, ensure_ascii=False, indent=1)

    @classmethod
    def from_settings(cls, settings: Json) -> "ImportedTokenizer":
        """Make one of what ``to_json`` wrote.

        Raises:
            ModelError: it is damaged.
        """
        try:
            own = dict(cast("Json", settings["model"][OURS]))
            special = SpecialIds(**own.pop("special"))
            names = own.pop("names")
            imported = Imported(
                special=special,
                names=None if names is None else tuple(names),
                controls=tuple(own.pop("controls")),
                **own,
            )
            return cls(settings, imported)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelError(f"not a tokenizer, or damaged ({error!r})") from None

    @classmethod
    def load(cls, path: Path) -> "ImportedTokenizer":
        """Read a file that ``save`` wrote.

        Raises:
            ModelError: the file is missing or damaged.
        """
        loaded = load_tokenizer(path)
        if not isinstance(loaded, cls):
            raise ModelError(f"{path}: was not imported; read it with Tokenizer.load")
        return loaded

    def _open(self, settings: Json) -> tokenizers.Tokenizer:
        """Make the backend, in which control pieces go by names that nobody can type."""
        # Drawn anew each time, and never written down: known, it could be typed.
        secret = secrets.token_hex(16)
        guarded = hide(settings, {*self.controls, *special_names(settings)}, secret)
        try:
            backend = tokenizers.Tokenizer.from_str(json.dumps(guarded))
        except Exception as error:  # the library raises no narrower class
            raise ModelError(f"not a tokenizer, or damaged ({error})") from None
        backend.encode_special_tokens = True
        return backend

    def _ids_of(self, encoding: tokenizers.Encoding) -> list[int]:
        ids = encoding.ids
        if self._ids is None and self._controls.isdisjoint(ids):
            return ids
        return [number for number in self._found(encoding) if number is not None]

    def _found(self, encoding: tokenizers.Encoding) -> list[int | None]:
        """Give an id for each piece of the backend, None where nothing stands for it."""
        if self._ids is not None:
            return [self._ids.get(token, self._unknown) for token in encoding.tokens]
        # The file's own symbol for unknown text comes out of text, and may have another id here.
        return [self._unknown if each in self._controls else each for each in encoding.ids]


def _refuse_damaged(settings: Json) -> None:
    try:
        refuse_unsound(settings)
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"not a tokenizer, or damaged ({error!r})") from None


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a ``tokenizer.json`` of a model folder, be its vocabulary ours or imported.

    Raises:
        ModelError: the file is missing, damaged, or breaks a promise of its class.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return Tokenizer.load(path)  # which says what is wrong
    try:
        return tokenizer_from_json(text)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def tokenizer_from_json(text: str) -> Tokenizer:
    """Make a tokenizer of what ``to_json`` wrote.

    Raises:
        ModelError: it is damaged, or breaks a promise of its class.
    """
    try:
        settings = cast("Json", json.loads(text))
        is_imported = OURS in settings["model"]
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise ModelError(f"not a tokenizer, or damaged ({error})") from None
    if is_imported:
        return ImportedTokenizer.from_settings(settings)
    try:
        backend = tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises no narrower class
        raise ModelError(f"not a tokenizer, or damaged ({error})") from None
    return Tokenizer(backend)
