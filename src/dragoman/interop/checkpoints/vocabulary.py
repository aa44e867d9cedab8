"""Vocabularies of other trainers: a list of pieces in the order of their ids, and how text is cut.

The list says ids, and the cutting says pieces: what it finds that is not in the list is unknown.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dragoman.errors import ModelError
from dragoman.interop.vocabulary.sentencepiece import read_model, sentencepiece_settings
from dragoman.tokenization import Imported, ImportedTokenizer, SpecialIds

Json = dict[str, Any]  # Any: as JSON holds it
Cut = Literal["words", "characters", "smiles"]
SPACE = "▁"  # U+2581
_WORD_END = "</w>"  # behind the last piece of a word, in merges of subword-nmt
_GOES_ON = "@@"  # behind all others, in lists of pieces
# Atoms in brackets, rings of two digits, two letters of an atom; every other character alone.
_SMILES = r"\[[^\]]*\]|%\d{2}|Br|Cl|[\s\S]"
_MOST = 1 << 26  # bytes of a list or of merges


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The pieces of one side.

    Args:
        names: in the order of their ids.
        special: ids that no text gives.
        controls: further ids that no text gives, such as tags of languages.
    """

    names: tuple[str, ...]
    special: SpecialIds
    controls: tuple[int, ...] = ()

    def find(self, *names: str) -> tuple[int, ...]:
        """Give ids of pieces by name; those that are not there are left out."""
        ids = {name: number for number, name in enumerate(self.names)}
        return tuple(ids[name] for name in names if name in ids)


