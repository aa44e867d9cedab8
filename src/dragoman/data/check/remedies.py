"""What becomes of a pair with faults: it is left out, changed, or stays."""

from collections.abc import Collection
from dataclasses import dataclass

from dragoman.data.check.mending import mend
from dragoman.data.check.profile import NormalForm
from dragoman.data.corpus import Pair, is_blank


@dataclass(frozen=True, slots=True)
class Changed:
    """A pair after mending.

    Args:
        pair: number and texts.
        kinds: of fault that were mended.
        blank: what is left shows nothing on a side, as when it was all entities.
    """

    pair: Pair
    kinds: tuple[str, ...]
    blank: bool


def mend_pair(pair: Pair, forms: tuple[NormalForm, NormalForm], kinds: Collection[str]) -> Changed:
    """Mend both sides of a pair.

    Args:
        pair: with faults.
        forms: usual normal forms of source and target.
        kinds: of faults to mend.
    """
    source, left = mend(pair.source, forms[0], kinds)
    target, right = mend(pair.target, forms[1], kinds)
    return Changed(
        Pair(pair.number, source, target),
        tuple({**left, **right}),
        is_blank(source) or is_blank(target),
    )
