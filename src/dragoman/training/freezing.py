"""Weights that stay as they are while the others learn."""

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import accumulate

from torch import nn

from dragoman.configfile import suggest
from dragoman.errors import ConfigError, Mistake

_PLACE = "training.freeze"


def freeze(model: nn.Module, patterns: Sequence[str]) -> tuple[str, ...]:
    """Take the weights whose names match any of ``patterns`` out of training.

    A tied table has one name, that of its first use. Call it before the optimizer is built.

    Args:
        model: whose ``requires_grad`` is set to False where a name matches.
        patterns: such as ``encoder.layers.0.*``; ``*`` stands for anything, dots included, ``?``
            for one character, ``[ab]`` for either (Python's ``fnmatch``, case matters).

    Returns:
        The names of the frozen weights, in the model's order.

    Raises:
        ConfigError: a pattern matches nothing, or nothing would be left to train. The model is
            then as it was.
    """
    weights = dict(model.named_parameters())
    unused = [one for one in patterns if not any(fnmatchcase(name, one) for name in weights)]
    if unused:
        raise ConfigError.together(_no_match(model, pattern) for pattern in dict.fromkeys(unused))
    frozen = tuple(
        name for name in weights if any(fnmatchcase(name, pattern) for pattern in patterns)
    )
    if not any(weight.requires_grad for name, weight in weights.items() if name not in frozen):
        raise ConfigError(
            _PLACE, "nothing is left to train", "leave out a pattern or make one narrower"
        )
    for name in frozen:
        weights[name].requires_grad_(False)
    return frozen


def _no_match(model: nn.Module, pattern: str) -> Mistake:
    """Say what may have been meant by a pattern that no name matches."""
    weights = dict(model.named_parameters())
    first = {id(weight): name for name, weight in weights.items()}
    for name, weight in model.named_parameters(remove_duplicate=False):
        if name not in weights and fnmatchcase(name, pattern):
            problem = f"{pattern!r} matches only {name}, which is tied to {first[id(weight)]}"
            return Mistake(_PLACE, problem, "use that name")
    parts = dict.fromkeys(f"{part}.*" for name in weights for part in _parts_of(name))
    near = difflib.get_close_matches(pattern, [*parts, *weights], n=1)
    whole = [part for part in parts if part.count(".") == 1]
    hint = suggest(pattern, near or whole or list(weights))
    return Mistake(_PLACE, f"{pattern!r} matches no weight", hint)


def _parts_of(name: str) -> list[str]:
    """List the modules that a weight is part of, the outermost first."""
    return list(accumulate(name.split(".")[:-1], "{}.{}".format))
