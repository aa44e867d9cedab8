"""Frozen records for every choice of a model; the sizes of table 3.

Records go down as far as ``build.py``; the parts in ``dragoman.nn`` see plain numbers.
"""

import math
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from dragoman.configfile import record
from dragoman.errors import ConfigError, Mistake

Size = Annotated[int, Field(ge=1, le=1_000_000)]  # more is a slip of the keyboard
Chance = Annotated[float, Field(ge=0, lt=1)]


@record
class Sinusoidal:
    """Sines and cosines added to the embeddings (section 3.5); any length works."""

    kind: Literal["sinusoidal"] = "sinusoidal"


@record
class Learned:
    """One learned vector per position (section 3.5; table 3 row E).

    Args:
        max_length: pieces, the end symbol included; longer text is an error.
    """

    kind: Literal["learned"] = "learned"
    max_length: Annotated[int, Field(ge=2, le=1_000_000)] = 1024


Positions = Annotated[Sinusoidal | Learned, Discriminator("kind")]


@record
class ModelConfig:
    """The ``[model]`` table of a recipe; the defaults are the paper's base model.

    Args:
        architecture: which stacks there are.
        layers: layers in each stack, N in table 3.
        d_model: width of every vector between parts.
        heads: attention heads h.
        d_ff: inner width of the position-wise networks.
        dropout: on the output of every sub-layer and on embedding + position (5.4).
        attention_dropout: on attention weights; none in the paper.
        feedforward_dropout: inside the position-wise networks; none in the paper.
        attention_bias: whether attention projections add a bias; not in the paper.
        norm_order: where the norm stands: ``post`` as in the paper, or ``pre``.
        final_norm: a norm after each stack; unset means only with ``pre``.
        norm_eps: added to the variance in every norm.
        positions: how positions are told apart.
        vocabulary: pieces of the source side, or of both when joint; set from the tokenizer.
        target_vocabulary: pieces of the target side when it has a vocabulary of its own.
        padding: id of the padding piece.

    Raises:
        ConfigError: ``heads`` does not divide ``d_model``, or ``d_model`` is odd with sinusoids.
    """

    architecture: Literal["encoder-decoder"] = "encoder-decoder"
    layers: Annotated[int, Field(ge=1, le=1_000)] = 6
    d_model: Size = 512
    heads: Size = 8
    d_ff: Size = 2048
    dropout: Chance = 0.1
    attention_dropout: Chance = 0.0
    feedforward_dropout: Chance = 0.0
    attention_bias: bool = False
    norm_order: Literal["post", "pre"] = "post"
    final_norm: bool | None = None
    norm_eps: Annotated[float, Field(gt=0, le=1)] = 1e-6
    positions: Positions = Sinusoidal()
    vocabulary: Size | None = None
    target_vocabulary: Size | None = None
    padding: Annotated[int, Field(ge=0)] = 0

    def __post_init__(self) -> None:
        """Check what no single field can."""
        mistakes: list[Mistake] = []
        if self.heads < 1 or self.d_model % self.heads:
            near = " or ".join(map(str, nearest_divisors(self.d_model, self.heads)))
            problem = f"{self.heads} does not divide d_model {self.d_model}"
            mistakes.append(Mistake("heads", problem, f"try {near}"))
        if isinstance(self.positions, Sinusoidal) and self.d_model % 2:
            problem = f"{self.d_model} is odd, and sinusoids come in pairs"
            step = math.lcm(2, max(self.heads, 1))  # even, and shared evenly by the heads
            below = self.d_model // step * step
            near = " or ".join(str(width) for width in (below, below + step) if width)
            mistakes.append(Mistake("d_model", problem, f"try {near}"))
        if mistakes:
            raise ConfigError.together(mistakes)

    @property
    def max_length(self) -> int | None:
        """The longest input the positions allow, in pieces; None is no limit."""
        return self.positions.max_length if isinstance(self.positions, Learned) else None

    @property
    def has_final_norm(self) -> bool:
        """Whether each stack ends with a norm of its own."""
        return self.norm_order == "pre" if self.final_norm is None else self.final_norm


def nearest_divisors(number: int, near: int) -> list[int]:
    """Find the divisors of ``number`` just below and just above ``near``."""
    divisors = [n for n in range(1, number + 1) if number % n == 0]
    below = [n for n in divisors if n < near][-1:]
    above = [n for n in divisors if n > near][:1]
    return below + above


PRESETS: dict[str, dict[str, Any]] = {  # Any: a table as TOML would hold it
    "base": {},  # table 3, first row: the defaults above
    "big": {"d_model": 1024, "heads": 16, "d_ff": 4096, "dropout": 0.3},  # table 3, last row
    "small": {"layers": 3, "d_model": 256, "heads": 4, "d_ff": 1024},
    "tiny": {"layers": 2, "d_model": 128, "heads": 4, "d_ff": 512},
}
