"""Records of what has more than one form: positions, attention, images.

Each record is one form of a choice and is told apart by its ``kind``. A form without settings may
be named by its kind alone: ``positions = "rotary"``.
"""

from typing import Annotated, Literal

from pydantic import Discriminator, Field

from dragoman.configfile import record
from dragoman.errors import ConfigError

Size = Annotated[int, Field(ge=1, le=1_000_000)]  # more is a slip of the keyboard
Chance = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@record
class Sinusoidal:
    """Sines and cosines added to the embeddings (section 3.5); any length works.

    Args:
        layout: sines and cosines ``interleaved`` as in the paper, or in two ``halves``.
        first: position of the first piece; 1 in models of OpenNMT.
        rate: how wavelengths grow: as in the ``paper``, or as in the code of ``tensor2tensor``.
    """

    kind: Literal["sinusoidal"] = "sinusoidal"
    layout: Literal["interleaved", "halves"] = "interleaved"
    first: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    rate: Literal["paper", "tensor2tensor"] = "paper"


@record
class Learned:
    """One learned vector per position (section 3.5; table 3 row E).

    Args:
        max_length: pieces, the end symbol included; longer text is an error.
    """

    kind: Literal["learned"] = "learned"
    max_length: Annotated[int, Field(ge=2, le=1_000_000)] = 1024


@record
class Shaw:
    """Learned vectors of the clipped offset from query to key (Shaw et al. 2018, 1803.02155).

    Args:
        clip: offsets further than this share a vector.
        values: whether offsets have a term in the values too.
    """

    kind: Literal["shaw"] = "shaw"
    clip: Size = 16
    values: bool = True


@record
class T5:
    """A learned number per head and bucket of offsets, added to scores (arXiv 1910.10683).

    Args:
        buckets: how many; far offsets share them logarithmically.
        max_distance: offsets from here on share the last bucket.
    """

    kind: Literal["t5"] = "t5"
    buckets: Annotated[int, Field(ge=4, le=1_000_000)] = 32
    max_distance: Size = 128

    def __post_init__(self) -> None:
        """Check what no single field can."""
        if self.max_distance < self.buckets:
            problem = f"{self.max_distance} is less than the {self.buckets} buckets"
            raise ConfigError("max_distance", problem, f"try {4 * self.buckets}")


@record
class Rotary:
    """Rotation of queries and keys by position (Su et al. 2021, arXiv 2104.09864).

    Args:
        layout: which features turn together: those of the two ``half``s, or ``interleaved`` ones.
        base: the slowest turns come with about this many positions.
    """

    kind: Literal["rotary"] = "rotary"
    layout: Literal["half", "interleaved"] = "half"
    base: Annotated[float, Field(gt=1, allow_inf_nan=False)] = 10_000.0


@record
class Alibi:
    """Scores fall with distance, at a slope for each head (Press et al. 2021, 2108.12409)."""

    kind: Literal["alibi"] = "alibi"


@record
class NoPositions:
    """Nothing tells positions apart but the causal mask."""

    kind: Literal["none"] = "none"


Positions = Annotated[
    Sinusoidal | Learned | Shaw | T5 | Rotary | Alibi | NoPositions, Discriminator("kind")
]


@record
class Softmax:
    """Scaled dot products through a softmax (section 3.2.1).

    Args:
        scale: factor on the dot products; 1 / sqrt(d_k) unless given.
    """

    kind: Literal["softmax"] = "softmax"
    scale: Positive | None = None


@record
class Additive:
    """Scores by a small network over query and key (Bahdanau et al. 2014, arXiv 1409.0473)."""

    kind: Literal["additive"] = "additive"


@record
class Linear:
    """Feature maps instead of the softmax: a state of constant size (arXiv 2006.16236)."""

    kind: Literal["linear"] = "linear"


@record
class Local:
    """Self-attention to the nearest keys only (section 4, restricted).

    Args:
        keys: how many, r, centred on the query; a decoder sees the (r - 1) / 2 before and itself.
        scale: factor on the dot products; 1 / sqrt(d_k) unless given.
    """

    kind: Literal["local"] = "local"
    keys: Size = 31
    scale: Positive | None = None

    def __post_init__(self) -> None:
        """Check what no single field can."""
        _check_odd(self.keys)


@record
class Sparse:
    """Local self-attention, and some positions that see and are seen by all (2004.05150).

    Args:
        keys: how many, centred on the query.
        global_positions: places in the sequence, from 0.
        scale: factor on the dot products; 1 / sqrt(d_k) unless given.
    """

    kind: Literal["sparse"] = "sparse"
    keys: Size = 31
    global_positions: tuple[Annotated[int, Field(ge=0)], ...] = (0,)
    scale: Positive | None = None

    def __post_init__(self) -> None:
        """Check what no single field can."""
        _check_odd(self.keys)


AttentionChoice = Annotated[Softmax | Additive | Linear | Local | Sparse, Discriminator("kind")]


@record
class Images:
    """Images instead of text: each patch is a position (Dosovitskiy et al. 2020, 2010.11929).

    Args:
        height: pixels.
        width: pixels.
        channels: numbers per pixel.
        patch: side of a square patch in pixels.
    """

    height: Size
    width: Size
    channels: Size = 1
    patch: Size

    def __post_init__(self) -> None:
        """Check what no single field can."""
        if self.height % self.patch or self.width % self.patch:
            problem = f"{self.patch} does not divide {self.height} x {self.width} pixels"
            raise ConfigError("patch", problem, "choose a divisor of both")

    @property
    def patches(self) -> int:
        """How many patches an image has."""
        return (self.height // self.patch) * (self.width // self.patch)


def _check_odd(keys: int) -> None:
    if keys % 2 == 0:
        problem = f"{keys} is even, and the keys are centred on the query"
        raise ConfigError("keys", problem, f"try {keys - 1} or {keys + 1}")
