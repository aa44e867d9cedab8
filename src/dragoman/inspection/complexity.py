"""Table 1 of the paper for given sizes: terms, exact multiplications, steps, paths, crossovers.

Letters: n sequence length, d representation width, k kernel size, r keys of a neighbourhood, h
attention heads. Table 1 gives leading terms; a real layer multiplies more, by its projections above
all, and both are counted here. Biases, norms and softmax are not.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dragoman.inspection.cost import (
    LayerCost,
    attention_multiplications,
    convolutional_cost,
    dilated_convolutional_cost,
    recurrent_cost,
    restricted_self_attention_cost,
    self_attention_cost,
    separable_convolution_cost,
)

FARTHEST = 2**40  # positions; layers that have not crossed until here never do


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSizes:
    """What layers are compared at, beside their length n.

    Args:
        d: representation width.
        k: kernel size of convolutions, at least 2.
        r: keys that restricted self-attention sees, odd, as they lie centred on the query.
        heads: of attention; divide ``d``.

    Raises:
        ValueError: a size cannot be.
    """

    d: int
    k: int = 3
    r: int = 31
    heads: int = 8

    def __post_init__(self) -> None:
        """Check what no single field can."""
        if self.d < 1 or self.heads < 1 or self.d % self.heads:
            raise ValueError(f"heads: {self.heads} does not divide d {self.d}")
        if self.k < 2:
            raise ValueError(f"k: a kernel of {self.k} connects no two positions; take at least 2")
        if self.r < 3 or self.r % 2 == 0:
            near = max(3, self.r - 1 + self.r % 2)
            raise ValueError(f"r: {self.r} keys do not lie centred on a query; try {near}")


@dataclass(frozen=True, slots=True)
class LayerKind:
    """One kind of layer.

    Args:
        name: in words.
        terms: operations, sequential steps and path as table 1 writes them.
        cost: those terms filled in, for n.
        multiplications: of a real layer over n positions, projections and constants included.
    """

    name: str
    terms: tuple[str, str, str]
    cost: Callable[[int], LayerCost]
    multiplications: Callable[[int], int]


def linear_attention_cost(n: int, d: int, heads: int) -> LayerCost:
    """Sums over the keys instead of weights (arXiv 2006.16236): n d² / h, 1, 1."""
    return LayerCost(n * d * d // heads, 1, 1)


def visible_pairs(n: int, r: int) -> int:
    """Count pairs of query and key when each query sees the r keys around it, fewer at the ends."""
    half = min(r // 2, n - 1)
    return n + 2 * sum(n - offset for offset in range(1, half + 1))


def layer_kinds(sizes: LayerSizes) -> list[LayerKind]:
    """List the rows of table 1, and of layers that the paper names or that came after it.

    The first is self-attention. Exact multiplications: attention projects four times, n d² each,
    and multiplies every visible pair twice, once for its score and once for its value; a plain
    recurrent cell has two products, an LSTM eight; linear attention adds each key to its sums once
    and reads them once, and once more for the divisor.
    """
    d, k, r, heads = sizes.d, sizes.k, sizes.r, sizes.heads
    return [
        LayerKind(
            "self-attention",
            ("n² d", "1", "1"),
            lambda n: self_attention_cost(n, d),
            lambda n: attention_multiplications(n, d).total,
        ),
        LayerKind(
            "recurrent",
            ("n d²", "n", "n"),
            lambda n: recurrent_cost(n, d),
            lambda n: 2 * n * d * d,
        ),
        LayerKind(
            "recurrent, LSTM",
            ("n d²", "n", "n"),
            lambda n: recurrent_cost(n, d),
            lambda n: 8 * n * d * d,
        ),
        LayerKind(
            "convolutional",
            ("k n d²", "1", "n / k"),
            lambda n: convolutional_cost(n, d, k),
            lambda n: k * n * d * d,
        ),
        LayerKind(
            "dilated convolutional",
            ("k n d²", "1", "log_k n"),
            lambda n: dilated_convolutional_cost(n, d, k),
            lambda n: k * n * d * d,
        ),
        LayerKind(
            "separable convolution",
            ("k n d + n d²", "1", "n / k"),
            lambda n: separable_convolution_cost(n, d, k),
            lambda n: k * n * d + n * d * d,
        ),
        LayerKind(
            "restricted self-attention",
            ("r n d", "1", "n / r"),
            lambda n: restricted_self_attention_cost(n, d, r),
            lambda n: 2 * visible_pairs(n, r) * d + 4 * n * d * d,
        ),
        LayerKind(
            "linear attention",
            ("n d² / h", "1", "1"),
            lambda n: linear_attention_cost(n, d, heads),
            lambda n: 2 * n * d * d // heads + n * d + 4 * n * d * d,
        ),
    ]


def crossing(less: Callable[[int], float], more: Callable[[int], float]) -> int | None:
    """Find the first length from which ``less`` is no longer the smaller.

    Args:
        less: grows faster with n than ``more``, once it is the larger.
        more: what it is compared with.

    Returns:
        n, from 1; None when it stays smaller.
    """
    if less(1) >= more(1):
        return 1
    below, above = 1, 2
    while less(above) < more(above):
        below, above = above, 2 * above
        if above > FARTHEST:
            return None
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if less(middle) < more(middle) else (below, middle)
    return above


@dataclass(frozen=True, slots=True)
class Crossing:
    """From which length on self-attention costs as much as another kind of layer.

    Args:
        name: of the other kind.
        terms: by table 1; None is never.
        multiplications: by exact count; 1 is always, None never.
    """

    name: str
    terms: int | None
    multiplications: int | None


def crossings(sizes: LayerSizes) -> list[Crossing]:
    """Compare self-attention with every other kind of layer."""
    attention, *others = layer_kinds(sizes)
    return [
        Crossing(
            other.name,
            crossing(
                lambda n: attention.cost(n).per_layer,
                lambda n, kind=other: kind.cost(n).per_layer,
            ),
            crossing(attention.multiplications, other.multiplications),
        )
        for other in others
    ]
