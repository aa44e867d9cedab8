"""What tells positions apart, one scheme per file (section 3.5 and its successors).

Some are added to the embeddings, the others are handed to attention as ``positions=``.
"""

from dragoman.nn.positions.alibi import AlibiBias, alibi_bias, alibi_slopes
from dragoman.nn.positions.learned import LearnedPositions
from dragoman.nn.positions.rotary import RotaryLayout, RotaryPositions, rotate
from dragoman.nn.positions.shaw import (
    RelativePositions,
    reference_relative_attention,
    relative_bias,
    relative_rows,
)
from dragoman.nn.positions.sinusoidal import (
    SinusoidalPositions,
    SinusoidLayout,
    SinusoidRate,
    sinusoids,
)
from dragoman.nn.positions.t5 import T5Bias, t5_bucket
from dragoman.nn.positions.unclipped import UnclippedRelativePositions, unclipped_bias

__all__ = [
    "AlibiBias",
    "LearnedPositions",
    "RelativePositions",
    "RotaryLayout",
    "RotaryPositions",
    "SinusoidLayout",
    "SinusoidRate",
    "SinusoidalPositions",
    "T5Bias",
    "UnclippedRelativePositions",
    "alibi_bias",
    "alibi_slopes",
    "reference_relative_attention",
    "relative_bias",
    "relative_rows",
    "rotate",
    "sinusoids",
    "t5_bucket",
    "unclipped_bias",
]
