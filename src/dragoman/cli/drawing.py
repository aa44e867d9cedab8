"""Options of ensembles, and of translations drawn or reranked, in the terms of the library."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dragoman
from dragoman.errors import ConfigError, Mistake

_DEFAULTS = {"temperature": 1.0, "top_k": None, "top_p": None, "min_p": None, "seed": 1}


def drawing_options(
    sample: bool,
    mbr: int,
    mbr_over: str,
    how: Mapping[str, Any],  # Any: numbers or None
    *,
    explain: bool,
) -> dict[str, Any]:  # Any: as the library has them
    """Give the options of ``Translator.translate`` that say how translations are drawn.

    Args:
        sample: draw them.
        mbr: of how many to give the one with the highest utility.
        mbr_over: what these are.
        how: fields of ``Sampling``.
        explain: whether scores are to be explained, which are those of a search.

    Raises:
        ConfigError: the options do not go together.
    """
    drawn = sample or (mbr > 0 and mbr_over == "samples")
    asked = [name for name, value in how.items() if value != _DEFAULTS[name]]
    mistakes = [
        Mistake(f"--{name.replace('_', '-')}", "nothing is drawn", "add --sample or --mbr")
        for name in asked
        if not drawn
    ]
    if explain and (sample or mbr):
        problem = "is for what a search finds, not for --sample and --mbr"
        mistakes.append(Mistake("--explain", problem, "leave it out"))
    if mistakes:
        raise ConfigError.together(mistakes)
    sampling = dragoman.Sampling(**how) if drawn else None
    return {"sampling": sampling, "mbr": mbr, "mbr_over": mbr_over}


def ensemble_options(
    ensemble: Sequence[Path] | None, mean: str
) -> dict[str, Any]:  # Any: as the library has them
    """Give the options of ``Translator.load`` that say what translates together.

    Raises:
        ConfigError: a mean is asked for, and there is only one model.
    """
    if ensemble:
        return {"ensemble": ensemble, "ensemble_mean": mean}
    if mean != "linear":
        raise ConfigError("--ensemble-mean", "there is one model", "add --ensemble MODEL")
    return {}
