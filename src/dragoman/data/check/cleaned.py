"""A chunk after mending: what ``fix`` would write, and what duplicates are looked for in."""

from dataclasses import dataclass

from dragoman.data.check.chunk import Chunk, SideView
from dragoman.data.check.finding import Collector
from dragoman.data.check.mending import MENDABLE, mend
from dragoman.data.check.profile import Profile, SideProfile


@dataclass(frozen=True, slots=True)
class Mended:
    """Both sides of a chunk, mended."""

    source: list[str]
    target: list[str]


def mend_chunk(chunk: Chunk, profile: Profile, found: Collector) -> Mended:
    """Mend all texts of a chunk, noting what was wrong with each."""
    faults: dict[int, list[tuple[str, str, str]]] = {}
    source = _mend_side("source", chunk.source, profile.source, faults)
    target = _mend_side("target", chunk.target, profile.target, faults)
    for at in sorted(faults):
        for kind, side, detail in faults[at]:
            where = "source" if side == "source" else "target"
            texts = chunk.source.texts[at], chunk.target.texts[at]
            found.add(kind, chunk.numbers[at], where, detail, *texts)
    return Mended(source, target)


def _mend_side(
    side: str, view: SideView, usual: SideProfile, faults: dict[int, list[tuple[str, str, str]]]
) -> list[str]:
    texts = list(view.texts)
    for at in view.having(MENDABLE):
        mended, found = mend(texts[at], usual.form)
        if found:
            texts[at] = mended
            faults.setdefault(at, []).extend((kind, side, what) for kind, what in found.items())
    return texts
