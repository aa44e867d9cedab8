"""Learning rate over time (section 5.3, equation 3)."""

import math
from collections.abc import Callable

Schedule = Callable[[int], float]


def inverse_sqrt(step: int, *, d_model: int, warmup: int, factor: float = 1.0) -> float:
    """Rise linearly for ``warmup`` updates, then fall with the root of the step (equation 3).

    rate = factor · d_model^-0.5 · min(step^-0.5, step · warmup^-1.5)

    Args:
        step: number of the update, from 1.
        d_model: model width.
        warmup: updates until the peak; 0 means no warm-up.
        factor: multiplies the rate; 1 in the paper.

    Returns:
        The rate used in this update.

    Raises:
        ValueError: ``step`` is less than 1.
    """
    _check_step(step)
    decay = step**-0.5
    rise = step * warmup**-1.5 if warmup else decay
    return factor * d_model**-0.5 * min(decay, rise)


def linear_decay(step: int, *, peak: float, warmup: int, steps: int) -> float:
    """Rise linearly to ``peak`` at ``warmup``, then fall linearly to 0 just after ``steps``.

    Args:
        step: number of the update, from 1.
        peak: the highest rate.
        warmup: updates until the peak; 0 means no warm-up.
        steps: length of the run in updates.

    Raises:
        ValueError: ``step`` is less than 1.
    """
    _check_step(step)
    if step < warmup:
        return peak * step / warmup
    top = min(max(warmup, 1), steps)  # the update with the highest rate
    return peak * max(0.0, (steps + 1 - step) / (steps + 1 - top))


def cosine_decay(step: int, *, peak: float, warmup: int, steps: int, floor: float = 0.0) -> float:
    """Rise linearly to ``peak`` at ``warmup``, then fall along half a cosine to ``floor``.

    Loshchilov and Hutter 2017, arXiv 1608.03983, equation 5, without restarts.

    Args:
        step: number of the update, from 1.
        peak: the highest rate.
        warmup: updates until the peak; 0 means no warm-up.
        steps: length of the run in updates; the last one, and any after it, use ``floor``.
        floor: the lowest rate after the peak.

    Raises:
        ValueError: ``step`` is less than 1.
    """
    _check_step(step)
    if step < warmup:
        return peak * step / warmup
    top = min(max(warmup, 1), steps)  # the update with the highest rate
    if step <= top:
        return peak
    done = min(1.0, (step - top) / (steps - top)) if steps > top else 1.0
    height = (1 + math.cos(math.pi * done)) / 2
    return min(peak, floor + (peak - floor) * height)


def constant(step: int, *, peak: float, warmup: int) -> float:
    """Rise linearly to ``peak`` at ``warmup`` (0: at once), then stay."""
    _check_step(step)
    return peak * min(1.0, step / warmup) if warmup else peak


def describe_schedule(rate: Schedule, steps: int, warmup: int) -> str:
    """Say in one line what the rate does in a run of ``steps`` updates.

    Args:
        rate: rises until ``warmup`` and never after, as all of this file do.
        steps: length of the run in updates, at least 1.
        warmup: updates until the highest rate; 0 means none.
    """
    top = min(max(warmup, 1), steps)
    notes = {1: "", top: "the highest", steps: "the last"}
    if top == steps:
        notes[steps] = "the last and highest"
        if warmup > steps:
            notes[steps] = f"the last, still rising; warm-up would end at {warmup:,}"
    points = [
        f"{rate(step):.2e} at update {step:,}" + (f" ({note})" if note else "")
        for step, note in notes.items()
    ]
    return f"rate {', '.join(points)}"


def _check_step(step: int) -> None:
    if step < 1:
        raise ValueError(f"step: {step} is less than 1; the first update is step 1")
