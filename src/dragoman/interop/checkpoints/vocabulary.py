"""Vocabularies of other trainers: a list of pieces in the order of their ids, and how text is cut.

The list says ids, and the cutting says pieces: what it finds that is not in the list is unknown.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dragoman.errors import ModelError
from dragoman.interop.vocabulary import tokenizer_of_pieces
from dragoman.tokenization import ImportedTokenizer, SpecialIds

Json = dict[str, Any]  # Any: as JSON holds it
Cut = Literal["pieces", "characters", "longest", "smiles"]
# Atoms in brackets, rings of two digits, two letters of an atom; every other character alone.
_SMILES = r"\[[^\]]*\]|%\d{2}|Br|Cl|[\s\S]"
_MOST = 1 << 26  # bytes of a list


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
    listed: Listed, cut: Cut | Path, *, steps: Sequence[Json] = ()
) -> ImportedTokenizer:
    """Make a tokenizer with the ids of a list.

    Args:
        listed: the pieces.
        cut: how text is cut: see ``tokenizer_of_pieces``; ``smiles`` takes atoms and bonds of a
            molecule.
        steps: what text goes through first, as ``tokenizer.json`` says it.

    Raises:
        ModelError: a file that says how text is cut cannot be read.
    """
    named = "longest" if cut == "smiles" else cut
    made = tokenizer_of_pieces(listed.names, listed.special, cut=named, controls=listed.controls)
    if cut != "smiles" and not steps:
        return made
    settings: Json = json.loads(made.to_json())
    if cut == "smiles":
        split = {"type": "Split", "pattern": {"Regex": _SMILES}}
        settings["pre_tokenizer"] = {**split, "behavior": "Isolated", "invert": False}
    own = settings.get("normalizer")
    if steps:
        together = [*steps, *([own] if own else [])]
        settings["normalizer"] = {"type": "Sequence", "normalizers": together}
    return ImportedTokenizer(settings, made.imported)
