"""How one weight is laid out on their side; each form reads theirs into ours and writes it back.

All but ``Divided`` give the same bits again.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Same:
    """As ours."""

    def read(self, theirs: Tensor) -> Tensor:
        """Leave it."""
        return theirs

    def write(self, ours: Tensor) -> Tensor:
        """Leave it."""
        return ours


@dataclass(frozen=True)
class Transposed:
    """Inputs before outputs, as in GPT-2."""

    def read(self, theirs: Tensor) -> Tensor:
        """Map (in, out) to (out, in)."""
        return theirs.T

    def write(self, ours: Tensor) -> Tensor:
        """Map (out, in) to (in, out)."""
        return ours.T


@dataclass(frozen=True)
class LeadingOnes:
    """A vector or table with leading axes of one.

    Args:
        axes: how many.
    """

    axes: int = 1

    def read(self, theirs: Tensor) -> Tensor:
        """Take off the leading axes, which must be ones."""
        return theirs.reshape(theirs.shape[self.axes :])

    def write(self, ours: Tensor) -> Tensor:
        """Put them back."""
        return ours.reshape((1,) * self.axes + tuple(ours.shape))


@dataclass(frozen=True)
class Divided:
    """A table that is some times ours.

    Args:
        by: how many times.
    """

    by: float

    def read(self, theirs: Tensor) -> Tensor:
        """Divide."""
        return theirs / self.by

    def write(self, ours: Tensor) -> Tensor:
        """Multiply."""
        return ours * self.by


@dataclass(frozen=True)
class Offset:
    """A table with rows before the first of ours, which nobody reads; zeros when written.

    Args:
        rows: how many.
    """

    rows: int

    def read(self, theirs: Tensor) -> Tensor:
        """Leave them out."""
        return theirs[self.rows :]

    def write(self, ours: Tensor) -> Tensor:
        """Put zeros before."""
        return torch.cat([ours.new_zeros(self.rows, *ours.shape[1:]), ours])


@dataclass(frozen=True)
class InHalves:
    """Features of a vector between layers in another order: theirs counts sines, then cosines.

    With interleaved sinusoids ours has a sine and a cosine by turns. As every part treats all
    features alike, a model whose features are put in their order computes the same.

    Args:
        axis: of the features.
    """

    axis: int

    def read(self, theirs: Tensor) -> Tensor:
        """Put them by turns."""
        return theirs.index_select(self.axis, _in_halves(theirs.size(self.axis)).argsort())

    def write(self, ours: Tensor) -> Tensor:
        """Put the even ones before the odd ones."""
        return ours.index_select(self.axis, _in_halves(ours.size(self.axis)))


def _in_halves(width: int) -> Tensor:
    return torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)])


@dataclass(frozen=True)
class Patches:
    """Kernels of a convolution with the channels before the pixels.

    Args:
        channels: numbers per pixel.
        side: pixels.
    """

    channels: int
    side: int

    def read(self, theirs: Tensor) -> Tensor:
        """Map (D, C, side, side) to (D, side side C)."""
        return theirs.permute(0, 2, 3, 1).flatten(1)

    def write(self, ours: Tensor) -> Tensor:
        """Map (D, side side C) to (D, C, side, side)."""
        return ours.reshape(-1, self.side, self.side, self.channels).permute(0, 3, 1, 2)


@dataclass(frozen=True)
class HeadByHead:
    """Query, key and value of each head side by side, as in BLOOM; ours has all queries first.

    Args:
        heads: number of heads.
    """

    heads: int

    def read(self, theirs: Tensor) -> Tensor:
        """Map (H 3 E, ...) to (3 H E, ...)."""
        return _swapped(theirs, (self.heads, 3))

    def write(self, ours: Tensor) -> Tensor:
        """Map (3 H E, ...) to (H 3 E, ...)."""
        return _swapped(ours, (3, self.heads))


def _swapped(x: Tensor, first: tuple[int, int]) -> Tensor:
    """Cut the first axis by two numbers, (A B E, ...), and put the second before: (B A E, ...)."""
    whole = x.reshape(*first, -1, *x.shape[1:])
    return whole.transpose(0, 1).reshape(x.shape)


SAME = Same()
Form = Same | Transposed | LeadingOnes | Divided | Offset | InHalves | Patches | HeadByHead
