"""What one update of a training is: the record that plans are made from.

Sizes are bytes; a multiply-add is two operations.
"""

from collections.abc import Mapping
from dataclasses import dataclass

Product = tuple[int, int, int, int]
"""Matrix products of one kind in one operator: how many, and n, k, m of (n, k) x (k, m)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One update of a training, in one number format.

    Args:
        parameters: learned numbers.
        slots: most places of target pieces in one batch (of images, places of patches).
        batches: whose gradients make an update.
        operations: of matrix products, forward and backward, in one batch.
        products: the same by their sizes.
        moved: bytes that all other operators of one batch read and write.
        operators: how many run in one batch.
        updated: bytes that the optimizer reads and writes in one update.
        weights: bytes of the weights, float32 originals and copies to compute with.
        gradients: bytes of their float32 gradients.
        moments: bytes that the optimizer remembers.
        held: bytes of what one batch of ``slots`` holds beside these at its peak.
        held_anyway: the part of ``held`` that does not depend on the size of the batch.
        small: bytes of what it holds in pieces that a processor's allocator keeps when they are let
            go, gradients included.
        copies: bytes of the weights in the format they are multiplied in.
        saved: bytes of the weights in a checkpoint.
        remembered: bytes of all else in a checkpoint.
        averaged: how many checkpoints are averaged at the end of the run; 0 is none.
        split: whether each device keeps only its share of weights, gradients and moments.
    """

    parameters: int
    slots: int
    batches: int
    operations: float
    products: Mapping[Product, float]
    moved: float
    operators: int
    updated: float
    weights: float
    gradients: float
    moments: float
    held: float
    held_anyway: float
    small: float
    copies: float
    saved: float
    remembered: float
    averaged: int
    split: bool

    @property
    def operations_per_slot(self) -> float:
        """Operations for each target place."""
        return self.operations / self.slots
