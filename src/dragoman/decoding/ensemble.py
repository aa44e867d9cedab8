"""Several models as one: each piece has the mean of the probabilities that they give it.

    linear      P(piece) = 1/M * sum over m of P_m(piece)
    geometric   P(piece) ∝ (product over m of P_m(piece))^(1/M)

The linear mean is that of fairseq, the geometric one that of Marian but for the normalization: here
the probabilities of all pieces sum to 1 in both. The models may be of different architectures; what
they must share is what ids mean.

Shapes: M models, R rows, B sentences, T target positions, V vocabulary.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, cast, get_args

import torch
from torch import Tensor, nn

from dragoman.decoding.session import Session
from dragoman.errors import ConfigError
from dragoman.models import SequenceToSequence

EnsembleMean = Literal["linear", "geometric"]


def mean_log_probs(log_probs: Iterable[Tensor], mean: EnsembleMean = "linear") -> Tensor:
    """Make one distribution of several, one after the other, so that not all need memory at once.

    Args:
        log_probs: of M models, natural and normalized, (..., V) each; at least one.
        mean: of the probabilities, or of their logarithms.

    Returns:
        Natural logarithms, normalized, (..., V).
    """
    supply = iter(log_probs)
    total, count = next(supply), 1
    for each in supply:
        total = total.logaddexp(each) if mean == "linear" else total + each
        count += 1
    if mean == "linear":
        return total - math.log(count)
    return (total / count).log_softmax(-1)


@dataclass(frozen=True, slots=True)
class EnsembleSession:
    """A ``Session`` over sessions of the same sentences, which are fed the same ids.

    Args:
        members: one of each model.
        mean: of what they say.
    """

    members: tuple[Session, ...]
    mean: EnsembleMean = "linear"

    @property
    def sentences(self) -> int:
        """How many sentences are being decoded."""
        return self.members[0].sentences

    @property
    def device(self) -> torch.device:
        """Where ids and indices are expected."""
        return self.members[0].device

    def step(self, ids: Tensor) -> tuple[Tensor, Self]:
        """Feed ids (R,), get mean log-probabilities (R, V) and the session after."""
        steps = [member.step(ids) for member in self.members]
        log_probs = mean_log_probs([found for found, _ in steps], self.mean)
        return log_probs, replace(self, members=tuple(member for _, member in steps))

    def select(self, rows: Tensor, sentences: Tensor | None) -> Self:
        """Keep rows and sentences."""
        kept = tuple(member.select(rows, sentences) for member in self.members)
        return replace(self, members=kept)


class Ensemble(nn.Module):
    """Several models that translate together, on one device.

    Args:
        members: they share the source ids, the target ids and the padding.
        mean: of the probabilities they give.

    Raises:
        ValueError: there are none, or their paddings differ.
        ConfigError: the mean is no choice.
    """

    def __init__(
        self, members: Sequence[SequenceToSequence], mean: EnsembleMean = "linear"
    ) -> None:
        super().__init__()
        if mean not in get_args(EnsembleMean):
            raise ConfigError("ensemble_mean", f"{mean!r} is no mean", "linear or geometric")
        if len({member.padding for member in members}) != 1:
            raise ValueError("members: there are none, or they differ in padding")
        self.members = nn.ModuleList(members)
        self.mean: EnsembleMean = mean
        self.padding = members[0].padding

    @property
    def models(self) -> tuple[SequenceToSequence, ...]:
        """The members, known as what they are."""
        return cast("tuple[SequenceToSequence, ...]", tuple(self.members))

    @property
    def max_source_length(self) -> int | None:
        """Most source positions that all of them have; None means any number."""
        return min((n for m in self.models if (n := m.max_source_length) is not None), default=None)

    @property
    def max_target_length(self) -> int | None:
        """Most target positions that all of them have; None means any number."""
        return min((n for m in self.models if (n := m.max_target_length) is not None), default=None)

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        """Say how probable each next piece is, as a model of its own would.

        Args:
            source: ids, (B, S).
            target_in: ids, (B, T), starting with the start symbol.

        Returns:
            Mean log-probabilities, float32, (B, T, V); their softmax is the mean.
        """
        logits = (member(source, target_in) for member in self.models)
        return mean_log_probs((each.float().log_softmax(-1) for each in logits), self.mean)


def begin_session(
    model: SequenceToSequence | Ensemble,
    source: Tensor,
    begin: Callable[[SequenceToSequence, Tensor], Session],
) -> Session:
    """Encode source ids (B, S), padded on the right, in the session that ``begin`` makes.

    Of an ensemble it makes one for each member.
    """
    if isinstance(model, Ensemble):
        return EnsembleSession(tuple(begin(each, source) for each in model.models), model.mean)
    return begin(model, source)
