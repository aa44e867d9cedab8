"""How one weight is laid out on their side; each form reads theirs into ours and writes it back.

All but ``Divided`` give the same bits again.
"""

from dataclasses import dataclass

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
Form = Same | Transposed | LeadingOnes | Divided | Patches | HeadByHead
