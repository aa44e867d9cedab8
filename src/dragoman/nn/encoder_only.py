"""The encoder alone, with what reads its output: pieces, a class, or tags (arXiv 1810.04805).

Shapes: B sequences, S positions, D model width, W width of the table of pieces, V vocabulary, C
classes.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from dragoman.nn.embeddings import Generator
from dragoman.nn.encoder import Encoder
from dragoman.nn.input_layer import InputLayer
from dragoman.nn.masks import padding_mask
from dragoman.nn.patch_input import PatchInput


class PieceHead(nn.Module):
    """Say which piece belongs at each position: one more layer, then the table of pieces.

    Args:
        d_model: width D.
        activation: of the layer.
        norm: after the layer.
        generator: vectors to logits.
        width: of what the layer gives, W; D unless given.
    """

    def __init__(
        self,
        d_model: int,
        activation: Callable[[Tensor], Tensor],
        norm: nn.Module,
        generator: Generator,
        *,
        width: int | None = None,
    ) -> None:
        super().__init__()
        self.layer = nn.Linear(d_model, d_model if width is None else width)
        self.activation, self.norm, self.generator = activation, norm, generator

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (..., D) to logits (..., V)."""
        return self.generator(self.transform(hidden))

    def transform(self, hidden: Tensor) -> Tensor:
        """Map (..., D) to what the table is compared with, (..., W)."""
        return self.norm(self.activation(self.layer(hidden)))


class ClassHead(nn.Module):
    """Say which class a whole sequence belongs to, by its first position.

    Args:
        d_model: width D.
        classes: how many classes C.
        pooled: whether a layer with tanh comes first, as in BERT.
    """

    def __init__(self, d_model: int, classes: int, *, pooled: bool = True) -> None:
        super().__init__()
        self.pooler = nn.Linear(d_model, d_model) if pooled else None
        self.output = nn.Linear(d_model, classes)

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (B, S, D) to logits (B, C)."""
        first = hidden[:, 0]
        return self.output(first if self.pooler is None else torch.tanh(self.pooler(first)))


class PooledHead(nn.Module):
    """Give one vector for a whole sequence: a layer with tanh over its first position (BERT).

    Args:
        d_model: width D.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.pooler = nn.Linear(d_model, d_model)

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (B, S, D) to (B, D), numbers in (-1, 1)."""
        return torch.tanh(self.pooler(hidden[:, 0]))


class TagHead(nn.Module):
    """Say which class each position belongs to.

    Args:
        d_model: width D.
        classes: how many classes C.
    """

    def __init__(self, d_model: int, classes: int) -> None:
        super().__init__()
        self.output = nn.Linear(d_model, classes)

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (B, S, D) to logits (B, S, C)."""
        return self.output(hidden)


Head = PieceHead | ClassHead | PooledHead | TagHead


class EncoderOnly(nn.Module):
    """An encoder and what reads its output.

    Args:
        input: ids, or images, to vectors.
        encoder: the stack.
        head: reads its output; None gives the output as it is.
        padding: id of the padding piece.
    """

    def __init__(
        self,
        input: InputLayer | PatchInput,
        encoder: Encoder,
        head: Head | None,
        *,
        padding: int,
    ) -> None:
        super().__init__()
        self.input, self.encoder, self.head, self.padding = input, encoder, head, padding

    @property
    def max_length(self) -> int | None:
        """Most pieces its positions allow, added symbols included; None is no limit."""
        return self.input.max_length

    def forward(self, x: Tensor, segments: Tensor | None = None) -> Tensor:
        """Give what the head says of ids (B, S) or images (B, height, width, C), as ``hidden``."""
        hidden = self.hidden(x, segments)
        return hidden if self.head is None else self.head(hidden)

    def hidden(self, x: Tensor, segments: Tensor | None = None) -> Tensor:
        """Run the stack over ids (B, S) or images; returns (B, S, D).

        Args:
            x: pieces, padded on the right, or images.
            segments: which kind of segment each piece lies in, (B, S).
        """
        if isinstance(self.input, PatchInput):
            return self.encoder(self.input(x))
        visible = padding_mask(x, self.padding)
        return self.encoder(self.input(x, segments=segments), visible)
