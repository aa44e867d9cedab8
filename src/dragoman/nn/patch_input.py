"""Image patches and a class position: what an encoder of images reads (arXiv 2010.11929).

Shapes: B images, N patches, D model width.
"""

import torch
from torch import Tensor, nn

from dragoman.nn.dropout import Dropout
from dragoman.nn.input_layer import AddedPositions
from dragoman.nn.patches import PatchEmbedding


class PatchInput(nn.Module):
    """Embed patches, put a learned vector before them, add positions.

    Args:
        embedding: images to patch vectors (B, N, D).
        d_model: width D.
        positions: adds encodings; None where attention itself tells positions apart, or nothing.
        norm: applied to the sum.
        dropout: chance in [0, 1) that an element of the sum is dropped in training.
    """

    def __init__(
        self,
        embedding: PatchEmbedding,
        d_model: int,
        positions: AddedPositions | None,
        *,
        norm: nn.Module | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding, self.positions, self.norm = embedding, positions, norm
        self.first = nn.Parameter(torch.zeros(d_model))
        self.dropout = Dropout(dropout)

    @property
    def max_length(self) -> int | None:
        """How many positions exist; None is no limit."""
        return None if self.positions is None else self.positions.max_length

    def forward(self, images: Tensor) -> Tensor:
        """Map images (B, height, width, C) to (B, 1 + N, D)."""
        patches = self.embedding(images)
        first = self.first.expand(patches.size(0), 1, -1)
        x = torch.cat((first, patches), dim=1)
        x = x if self.positions is None else self.positions(x)
        return self.dropout(x if self.norm is None else self.norm(x))
