"""What becomes of pairs that are too long: one rule for every set of pairs, counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import DataError

Integers = NDArray[np.int64]
LengthRule = Literal["drop", "error", "truncate", "alone"]

ADDED_SYMBOLS = 1  # to each side


class Origin(NamedTuple):
    """Where pairs came from, for messages."""

    name: str  # of the file or set
    lines: Sequence[int]  # of each pair, from 1, (N,)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LengthReport:
    """Which pairs stay after the rule for long ones, and what became of the others."""

    kept: Integers  # indices of the pairs that stay, rising
    dropped: int = 0
    truncated: int = 0
    alone: int = 0  # longer than a limit and kept, for a batch of their own
    longest_source: int | None = None  # where to cut the pieces of what is kept; None is nowhere
    longest_target: int | None = None


def apply_length_rule(
    source_lengths: Integers,
    target_lengths: Integers,
    *,
    limit_source: int,
    limit_target: int,
    rule: LengthRule,
    origin: Origin,
    longest_alone: int | None = None,
    more_follow: bool = False,
) -> LengthReport:
    """Decide about pairs longer than a limit on either side; the same for every set of pairs.

    Args:
        source_lengths: tokens of each source, added symbol included, (N,).
        target_lengths: the same of each target, (N,).
        limit_source: the most tokens a source may have, added symbol included.
        limit_target: the same of a target.
        rule: leave such a pair out, stop, cut it to the limit, or give it a batch of its own.
        origin: where the pairs came from.
        longest_alone: pairs longer than this cannot be alone either and are dropped.
        more_follow: these are not all pairs of the set, so none of them need be left.

    Raises:
        DataError: the rule is ``error`` and a pair is too long, or ``drop`` leaves none.
        ValueError: a limit leaves no room for a piece beside the added symbol.
    """
    if min(limit_source, limit_target) <= ADDED_SYMBOLS:
        limits = f"{limit_source}, {limit_target}"
        raise ValueError(f"limits: {limits} leave no room for a piece beside the added symbol")
    over = (source_lengths > limit_source) | (target_lengths > limit_target)
    count = int(over.sum())
    if (rule == "error" and count) or (rule == "drop" and count == over.size and not more_follow):
        first = int(over.argmax())
        raise DataError(
            origin.name,
            f"{source_lengths[first]} source and {target_lengths[first]} target tokens, added "
            f"symbols included, are over the limits {limit_source} and {limit_target}"
            + (f", as are {count - 1} more pairs" if count > 1 else ""),
            "raise training.batch_tokens, shorten the text, or choose another data.too_long",
            line=origin.lines[first],
        )
    everything = np.arange(over.size)
    match rule:
        case "error":
            return LengthReport(kept=everything)
        case "drop":
            return LengthReport(kept=everything[~over], dropped=count)
        case "alone":
            most = np.inf if longest_alone is None else longest_alone
            fits = (source_lengths <= most) & (target_lengths <= most)
            return LengthReport(
                kept=everything[fits],
                dropped=int((~fits).sum()),
                alone=int((over & fits).sum()),
            )
        case "truncate":
            return LengthReport(
                kept=everything,
                truncated=count,
                longest_source=limit_source - ADDED_SYMBOLS,
                longest_target=limit_target - ADDED_SYMBOLS,
            )
