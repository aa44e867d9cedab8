"""Data sets in the form of Hugging Face's ``datasets``: a folder here, or a name on its hub."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from dragoman.data.formats.json_lines import text_at
from dragoman.data.formats.segment import Segment
from dragoman.errors import DataError, MissingExtraError


def read_dataset(
    name: str,
    split: str = "train",
    source: str = "translation.en",
    target: str = "translation.de",
    *,
    configuration: str | None = None,
    streaming: bool = True,
) -> Iterator[Segment]:
    """Read the pairs of a data set; a segment's number is its row, from 1.

    A name that is no folder here is fetched from the network by the library.

    Args:
        name: a folder, or ``owner/name`` on the hub.
        split: such as ``"train"``.
        source: path of the source, as ``read_json_lines`` has it.
        target: path of the translation.
        configuration: which of several the set has, such as ``"de-en"``.
        streaming: read row by row, without a copy on disk.

    Raises:
        DataError: while reading: there is no such set, configuration or split, it is damaged, or a
            row has no text at a path.
        MissingExtraError: the library is not installed.
    """
    datasets = _library()
    try:
        rows = cast(
            "Iterable[Mapping[str, object]]",
            datasets.load_dataset(name, configuration, split=split, streaming=streaming),
        )
        for number, row in enumerate(rows, start=1):
            texts = (text_at(row, path, name, number) for path in (source, target))
            yield Segment(number, *texts)
    except DataError:
        raise
    # The library's errors have no common kind, nor have those of the readers beneath it.
    except Exception as error:
        what = " ".join(str(error).split())[:300] or type(error).__name__
        raise DataError(name, f"split {split!r} cannot be read ({what})", "check both") from None


def _library() -> Any:  # Any: half of it has no types
    try:
        import datasets  # pyright: ignore  # optional
    except ImportError:
        raise MissingExtraError("reading Hugging Face data sets", "datasets") from None
    return cast("Any", datasets)
