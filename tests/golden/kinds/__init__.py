"""Which public function computes which kind of golden case.

A kind stands in exactly one of ``KINDS`` (every field is computed and compared) and
``NOT_YET_BUILT`` (reported as skipped). ``PARTS`` compares what exists already of some kinds that
are not yet whole. A kind in neither is an error, so that no case is skipped unseen.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tests.golden.case import Case
from tests.golden.kinds import (
    attention,
    counts,
    data,
    decoding,
    layers,
    masks,
    models,
    multihead,
    positions,
    training,
)

Compute = Callable[[Case], Mapping[str, Any]]  # Any: tensors and numbers, nested

KINDS: dict[str, Compute] = {
    **attention.KINDS,
    **counts.KINDS,
    **data.KINDS,
    **decoding.KINDS,
    **layers.KINDS,
    **masks.KINDS,
    **models.KINDS,
    **multihead.KINDS,
    **positions.KINDS,
    **training.KINDS,
}

PARTS: dict[str, Compute] = {**attention.PARTS, **layers.PARTS, **training.PARTS}

LEFT_OPEN: dict[str, frozenset[str]] = decoding.LEFT_OPEN  # fields the format does not insist on

NOT_YET_BUILT = frozenset(
    {
        "activations",
        "additive_attention",
        "alibi_attention",
        "alibi_slopes",
        "attention_mults",
        "batch_vs_layer",
        "bleu",
        "bpe_train",
        "complexity_table",
        "conv1d",
        "decoder_only",
        "encoder_only",
        "flash_attention",
        "generator",
        "gru",
        "label_smoothing",
        "layer_norm",
        "layers_to_cover",
        "linear_attention",
        "lstm",
        "patchify",
        "receptive_field",
        "recurrent_params",
        "relative_note_form",
        "rnn",
        "rope",
        "rope_relative",
        "separable_conv",
        "separable_counts",
        "shaw_relative",
        "sparse_attention",
        "spatial_separable",
        "speculative_expected",
        "speculative_step",
        "stack_params",
        "swiglu",
        "swiglu_width",
        "t5_bucket",
        "t5_params",
        "training_time",
        "vit_params",
        "wordpiece_encode",
        "wordpiece_score",
        "wordpiece_train",
    }
)
