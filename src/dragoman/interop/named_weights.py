"""The weights of a model by name, each of which has to find a place in another format."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.models import Sinusoidal
from dragoman.nn import sinusoids

Array = NDArray[np.float32]


class NamedWeights:
    """Weights to hand out by name; knows which nobody has asked for.

    A table that is tied has every name it is used by, and one of them is enough.

    Args:
        weights: by name.
        same: other names of the same weight.
    """

    def __init__(self, weights: Mapping[str, Array], same: Mapping[str, str]) -> None:
        self._weights, self._same = weights, same
        self._left = {same[name] for name in weights}

    @classmethod
    def of(cls, model: nn.Module) -> "NamedWeights":
        """Take those of a model, in float32."""
        weights: dict[str, Array] = {}
        same: dict[str, str] = {}
        first: dict[int, str] = {}
        for name, weight in model.named_parameters(remove_duplicate=False):
            same[name] = first.setdefault(id(weight), name)
            weights[name] = weight.detach().cpu().float().numpy()
        return cls(weights, same)

    def __contains__(self, name: str) -> bool:
        return name in self._weights

    def take(self, name: str) -> Array:
        """Hand out a copy of one weight, in its own shape: who quantizes it does so in place."""
        self._left.discard(self._same[name])
        return np.array(self._weights[name], order="C")

    def refuse_left(self, form: str) -> None:
        """See that all weights have been handed out.

        Raises:
            ModelError: some have not, so the other model would be another one.
        """
        if self._left:
            names = ", ".join(sorted(self._left)[:3])
            raise ModelError(f"{form} has no place for {len(self._left)} weights: {names} ...")


def added_sinusoids(positions: Sinusoidal, rows: int, width: int) -> Tensor:
    """Make the table that a model without one adds: float32, (rows, width)."""
    places = torch.arange(rows) + positions.first
    return sinusoids(places, width, layout=positions.layout, rate=positions.rate).float()
