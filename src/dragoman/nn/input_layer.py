"""Embedding plus position: what the first layer of a stack reads (sections 3.4, 3.5, 5.4).

Shapes: B sentences, L positions, D model width, W width of the vectors that are added up (D unless
they are projected afterwards).
"""

from typing import Protocol

from torch import Tensor, nn

from dragoman.nn.dropout import Dropout
from dragoman.nn.embeddings import Embedding


class AddedPositions(Protocol):
    """Positions that are added to the embeddings, such as sinusoids."""

    @property
    def max_length(self) -> int | None:
        """How many positions exist; None is no limit."""
        ...

    def __call__(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add to ``x`` (B, L, D) the encodings of positions offset .. offset + L - 1."""
        ...


class InputLayer(nn.Module):
    """Embedding plus position, with dropout on the sum.

    Args:
        embedding: ids (B, L) to vectors (B, L, W).
        positions: adds encodings; None where attention itself tells positions apart, or nothing.
        norm: applied to the sum, as in BERT (arXiv 1810.04805); not in the paper.
        segments: a learned vector (count, W) for each kind of segment that a piece may lie in, as
            in BERT; none in the paper.
        projection: maps what comes out of all that, (B, L, W), to (B, L, D), as in ALBERT (arXiv
            1909.11942); none in the paper.
        dropout: chance in [0, 1) that an element of the sum is dropped in training.
    """

    def __init__(
        self,
        embedding: Embedding,
        positions: AddedPositions | None,
        *,
        norm: nn.Module | None = None,
        segments: nn.Parameter | None = None,
        projection: nn.Module | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding, self.positions, self.norm = embedding, positions, norm
        self.segments, self.projection = segments, projection
        self.dropout = Dropout(dropout)

    @property
    def max_length(self) -> int | None:
        """Most pieces the positions allow; None is no limit."""
        return None if self.positions is None else self.positions.max_length

    def forward(self, ids: Tensor, offset: int = 0, segments: Tensor | None = None) -> Tensor:
        """Map ids (B, L), the first at position ``offset``, to (B, L, D).

        Args:
            ids: pieces, (B, L).
            offset: position of the first.
            segments: which kind of segment each piece lies in, (B, L); the first kind unless given.
        """
        x = self.embedding(ids)
        if self.segments is not None:
            x = x + (self.segments[0] if segments is None else self.segments[segments])
        x = x if self.positions is None else self.positions(x, offset)
        x = self.dropout(x if self.norm is None else self.norm(x))
        return x if self.projection is None else self.projection(x)
