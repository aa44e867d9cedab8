"""Which public function computes which kind of golden case.

Every field of a kind is computed and compared. A kind that is not in ``KINDS`` fails, so that no
case is skipped unseen.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tests.golden.case import Case
from tests.golden.kinds import (
    attention,
    convolution,
    counts,
    data,
    decoding,
    evaluation,
    feedforward,
    layers,
    masks,
    models,
    multihead,
    parameters,
    positions,
    recurrent,
    speculative,
    tokenization,
    training,
)

Compute = Callable[[Case], Mapping[str, Any]]  # Any: tensors and numbers, nested

KINDS: dict[str, Compute] = {
    **attention.KINDS,
    **convolution.KINDS,
    **counts.KINDS,
    **data.KINDS,
    **decoding.KINDS,
    **evaluation.KINDS,
    **feedforward.KINDS,
    **layers.KINDS,
    **masks.KINDS,
    **models.KINDS,
    **multihead.KINDS,
    **parameters.KINDS,
    **positions.KINDS,
    **speculative.KINDS,
    **recurrent.KINDS,
    **tokenization.KINDS,
    **training.KINDS,
}

LEFT_OPEN: dict[str, frozenset[str]] = decoding.LEFT_OPEN  # fields the format does not insist on
