"""Exponential moving average of the weights: a mean over the last updates that costs no disk.

Polyak and Juditsky 1992; as a share kept at each update in Tarvainen and Valpola 2017, arXiv
1703.01780.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from dragoman.errors import ModelError


class MovingAverage:
    """Float32 means of weights that follow them.

    Early on the mean is over all updates so far: at update t it keeps min(share, t / (t + 1)),
    so that the first random weights do not linger.

    Args:
        weights: what is followed, by name.
        share: of the old mean that stays at each update, in (0, 1); 0.999 looks back some 1,000.
    """

    def __init__(self, weights: Mapping[str, Tensor], share: float) -> None:
        self._weights, self.share = weights, share
        self.values = {name: weight.detach().clone() for name, weight in weights.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after update number ``step``, from 1."""
        kept = min(self.share, step / (step + 1))
        for name, value in self.values.items():
            value.lerp_(self._weights[name], 1 - kept)

    def check(self, saved: Mapping[str, Tensor]) -> None:
        """See whether ``saved`` are means of the same weights.

        Raises:
            ModelError: one is missing or of another shape.
        """
        for name, value in self.values.items():
            if name not in saved or saved[name].shape != value.shape:
                raise ModelError(f"the moving average of {name} is missing or of another shape")
