"""From single runs to the rows of a comparison: means over seeds, intervals, differences."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation import (
    bleu_statistics,
    interval,
    paired_p_value,
    perplexity,
    resampled_bleu,
)
from dragoman.run.comparison.file import Variant
from dragoman.run.comparison.measured import Measured


class MeasuredRun(NamedTuple):
    """One run and its translations."""

    measured: Measured
    hypotheses: Sequence[str]
    references: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One variant; with several seeds all numbers are means over the runs unless said.

    Args:
        name: of the variant.
        group: the heading it stands under.
        settings: what differs from the recipe.
        parameters: numbers trained.
        updates: made.
        perplexity: of the validation set; None without one.
        perplexity_difference: from the first row; None in it.
        bleu: of the test set.
        bleu_low: lower bound of the 95 % interval by resampling sentences.
        bleu_high: upper bound.
        bleu_spread: standard deviation over seeds; None with one.
        bleu_difference: from the first row; None in it.
        p_value: of this difference, paired on the same resampled sentences; None in the first row.
        chrf: of the test set.
        target_tokens_per_second: in training.
        peak_memory_bytes: the largest of the runs; None when none says it.
        runs: everything measured, by seed.
    """

    name: str
    group: str
    settings: tuple[str, ...]
    parameters: int
    updates: float
    perplexity: float | None
    perplexity_difference: float | None
    bleu: float
    bleu_low: float
    bleu_high: float
    bleu_spread: float | None
    bleu_difference: float | None
    p_value: float | None
    chrf: float
    target_tokens_per_second: float
    peak_memory_bytes: int | None
    runs: tuple[Measured, ...]


def compare_rows(variants: Sequence[tuple[Variant, Sequence[MeasuredRun]]]) -> tuple[Row, ...]:
    """Compare variants with the first of them.

    Args:
        variants: each with its runs, one for every seed, the same seeds in the same order; the
            n-th sentence of a seed's test set is the same for all variants.
    """
    draws = [_mean_of_draws(runs) for _, runs in variants]
    first: Row | None = None
    rows: list[Row] = []
    for (variant, runs), drawn in zip(variants, draws, strict=True):
        row = _row(variant, [run.measured for run in runs], drawn, first, draws[0])
        first = first or row
        rows.append(row)
    return tuple(rows)


def _mean_of_draws(runs: Sequence[MeasuredRun]) -> NDArray[np.float64]:
    """Compute BLEU of each draw, the mean over seeds, (R,)."""
    return np.mean(
        [resampled_bleu(bleu_statistics(run.hypotheses, run.references)) for run in runs], axis=0
    )


def _row(
    variant: Variant,
    runs: Sequence[Measured],
    drawn: NDArray[np.float64],
    first: Row | None,
    first_drawn: NDArray[np.float64],
) -> Row:
    bleu = statistics.fmean(run.bleu for run in runs)
    losses = [run.loss_nats for run in runs if run.loss_nats is not None]
    found = statistics.fmean(map(perplexity, losses)) if losses else None
    low, high = interval(drawn)
    known = [run.peak_memory_bytes for run in runs if run.peak_memory_bytes is not None]
    against: dict[str, Any] = {"bleu_difference": None, "p_value": None}
    against["perplexity_difference"] = None
    if first is not None:
        against["bleu_difference"] = bleu - first.bleu
        against["p_value"] = paired_p_value(bleu - first.bleu, first_drawn, drawn)
        if found is not None and first.perplexity is not None:
            against["perplexity_difference"] = found - first.perplexity
    return Row(
        name=variant.name,
        group=variant.group,
        settings=variant.set,
        parameters=runs[0].parameters,
        updates=statistics.fmean(run.updates for run in runs),
        perplexity=found,
        bleu=bleu,
        bleu_low=low,
        bleu_high=high,
        bleu_spread=statistics.stdev(run.bleu for run in runs) if len(runs) > 1 else None,
        chrf=statistics.fmean(run.chrf for run in runs),
        target_tokens_per_second=statistics.fmean(run.target_tokens_per_second for run in runs),
        peak_memory_bytes=max(known, default=None),
        runs=tuple(runs),
        **against,
    )
