"""What a run needs to know of its text, whatever kind of model learns from it."""

from collections.abc import Iterator
from typing import Any, Protocol

from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.data import Example, SeekableBatches
from dragoman.evaluation import MetricName, Validation
from dragoman.models import AnyConfig, Model


class Task(Protocol):
    """Text, or images, read and turned into ids: what to learn, and how well it was learned.

    ``budget`` is the most slots in a batch: that of the recipe, until a run has found its own.
    """

    budget: int

    @property
    def config(self) -> AnyConfig:
        """All choices of the model, those included that only the data knows."""
        ...

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """Metrics of a validation, the one first that decides; none: the loss decides."""
        ...

    @property
    def examples(self) -> int:
        """How many examples there are to learn from."""
        ...

    @property
    def fingerprint(self) -> str:
        """Digest of what is learned from: the same data through the same tokenizers."""
        ...

    @property
    def validated(self) -> bool:
        """Whether there is a validation set."""
        ...

    def notices(self) -> Iterator[str]:
        """Say what was read and what was left out."""
        ...

    def batches(self) -> SeekableBatches[Any]:
        """Make the training batches, each known to ``loss``."""
        ...

    def loss(self, model: Any, batch: Any) -> Tensor:
        """Sum the loss of a batch, in nats. Any: each task has a model and a batch of its own."""
        ...

    def example(self, index: int) -> Example:
        """Give one of the ``examples`` of a batch as people know it."""
        ...

    def validate(self, model: Any) -> Validation:
        """Score the validation set with a model as it is."""
        ...

    def test(self, model: Any) -> list[str]:
        """Score the test set, if there is one; say what was found in lines."""
        ...

    def bundle(self, model: Model) -> Bundle:
        """Put the model together with all that is needed to use it."""
        ...

    def card(self) -> list[str]:
        """Say for the model card what the data was, with hashes and counts."""
        ...
