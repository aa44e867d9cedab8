"""Which files a corpus lies in: formats told by names, patterns, and what messages call it.

A name with ``*``, ``?`` or ``[`` in it is a pattern: the files that match are read one after the
other, as one corpus, in natural order (``part-2`` before ``part-10``). A file that really has such
a name wins.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from dragoman.configfile import suggest
from dragoman.data.corpora import (
    Column,
    Corpus,
    CsvFile,
    Dataset,
    Files,
    JsonLines,
    Mo,
    OneFile,
    Parquet,
    Po,
    QtTs,
    Tmx,
    TsvFile,
    Xliff,
)
from dragoman.data.formats import format_of
from dragoman.errors import ConfigError, DataError

_BY_KIND: dict[str, type[OneFile]] = {
    "tsv": TsvFile, "csv": CsvFile, "jsonl": JsonLines, "parquet": Parquet, "tmx": Tmx, "po": Po,
    "mo": Mo, "xliff": Xliff, "qt": QtTs,
}  # fmt: skip


def kind_of(path: Path) -> str:
    """Say which kind of corpus one file holds, by its name; a name that says nothing is TSV."""
    try:
        found = format_of(path)
    except DataError:
        return "tsv"
    return {"text": "tsv", "json-lines": "jsonl"}.get(found, found)


def corpus_of_file(
    path: Path, columns: Sequence[Column] = (), *, encoding: str | None = None
) -> OneFile:
    """Make the corpus of one file by its name.

    Args:
        path: a file or a pattern.
        columns: source and target: columns of a table, paths in JSON or Parquet, languages of TMX;
            what the format has by itself unless given.
        encoding: for formats of plain text and catalogues.

    Raises:
        ConfigError: not two columns, or the format has no columns or no encoding to choose.
    """
    kind = kind_of(path)
    table: dict[str, object] = {"file": path}
    if columns and len(columns) != 2:
        problem = f"{len(columns)} columns are not a source and a target"
        raise ConfigError("columns", problem, "give two, such as en,de")
    if encoding is not None:
        table["encoding"] = encoding
    if columns and kind == "tmx":
        table["source_language"], table["target_language"] = map(str, columns)
    elif columns:
        numbered = kind in ("tsv", "csv")
        table["columns"] = tuple(_number(each) if numbered else str(each) for each in columns)
    made = _BY_KIND[kind]
    for key in table.keys() - made.__dataclass_fields__.keys():
        raise ConfigError(key, f"{path} is {kind}, which has none to choose", "leave it out")
    return made(**table)  # type: ignore[arg-type]  # each record checks its own


def matching_files(path: Path) -> list[Path]:
    """List the files that a path or a pattern stands for, in natural order.

    Raises:
        DataError: it is a pattern, and no file matches.
    """
    if not set(path.name) & set("*?[") or path.exists():
        return [path]
    folder = path.parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    shown = [name for name in names if path.name.startswith(".") or not name.startswith(".")]
    found = [folder / name for name in shown if fnmatchcase(name, path.name)]
    if not found:
        hint = suggest(path.name, sorted(shown)[:20]) if names else f"there is nothing in {folder}"
        raise DataError(path, "no file matches", hint)
    return sorted(found, key=_natural)


def corpus_name(corpus: Corpus) -> str:
    """Name a corpus by its files or patterns, or its data set."""
    match corpus:
        case Files(source=source, target=target):
            return f"{source} and {target}"
        case Dataset(dataset=name):
            return name
        case _:
            return str(corpus.file)


def corpus_files(corpus: Corpus) -> list[Path]:
    """List all files of a corpus; a data set has none of its own.

    Raises:
        DataError: a pattern matches no file.
    """
    match corpus:
        case Files(source=source, target=target):
            return [*matching_files(source), *matching_files(target)]
        case Dataset():
            return []
        case _:
            return matching_files(corpus.file)


def _number(column: Column) -> Column:
    is_number = isinstance(column, str) and column.isascii() and column.isdecimal()
    return int(column) if is_number else column


def _natural(path: Path) -> list[tuple[int, str]]:
    parts = re.split(r"([0-9]+)", path.name)
    return [(int(part) if part[:1].isdecimal() else -1, part) for part in parts]
