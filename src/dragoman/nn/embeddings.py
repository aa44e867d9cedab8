"""Piece ids to vectors, and vectors back to scores over pieces (section 3.4).

Shapes: B sentences, L positions, D model width, V vocabulary size.
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
    """

    def __init__(self, vocabulary: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(vocabulary, d_model).normal_(std=d_model**-0.5))
        self.scale = math.sqrt(d_model)

    def forward(self, ids: Tensor) -> Tensor:
        """Map ids (B, L) to vectors (B, L, D)."""
        return F.embedding(ids, self.table) * self.scale


class Generator(nn.Module):
    """Score every piece as the next one: the unscaled product with a table, without bias.

    Args:
        table: (V, D), the parameter of an ``Embedding`` to share its weights (Press and Wolf 2017,
            arXiv 1608.05859), or one of its own.
    """

    def __init__(self, table: nn.Parameter) -> None:
        super().__init__()
        self.table = table

    def forward(self, hidden: Tensor) -> Tensor:
        """Map vectors (..., D) to logits (..., V)."""
        return F.linear(hidden, self.table)
