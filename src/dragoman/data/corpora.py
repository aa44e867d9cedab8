"""What parallel text may lie in: one record for each format.

Every file may be packed (``.gz``, ``.xz``, ``.bz2``, ``.zst``), and its name may be a pattern for
several; see ``corpus_files``.
"""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Discriminator, Field

from dragoman.configfile import record
from dragoman.data.formats import Markup, TableFormat, codec_name
from dragoman.errors import ConfigError

Column = int | str

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


@record
class ParallelCorpus:
    """What all kinds of parallel text have in common.

    Args:
        weight: share of the training text that is drawn from this corpus, beside others.
        source_language: tag such as ``"de"`` or ``"pt-BR"``.
        target_language: the same of the translations.
    """

    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    source_language: str | None = None
    target_language: str | None = None

    def __post_init__(self) -> None:
        """Check what types cannot say.

        Raises:
            ConfigError: a language is not a plain tag, or an encoding is unknown.
        """
        for key in ("source_language", "target_language"):
            value = getattr(self, key)
            if value is not None and not _LANGUAGE.fullmatch(value):
                raise ConfigError(key, f"{value!r} is no tag of a language", 'try "de" or "pt-BR"')
        encoding = getattr(self, "encoding", None)
        if encoding is not None:
            codec_name(encoding)


@record
class Files(ParallelCorpus):
    """Two text files; line N of one translates line N of the other.

    Args:
        source: a file or a pattern.
        target: the same; of patterns, the first file of one belongs to the first of the other.
        encoding: of both; without it a file's byte-order mark decides, or else it is UTF-8.
    """

    kind: Literal["files"] = "files"
    source: Path
    target: Path
    encoding: str | None = None


@record
class TsvFile(ParallelCorpus):
    """One file of ``source<TAB>target`` rows.

    Args:
        file: a file or a pattern.
        columns: source and target, by number from 0 or by the header's names; without them a row
            has two fields.
        header: whether the first row names the columns, or ``"detect"``; by itself when columns
            are named.
        delimiter: what parts the fields.
        quote: the sign around fields that hold a delimiter, or "" for none.
        encoding: as in ``Files``.
    """

    kind: Literal["tsv"] = "tsv"
    file: Path
    columns: tuple[Column, Column] | None = None
    header: bool | Literal["detect"] | None = None
    delimiter: str = "\t"
    quote: str = ""
    encoding: str | None = None

    def __post_init__(self) -> None:
        """Check that a table can be written so."""
        super().__post_init__()
        table_of(self)


@record
class CsvFile(ParallelCorpus):
    """One file of ``source,target`` rows, quoted where needed; its keys are those of TSV."""

    kind: Literal["csv"] = "csv"
    file: Path
    columns: tuple[Column, Column] | None = None
    header: bool | Literal["detect"] | None = None
    delimiter: str = ","
    quote: str = '"'
    encoding: str | None = None

    def __post_init__(self) -> None:
        """Check that a table can be written so."""
        super().__post_init__()
        table_of(self)


@record
class JsonLines(ParallelCorpus):
    """One JSON value a line.

    Args:
        file: a file or a pattern.
        columns: paths of source and target, such as ``"translation.en"``.
        encoding: as in ``Files``.
    """

    kind: Literal["jsonl"] = "jsonl"
    file: Path
    columns: tuple[str, str] = ("source", "target")
    encoding: str | None = None


@record
class Parquet(ParallelCorpus):
    """A table in Apache Parquet; ``columns`` are paths, as in ``JsonLines``."""

    kind: Literal["parquet"] = "parquet"
    file: Path
    columns: tuple[str, str] = ("source", "target")


@record
class Dataset(ParallelCorpus):
    """A data set as Hugging Face's library reads it.

    Args:
        dataset: a folder, or ``owner/name`` on the hub, which is then fetched by the library.
        split: such as ``"train"``.
        configuration: which of several the set has, such as ``"de-en"``.
        columns: paths of source and target, as in ``JsonLines``.
        streaming: read row by row, without a copy on disk.
    """

    kind: Literal["dataset"] = "dataset"
    dataset: str
    split: str = "train"
    configuration: str | None = None
    columns: tuple[str, str] = ("source", "target")
    streaming: bool = True


@record
class Tmx(ParallelCorpus):
    """A translation memory in TMX.

    ``source_language`` and ``target_language`` choose the variants; without them the source is
    what the file calls so, and the target the only other language.

    Args:
        file: a file or a pattern.
        markup: whether inline tags stay in the text as placeholders, or are left out.
    """

    kind: Literal["tmx"] = "tmx"
    file: Path
    markup: Markup = "keep"


@record
class Po(ParallelCorpus):
    """A catalogue of GNU gettext.

    Args:
        file: a file or a pattern.
        fuzzy: whether translations count that are marked as doubtful.
        encoding: overrides what the catalogue's header says.
    """

    kind: Literal["po"] = "po"
    file: Path
    fuzzy: bool = False
    encoding: str | None = None


@record
class Mo(ParallelCorpus):
    """A compiled catalogue of GNU gettext; ``encoding`` overrides its header."""

    kind: Literal["mo"] = "mo"
    file: Path
    encoding: str | None = None


@record
class Xliff(ParallelCorpus):
    """XLIFF 1.0 to 2.1.

    Args:
        file: a file or a pattern.
        markup: whether inline tags stay in the text as placeholders, or are left out.
        unfinished: whether targets count that are marked as still to be translated.
    """

    kind: Literal["xliff"] = "xliff"
    file: Path
    markup: Markup = "keep"
    unfinished: bool = False


@record
class QtTs(ParallelCorpus):
    """Translations of a Qt program (``.ts``).

    Args:
        file: a file or a pattern.
        unfinished: whether translations count that nobody has confirmed.
    """

    kind: Literal["qt"] = "qt"
    file: Path
    unfinished: bool = False


OneFile = TsvFile | CsvFile | JsonLines | Parquet | Tmx | Po | Mo | Xliff | QtTs
Corpus = Annotated[Files | OneFile | Dataset, Discriminator("kind")]


def table_of(corpus: TsvFile | CsvFile) -> TableFormat:
    """Say how a table is written.

    Raises:
        ConfigError: it cannot be written so.
    """
    return TableFormat(
        delimiter=corpus.delimiter,
        quote=corpus.quote,
        columns=corpus.columns,
        header=corpus.header,
        encoding=corpus.encoding,
    )
