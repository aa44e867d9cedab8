"""Learning rate over time (section 5.3, equation 3)."""

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


def constant(step: int, *, peak: float, warmup: int) -> float:
    """Rise linearly to ``peak`` at ``warmup`` (0: at once), then stay."""
    _check_step(step)
    return peak * min(1.0, step / warmup) if warmup else peak


def _check_step(step: int) -> None:
    if step < 1:
        raise ValueError(f"step: {step} is less than 1; the first update is step 1")
