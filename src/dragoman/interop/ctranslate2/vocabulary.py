"""The pieces of a CTranslate2 folder by id, and which of them are control symbols."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.errors import ModelError
from dragoman.interop.ctranslate2.settings import Settings, read_json
from dragoman.tokenization import SpecialIds

_PADDING = ("<blank>", "<pad>", "[PAD]", "<PAD>")
_STARTS, _ENDS = ("<s>", "[CLS]"), ("</s>", "[SEP]")
_ADDED = "<unused {}>"  # rows that only make room for padding


@dataclass(frozen=True, slots=True)
class Pieces:
    """The vocabulary of one side.

    Args:
        names: by id.
        special: ids of the control symbols.
        added: how many of the last ids the file has no rows for: padding, and what makes room.
    """

    names: tuple[str, ...]
    special: SpecialIds
    added: int = 0


def read_pieces(folder: Path, settings: Settings, *, one_sided: bool) -> list[tuple[str, ...]]:
    """Read the vocabularies as the library does: one when it is shared, else source and target.

    The name of unknown text is added where it is missing.

    Raises:
        ModelError: a file is missing or damaged, or two pieces have one name.
    """
    stems = ["vocabulary"] if one_sided else ["shared_vocabulary"]
    if not one_sided and _file(folder, stems[0]) is None:
        stems = ["source_vocabulary", "target_vocabulary"]
    found: list[tuple[str, ...]] = []
    for stem in stems:
        path = _file(folder, stem)
        if path is None:
            raise ModelError(f"{folder / stem}.json: no such file; copy the whole folder")
        names = _read(path)
        if settings.unknown not in names:
            names = [*names, settings.unknown]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ModelError(f"{path}: has two pieces {twice!r}; remove one and its weights")
        found.append(tuple(names))
    return found[:1] if len(found) == 2 and found[0] == found[1] else found


def complete(
    path: Path, sides: list[tuple[str, ...]], settings: Settings, *, from_zero: bool, alone: bool
) -> list[Pieces]:
    """Find the control symbols; padding gets an id of its own where there is none for it.

    A decoder alone needs none: what stands behind the pieces of a text is never looked at.

    Args:
        path: of the folder, for messages.
        sides: pieces by id, of one side or two.
        settings: which symbols there are.
        from_zero: whether targets begin with a vector of zeros, which is that of padding.
        alone: whether the model is a decoder alone.

    Raises:
        ModelError: a symbol is not among the pieces.
    """
    common = [
        number
        for number, name in enumerate(sides[-1])
        if name in _PADDING and all(side[number : number + 1] == (name,) for side in sides)
    ]
    padding = max(map(len, sides))
    if common and not from_zero:
        padding = common[0]
    elif alone and not from_zero:
        padding = _special(path, sides[0], settings, 0).end
    made: list[Pieces] = []
    for side in sides:
        added = max(0, padding + 1 - len(side))
        names = [*side, *(_ADDED.format(number) for number in range(1, added))]
        names += [_free(side)] * (added > 0)
        special = _special(path, side, settings, padding)
        if from_zero:
            special = SpecialIds(padding, padding, special.end, special.unknown)
        made.append(Pieces(tuple(names), special, added))
    return made


def _free(names: tuple[str, ...]) -> str:
    """Name padding as no piece is."""
    return next(name for name in ("<pad>", *_PADDING, "<padding>") if name not in names)


def _special(path: Path, names: tuple[str, ...], settings: Settings, padding: int) -> SpecialIds:
    ids = {name: number for number, name in reversed(list(enumerate(names)))}
    unknown = ids[settings.unknown]
    end = next((ids[name] for name in (settings.end, *_ENDS) if name in ids), None)
    if end is None:
        raise ModelError(f"{path}: has no piece {settings.end} that ends a text")
    begins = settings.target_start or settings.start
    start = next((ids[name] for name in (begins, *_STARTS) if name in ids), end)
    return SpecialIds(padding, start, end, unknown)


def _file(folder: Path, stem: str) -> Path | None:
    for ending in ("json", "txt"):
        if (path := folder / f"{stem}.{ending}").is_file():
            return path
    return None


def _read(path: Path) -> list[str]:
    """Read a list in JSON, or one piece a line; a line may end in a carriage return if all do."""
    if path.suffix == ".json":
        names: list[Any] = read_json(path, list)
        if not all(isinstance(name, str) for name in names):
            raise ModelError(f"{path}: holds something that is no piece; copy it again")
        return names
    try:
        lines = path.read_bytes().decode().split("\n")
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ModelError(f"{path}: is not UTF-8; copy it again") from None
    lines = lines[:-1] if lines[-1] == "" else lines
    if lines and all(line.endswith("\r") for line in lines):
        return [line[:-1] for line in lines]
    return lines