def read_lines(path: Path, *, hint: str = "give a text file") -> list[str]:
    """Read a text of one piece a line; only line feeds end one.

    Raises:
        ModelError: the file is missing, too large or no text in UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST + 1)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > _MOST:
        raise ModelError(f"{path}: is larger than vocabularies are")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ModelError(f"{path}: is no text in UTF-8; {hint}")
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def special_of(names: Sequence[str], path: Path, *, wanted: Sequence[str]) -> SpecialIds:
    """Find the ids of padding, start, end and unknown by name.

    Raises:
        ModelError: one is not there, or a piece stands there twice.
    """
    ids = {name: number for number, name in enumerate(names)}
    missing = [name for name in wanted if name not in ids]
    if missing:
        raise ModelError(f"{path}: has no piece {' or '.join(missing)}")
    if len(ids) < len(names):
        twice = next(name for number, name in enumerate(names) if ids[name] != number)
        raise ModelError(f"{path}: has the piece {twice!r} twice")
    return SpecialIds(*(ids[name] for name in wanted))


def see_size(names: Sequence[str], rows: int, path: Path) -> None:
    """See that there is a piece for every row of a table.

    Raises:
        ModelError: there is not.
    """
    if len(names) != rows:
        raise ModelError(
            f"{path}: has {len(names):,} pieces, and the table of the checkpoint {rows:,} rows; "
            "give the list that it was trained with"
        )


def make_tokenizer(
    listed: Listed, cutting: "Cut | Path", *, steps: Iterable[Json] = ()
) -> ImportedTokenizer:
    """Make a tokenizer with the ids of a list.

    Args:
        listed: the pieces.
        cutting: a way to cut by name, or a file that says it: merges of subword-nmt or fastBPE,
            or a SentencePiece model.
        steps: what text goes through first, as ``tokenizer.json`` says it.

    Raises:
        ModelError: the file cannot be read, or is neither.
    """
    if isinstance(cutting, str):
        settings, renamed = _WAYS[cutting](listed)
    else:
        settings, renamed = _by_file(cutting, listed)
    before = [*steps]
    if before:
        own = settings.get("normalizer")
        together = [*before, *([own] if own else [])]
        settings["normalizer"] = {"type": "Sequence", "normalizers": together}
    controls = {*listed.controls}
    imported = Imported(special=listed.special, controls=tuple(sorted(controls)), names=renamed)
    return ImportedTokenizer(settings, imported)


Made = tuple[Json, tuple[str, ...]]  # settings, and the list as these name the pieces


def _words(listed: Listed) -> Made:
    """Cut between spaces, as text that is cut already; pieces are joined by spaces again."""
    return _whole(listed, {"type": "WhitespaceSplit"}, None)


def _characters(listed: Listed) -> Made:
    """Take each character; a space is ``▁`` in lists that have one."""
    settings, names = _whole(listed, _split(r"[\s\S]"), {"type": "Fuse"})
    if SPACE in listed.names:
        settings["normalizer"] = _replace(" ", SPACE)
        steps = [_replace(SPACE, " "), {"type": "Fuse"}]
        settings["decoder"] = {"type": "Sequence", "decoders": steps}
    return settings, names


def _smiles(listed: Listed) -> Made:
    """Take the atoms and bonds of a molecule."""
    return _whole(listed, _split(_SMILES), {"type": "Fuse"})


_WAYS: dict[str, Callable[[Listed], Made]] = {
    "words": _words,
    "characters": _characters,
    "smiles": _smiles,
}


def _whole(listed: Listed, cutter: Json, decoder: Json | None) -> Made:
    """Look up whole what is cut off."""
    model: Json = {
        "type": "WordLevel",
        "vocab": {name: number for number, name in enumerate(listed.names)},
        "unk_token": _unknown(listed, listed.names),
    }
    return {"model": model, "pre_tokenizer": cutter, "decoder": decoder}, listed.names


def _replace(old: str, new: str) -> Json:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def _unknown(listed: Listed, names: Sequence[str]) -> str:
    number = listed.special.unknown
    assert number is not None  # every list has one
    return names[number]


def _split(pattern: str) -> Json:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }


def _by_file(path: Path, listed: Listed) -> Made:
    try:
        with path.open("rb") as file:
            begins = file.read(64)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    if begins.startswith(b"\x0a"):  # the first piece of a SentencePiece model
        return _sentencepiece(path, listed)
    return _merges(path, listed)


def _sentencepiece(path: Path, listed: Listed) -> Made:
    """Cut as a SentencePiece model does; its own ids have no meaning."""
    try:
        return sentencepiece_settings(read_model(path)), listed.names
    except ModelError as error:
        known = str(error).startswith(str(path))
        raise ModelError(str(error) if known else f"{path}: {error}") from None


def _merges(path: Path, listed: Listed) -> Made:
    """Read merges of subword-nmt since 0.2, or of fastBPE, which counts them."""
    lines = read_lines(path, hint="give merges of subword-nmt or a SentencePiece model")
    versioned = bool(lines) and lines[0].startswith("#version:")
    pairs = [
        _pair(line, number, path) for number, line in enumerate(lines, 1) if number > versioned
    ]
    fast = not versioned and bool(lines) and len(lines[0].split(" ")) == 3
    if not fast and not (versioned and re.fullmatch(r"#version: 0\.[2-9]\d*\s*", lines[0])):
        raise ModelError(
            f"{path}: is no list of merges of subword-nmt 0.2 or later, which begins with #version"
        )
    names = tuple(_as_merged(name) for name in listed.names)
    known = dict.fromkeys(names)
    for first, second in pairs:
        known |= dict.fromkeys((first, second, first + second))
    model: Json = {
        "type": "BPE",
        "vocab": {name: number for number, name in enumerate(known)},
        "merges": [list(pair) for pair in dict.fromkeys(pairs)],
        "unk_token": _unknown(listed, names),
        "end_of_word_suffix": _WORD_END,
        "fuse_unk": False,
    }
    decoder = {"type": "BPEDecoder", "suffix": _WORD_END}
    return {"model": model, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": decoder}, names


def _pair(line: str, number: int, path: Path) -> tuple[str, str]:
    parts = line.rstrip().split(" ")
    if len(parts) not in (2, 3) or not all(parts):
        raise ModelError(f"{path}: line {number}: {line[:40]!r} is no merge of two pieces")
    return parts[0], parts[1]


def _as_merged(name: str) -> str:
    """Call a piece as merges do: ``wo@@`` is ``wo``, and ``rd`` is ``rd</w>``."""
    return name.removesuffix(_GOES_ON) if name.endswith(_GOES_ON) else name + _WORD_END
