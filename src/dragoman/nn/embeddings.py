"""Piece ids to vectors, and vectors back to scores over pieces (section 3.4).

Shapes: B sentences, L positions, D model width, W width of the table (D unless asked), V vocabulary
size.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Embedding(nn.Module):
    """Look up the vectors of pieces, times √D so that they match the positions in size.

    Args:
        vocabulary: number of pieces V.
        d_model: width D.
        width: width W of the table; the vectors are then projected to D, so that a large
            vocabulary costs less (Lan et al. 2019, arXiv 1909.11942). D, without a projection,
            unless given.
        scaled: whether vectors are multiplied by √D, as in the paper.
    """

    def __init__(
        self, vocabulary: int, d_model: int, *, width: int | None = None, scaled: bool = True
    ) -> None:
        super().__init__()
        table_width = d_model if width is None else width
        self.table = nn.Parameter(torch.empty(vocabulary, table_width).normal_(std=d_model**-0.5))
        self.projection = None if width is None else nn.Linear(width, d_model, bias=False)
        self.scale = math.sqrt(d_model) if scaled else 1.0

    def forward(self, ids: Tensor) -> Tensor:
        """Map ids (B, L) to vectors (B, L, D)."""
        vectors = F.embedding(ids, self.table)
        vectors = vectors if self.projection is None else self.projection(vectors)
        return vectors * self.scale


class Generator(nn.Module):
    """Score every piece as the next one: the unscaled product with a table.

    Args:
        table: (V, W), the parameter of an ``Embedding`` to share its weights (Press and Wolf 2017,
            arXiv 1608.05859), or one of its own.
        d_model: width D of the vectors, when it is not W; they are then projected first.
        bias: whether every piece has a bias; not in the paper.
    """

    def __init__(
        self, table: nn.Parameter, *, d_model: int | None = None, bias: bool = False
    ) -> None:
        super().__init__()
        self.table = table
        self.projection = None if d_model is None else nn.Linear(d_model, table.size(1), bias=False)
        self.bias = nn.Parameter(torch.zeros(table.size(0))) if bias else None

    def forward(self, hidden: Tensor) -> Tensor:
        """Map vectors (..., D) to logits (..., V)."""
        return F.linear(self.project(hidden), self.table, self.bias)

    def project(self, hidden: Tensor) -> Tensor:
        """Map vectors (..., D) to the width of the table, (..., W)."""
        return hidden if self.projection is None else self.projection(hidden)
