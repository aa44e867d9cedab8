"""What hypotheses that have ended are compared by.

    score(y) = log P(y | x) / penalty(|y|) + reward * |y| + coverage(x, y)

The penalty is that of Wu et al. 2016 (arXiv 1609.08144, equation 14), which the paper uses (section
6.1), the plain length, or none; reward and coverage are 0 unless asked for. |y| counts the end
symbol.

Shapes: N hypotheses, L source positions.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from torch import Tensor

LengthForm = Literal["paper", "average", "none"]
LENGTH_FORMS: tuple[str, ...] = get_args(LengthForm)
_LEAST = 1e-10  # of the attention to a source position, so that its logarithm is a number


def length_penalty(length: int, alpha: float, form: LengthForm = "paper") -> float:
    """Divide a log-probability by this: ((5 + length) / 6)^alpha, length^alpha, or 1.

    It is 1 for alpha 0 and for length 1, whatever the form.
    """
    match form:
        case "paper":
            return ((5 + length) / 6) ** alpha
        case "average":
            return float(length) ** alpha
        case "none":
            return 1.0


def coverage_penalty(covered: Tensor, visible: Tensor, beta: float) -> Tensor:
    """Say how much of the source was overlooked: beta * sum_i log min(sum_j p_ij, 1).

    Args:
        covered: sum over target positions j of the attention p_ij to source position i, (N, L).
        visible: which source positions are real, boolean, (N, L); others do not count.
        beta: from 0 up.

    Returns:
        At most 0, (N,), float64; an attention below 1e-10 counts as that.
    """
    logs = covered.double().clamp(_LEAST, 1.0).log()
    return beta * logs.masked_fill(~visible, 0.0).sum(dim=1)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a score is made of: log_prob / penalty + reward + coverage.

    Args:
        log_prob: log P(y | x), as the search counts it.
        penalty: of the length.
        reward: of all pieces together.
        coverage: at most 0.
    """

    log_prob: float
    penalty: float
    reward: float = 0.0
    coverage: float = 0.0

    @property
    def score(self) -> float:
        """Their sum."""
        return self.log_prob / self.penalty + self.reward + self.coverage


@dataclass(frozen=True, slots=True)
class FinalScore:
    """The formula above, but for the coverage, which is added by those who know it.

    Args:
        alpha: strength of the length penalty.
        form: of the length penalty.
        reward: of each piece.
    """

    alpha: float
    form: LengthForm = "paper"
    reward: float = 0.0

    def of(self, log_prob: float, length: int) -> float:
        """Give the score of a hypothesis of so many pieces."""
        score = log_prob / length_penalty(length, self.alpha, self.form)
        return score + self.reward * length if self.reward else score

    def terms(self, log_prob: float, length: int, coverage: float = 0.0) -> Terms:
        """Say what the score of a hypothesis of so many pieces is made of."""
        penalty = length_penalty(length, self.alpha, self.form)
        return Terms(log_prob, penalty, self.reward * length, coverage)

    def bound(self, log_prob: float, shortest: int, longest: int) -> float:
        """Say what a hypothesis will at most score once it has one of these lengths.

        A log-probability can only fall, so the best it can do is keep its present one until the
        length that favours it most: the longest or the shortest when penalty and reward pull the
        same way, otherwise any of them. The coverage is at most 0.
        """
        rising = self.alpha >= 0 or self.form == "none"
        if rising and self.reward >= 0:
            return self.of(log_prob, longest)
        falling = self.alpha <= 0 or self.form == "none"
        if falling and self.reward <= 0:
            return self.of(log_prob, shortest)
        return max(self.of(log_prob, length) for length in range(shortest, longest + 1))
