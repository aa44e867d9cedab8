"""Writing a cleaned copy of a corpus, with a log of every line that is not in it as it was.

The folder holds ``source.txt`` and ``target.txt``, line N of one the translation of line N of the
other, and ``log.tsv``: line number, ``dropped`` or ``changed``, and the kinds of fault. ``KINDS``
says what is done about each. A pair that is not in the log is written byte for byte, with LF as
line end.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np

from dragoman.atomic import new_folder
from dragoman.data.check.finding import KINDS
from dragoman.data.check.mending import MENDS
from dragoman.data.check.reading import Notes, read_on
from dragoman.data.check.remedies import mend_pair
from dragoman.data.check.report import SetReport
from dragoman.data.corpus import Corpus, Pair
from dragoman.errors import DataError

Logged = tuple[int, set[str]]  # line number and kinds of fault


@dataclass(slots=True)
class Fixed:
    """What became of the pairs of a corpus."""

    folder: Path
    kept: int = 0  # changed ones included
    changed: int = 0
    dropped: int = 0
    kinds: dict[str, int] = field(default_factory=dict[str, int])  # lines in the log, by kind


def fix(corpus: Corpus, report: SetReport, folder: Path) -> Fixed:
    """Write what is left of a corpus once its faults are dropped or mended.

    Args:
        corpus: what the report is about; it is read again and not changed.
        report: from ``check``.
        folder: to make; it appears whole or not at all.

    Raises:
        DataError: the folder exists, the corpus has a fault whose place is unknown, such as unequal
            sides, or no pair would be left.
        OSError: the folder cannot be written.
    """
    if folder.exists():
        raise DataError(folder, "exists already", "choose a new folder")
    refused = [f.kind for f in report.findings if f.kind.remedy == "refuse"]
    if refused:
        hint = "mend the file by hand and check again"
        raise DataError(report.corpus, f"cannot be cleaned: {refused[0].meaning}", hint)
    done = Fixed(folder)
    with (
        new_folder(folder) as aside,
        (aside / "source.txt").open("wb") as source,
        (aside / "target.txt").open("wb") as target,
        (aside / "log.tsv").open("wb") as log,
    ):
        for number, pair, kinds, what in _decided(corpus, report):
            if what:
                log.write(f"{number}\t{what}\t{','.join(sorted(kinds))}\n".encode())
                for kind in kinds:
                    done.kinds[kind] = done.kinds.get(kind, 0) + 1
            if pair is None:
                done.dropped += 1
                continue
            source.write(pair.source.encode() + b"\n")
            target.write(pair.target.encode() + b"\n")
            done.kept += 1
            done.changed += what == "changed"
        if not done.kept:
            raise DataError(report.corpus, "no pair would be left", "see the report of the check")
    return done


def _decided(corpus: Corpus, report: SetReport) -> Iterator[tuple[int, Pair | None, set[str], str]]:
    """Give each line with the pair to write, or None, the kinds of its faults, and what is done."""
    drops, changes = _planned(report, "drop"), _planned(report, "change")
    drop, change = next(drops, None), next(changes, None)
    for pair in read_on(corpus, Notes()):
        number = pair.number
        while drop is not None and drop[0] < number:  # a row that is no pair
            yield drop[0], None, drop[1], "dropped"
            drop = next(drops, None)
        while change is not None and change[0] < number:
            change = next(changes, None)
        if drop is not None and drop[0] == number:
            yield number, None, drop[1], "dropped"
            drop = next(drops, None)
        elif change is not None and change[0] == number:
            yield _mended(pair, report)
        else:
            yield number, pair, set(), ""
    while drop is not None:
        yield drop[0], None, drop[1], "dropped"
        drop = next(drops, None)


def _mended(pair: Pair, report: SetReport) -> tuple[int, Pair | None, set[str], str]:
    changed = mend_pair(pair, (report.source.form, report.target.form), MENDS)
    if changed.blank:  # it was all entities
        return pair.number, None, {*changed.kinds, "one-sided"}, "dropped"
    return pair.number, changed.pair, set(changed.kinds), "changed"


def _planned(report: SetReport, remedy: str) -> Iterator[Logged]:
    """Give the lines to drop or to change, rising, with their kinds."""
    names = [f.kind.name for f in report.findings if KINDS[f.kind.name].remedy == remedy]
    found = {f.kind.name: np.asarray(f.lines, np.int64) for f in report.findings}
    if not names:
        return
    lines = np.concatenate([found[name] for name in names])
    kinds = np.repeat(np.arange(len(names)), [len(found[name]) for name in names])
    order = np.argsort(lines, kind="stable")
    entries = zip(lines[order].tolist(), kinds[order].tolist(), strict=True)
    for line, group in groupby(entries, key=lambda entry: entry[0]):
        yield line, {names[kind] for _, kind in group}
