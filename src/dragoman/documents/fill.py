"""Translating a document: its targets are filled, and every other byte stays.

The file is never written anew from what was understood of it. Each format says which places of the
text are to hold a translation; those are replaced, and all bytes between them are copied.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from dragoman.documents.encoded import Change, splice
from dragoman.documents.html import plan_attributes, plan_blocks
from dragoman.documents.placeholders import lost_placeholders
from dragoman.documents.po import plan_po
from dragoman.documents.qt_ts import plan_qt_ts
from dragoman.documents.tmx import plan_tmx
from dragoman.documents.trimming import has_text, joined, keeps_tags, trimmed
from dragoman.documents.unit import FillOptions, Plan, Unit, Unwritable
from dragoman.documents.xliff import plan_xliff
from dragoman.errors import DataError
from dragoman.translator import Fragment

DocumentFormat = Literal["html", "po", "qt", "tmx", "xliff"]
DOCUMENT_FORMATS: tuple[str, ...] = get_args(DocumentFormat)
LARGEST = 1 << 28  # bytes of a document; all of it is held in memory, several times

Translate = Callable[[list[Fragment]], Sequence[Fragment]]
Planner = Callable[[bytes, str, FillOptions], Plan]

# A later pass reads what an earlier one wrote.
_PASSES: Mapping[DocumentFormat, tuple[Planner, ...]] = {
    "html": (plan_attributes, plan_blocks),
    "po": (plan_po,),
    "qt": (plan_qt_ts,),
    "tmx": (plan_tmx,),
    "xliff": (plan_xliff,),
}
_PACKED = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True, slots=True)
class Remark:
    """Something a person should look at."""

    line: int  # of the source in the file, from 1
    text: str


@dataclass(frozen=True, slots=True)
class Filled:
    """What was done to a document."""

    targets: int  # places that now hold a translation
    left: Mapping[str, int]  # places that stayed as they were, by reason
    remarks: tuple[Remark, ...]
    changes: tuple[tuple[Change, ...], ...]  # one tuple for each pass over the file


def fill_document(
    data: bytes,
    format: DocumentFormat,
    translate: Translate,
    *,
    name: str = "document",
    options: FillOptions | None = None,
) -> tuple[bytes, Filled]:
    """Translate a document.

    Args:
        data: the whole file, as it is on disk.
        format: what it is.
        translate: gives the translation of each fragment, in order, with every tag of its source;
            it gets no white space that surrounds a text, and equal fragments once.
        name: what messages call the file.
        options: what is filled and how it is marked.

    Returns:
        The new file, and what was done. A unit whose translation cannot be written, or came back
        empty or without its tags, stays as it was and is named in the remarks.

    Raises:
        DataError: the file is broken, packed or too large, with the line.
        MissingExtraError: a PO file, and polib is not installed.
        ValueError: ``translate`` gave another number of fragments than it got.
    """
    return fill_documents({name: data}, format, translate, options=options)[0]


def fill_documents(
    documents: Mapping[str, bytes],
    format: DocumentFormat,
    translate: Translate,
    *,
    options: FillOptions | None = None,
) -> list[tuple[bytes, Filled]]:
    """Translate documents of one format together, so that few calls translate all their texts.

    Args:
        documents: whole files, by what messages call them.
        format: as in ``fill_document``, and so are the others.
        translate: as above.
        options: as above.

    Returns:
        What ``fill_document`` gives of each, in order.

    Raises:
        DataError: as ``fill_document``.
        MissingExtraError: as ``fill_document``.
        ValueError: as ``fill_document``.
    """
    for name, data in documents.items():
        _refuse_unreadable(name, data)
    jobs = [_Job(name, data) for name, data in documents.items()]
    for planner in _PASSES[format]:
        plans = [planner(job.data, job.name, options or FillOptions()) for job in jobs]
        found = _translations([unit for plan in plans for unit in plan.units], translate)
        for job, plan in zip(jobs, plans, strict=True):
            job.fill(plan, found)
    return [(job.data, job.filled()) for job in jobs]


def _refuse_unreadable(name: str, data: bytes) -> None:
    if len(data) > LARGEST:
        raise DataError(name, f"larger than {LARGEST >> 20} MiB", "split it")
    for signature, kind in _PACKED.items():
        if data.startswith(signature):
            raise DataError(name, f"packed ({kind})", "unpack it first")


@dataclass(slots=True)
class _Job:
    """A document, and what has been done to it so far."""

    name: str
    data: bytes
    targets: int = 0
    left: Counter[str] = field(default_factory=Counter[str])
    remarks: list[Remark] = field(default_factory=list[Remark])
    changes: list[tuple[Change, ...]] = field(default_factory=list[tuple[Change, ...]])

    def filled(self) -> Filled:
        return Filled(self.targets, dict(self.left), tuple(self.remarks), tuple(self.changes))

    def fill(self, plan: Plan, found: Mapping[Fragment, Fragment]) -> None:
        """Do what a plan says."""
        replacements: list[tuple[int, int, str]] = []
        for unit in plan.units:
            results = [found[source] for source in unit.sources]
            needed = {
                piece for edit in unit.edits for piece in edit.pieces if isinstance(piece, int)
            }
            problems = [_problem(unit.sources[n], results[n]) for n in sorted(needed)]
            try:
                made = [] if any(problems) else _replacements(unit, results)
            except Unwritable as error:
                made, problems = [], [str(error)]
            if not made:
                problem = next(problem for problem in problems if problem)
                self.remarks.append(Remark(unit.line, f"left as it was: {problem}"))
                plan.left["not written"] += _targets(unit)
                continue
            replacements += made
            for number in sorted(needed):
                lost = lost_placeholders(unit.sources[number], results[number])
                if lost:
                    self.remarks.append(
                        Remark(unit.line, f"the translation lacks {', '.join(lost)}")
                    )
        self.data, changed = splice(plan.document, replacements)
        self.changes.append(changed)
        self.targets += sum(map(_targets, plan.units)) - plan.left["not written"]
        self.left += plan.left


def _translations(units: Sequence[Unit], translate: Translate) -> dict[Fragment, Fragment]:
    """Translate what units need, each fragment once; what has no text is copied."""
    parts = {source: trimmed(source) for unit in units for source in unit.sources}
    cores = list(dict.fromkeys(core for _, core, _ in parts.values() if has_text(core)))
    results: Sequence[Fragment] = translate(cores) if cores else ()
    if len(results) != len(cores):
        raise ValueError(f"{len(results)} translations for {len(cores)} fragments")
    made = dict(zip(cores, results, strict=True))
    return {
        source: joined((*before, *made.get(core, core), *after))
        for source, (before, core, after) in parts.items()
    }


def _problem(source: Fragment, result: Fragment) -> str:
    if has_text(source) and not has_text(result):
        return "the translation is empty"
    return "" if keeps_tags(source, result) else "its tags came back changed"


def _replacements(unit: Unit, results: Sequence[Fragment]) -> list[tuple[int, int, str]]:
    made: list[tuple[int, int, str]] = []
    for edit in unit.edits:
        text = ""
        for piece in edit.pieces:
            if isinstance(piece, str):
                text += piece
            else:
                assert edit.write is not None, "only an edit that can write has translations"
                text += edit.write(results[piece])
        made.append((edit.start, edit.end, text))
    return made


def _targets(unit: Unit) -> int:
    return sum(isinstance(piece, int) for edit in unit.edits for piece in edit.pieces)
