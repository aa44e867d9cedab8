"""The factor on the loss that keeps small gradients inside float16 (arXiv 1710.03740, section 3.2).

Gradients that overflow are not an error but the sign that the factor is too large: the update is
skipped and the factor halved. After many good updates it is doubled.
"""

LARGEST = 2.0**24
SMALLEST = 2.0**-14


class LossScale:
    """A factor that adapts to the range of the gradients.

    Args:
        value: to begin with.
        every: good updates in a row after which it is doubled.
    """

    def __init__(self, value: float = 2.0**10, every: int = 1_000) -> None:
        self.value, self.good, self.every = value, 0, every

    def good_update(self) -> None:
        """Take note that nothing overflowed."""
        self.good += 1
        if self.good >= self.every:
            self.value, self.good = min(2 * self.value, LARGEST), 0

    def overflow(self) -> bool:
        """Halve the factor; False when it is at its floor, so that the factor is not to blame."""
        if self.value <= SMALLEST:
            return False
        self.value, self.good = self.value / 2, 0
        return True
