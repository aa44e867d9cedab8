"""Stand-ins for what cannot run on PyTorch's meta device, with the same shapes.

Each allocates, keeps for backward and multiplies what the original does; only numbers are missing.
"""

from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dragoman.data import Batch, MaskedBatch, StreamBatch
from dragoman.nn import (
    AttentionKernel,
    Dropout,
    Generator,
    MultiHeadAttention,
    PieceHead,
    RecurrentEncoder,
    RecurrentEncoderDecoder,
    batched_attention,
    dropout_mask,
    fused_attention,
    reference_attention,
)
from dragoman.run.example_batch import AnyBatch
from dragoman.training import class_loss, projected_cross_entropy

BATCHED = 128  # longest sentence that a processor usually attends to by batched products


def stand_in(model: nn.Module, *, processor: bool, batched: int) -> None:
    """Make a model on the meta device compute as on a processor or on a GPU, in place.

    Args:
        model: is changed.
        processor: whether it is to compute as on one.
        batched: longest sentence whose attention is batched products.
    """
    kernel = planned_attention(batched)
    for module in list(model.modules()):
        if isinstance(module, MultiHeadAttention) and module.kernel is fused_attention:
            module.kernel = kernel
        elif getattr(module, "kernel", None) is fused_attention:  # convolutional layers choose none
            module.kernel = planned_attention(0)  # pyright: ignore[reportArgumentType]  # its own
        for name, child in module.named_children():
            if processor and isinstance(child, Dropout):
                setattr(module, name, ProcessorDropout(child.p))
    if isinstance(model, RecurrentEncoderDecoder):
        model.encoder = PlannedRecurrentEncoder(model.encoder)  # pyright: ignore[reportAttributeAccessIssue]  # the same interface


def planned_attention(longest: int) -> AttentionKernel:
    """Make a kernel of batched products up to a length, and of a fused one beyond.

    The mask is left out: it is small, and whether a row is all hidden cannot be asked here. With a
    bias the scores are formed, as PyTorch does on most devices.
    """

    def attend(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None = None,
        *,
        scale: float | None = None,
        bias: Tensor | None = None,
        dropout: float = 0.0,
    ) -> Tensor:
        if bias is not None or q.size(-1) != v.size(-1):
            return reference_attention(q, k, v, scale=scale, bias=bias, dropout=dropout)
        if max(q.size(-2), k.size(-2)) <= longest:
            return batched_attention(q, k, v, scale=scale, dropout=dropout)
        fused: Any = torch.ops.aten._scaled_dot_product_flash_attention  # Any: made at run time
        return fused(q, k, v, dropout, scale=scale)[0]

    return attend


class ProcessorDropout(Dropout):
    """Dropout as on a processor, which keeps its factors in full."""

    def forward(self, x: Tensor) -> Tensor:
        """Drop elements of ``x``, of any shape."""
        return x if self.p == 0 or not self.training else x * dropout_mask(x, self.p)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Give x + Dropout(y)."""
        if self.p == 0 or not self.training:
            return x + y
        return torch.addcmul(x, y, dropout_mask(y, self.p))


class PlannedRecurrentEncoder(nn.Module):
    """A recurrent encoder whose sources are all as long as their row, which it need not ask.

    It runs its layers as on a processor for sources of several lengths: step by step. Other
    libraries do the same products in kernels of their own.
    """

    def __init__(self, encoder: RecurrentEncoder) -> None:
        super().__init__()
        self.layers, self.dropout = encoder.layers, encoder.dropout

    def forward(self, embedded: Tensor, real: Tensor) -> Tensor:
        """Do as ``RecurrentEncoder`` does with ``embedded`` (B, S, D), all of it ``real``."""
        order = torch.arange(embedded.size(0), device=embedded.device)
        lengths = torch.full((embedded.size(0),), embedded.size(1), device="cpu")
        packed = pack_padded_sequence(embedded.index_select(0, order), lengths, batch_first=True)
        for number, layer in enumerate(self.layers):
            if number:
                packed = packed._replace(data=self.dropout(packed.data))
            packed, _ = layer(packed)
        states, _ = pad_packed_sequence(packed, batch_first=True)
        return states.index_select(0, order).masked_fill(~real[..., None], 0.0)


def planned_loss(model: Any, batch: AnyBatch, *, smoothing: float) -> Tensor:
    """Sum the loss of a batch in which no place is padding. Any: each batch has its model."""
    match batch:
        case Batch():
            hidden = model.decode(batch.target_in, model.encode(batch.source))
            return _said(model.generator, hidden, batch.target_out, smoothing)
        case StreamBatch():
            return _said(model.generator, model.hidden(batch.inputs), batch.targets, smoothing)
        case MaskedBatch():
            head: PieceHead = model.head
            asked = model.hidden(batch.inputs).flatten(0, 1)[: batch.target_tokens]
            gold = batch.targets.flatten()[: batch.target_tokens]
            return _said(head.generator, head.transform(asked), gold, smoothing)
        case _:
            return class_loss(model, batch, smoothing=smoothing)


def on_meta(batch: AnyBatch) -> AnyBatch:
    """Forget the numbers of a batch."""
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return replace(
        batch, **{key: x.to("meta") for key, x in values.items() if isinstance(x, Tensor)}
    )


def _said(generator: Generator, hidden: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Do as ``piece_loss`` does, which chooses the real places and so copies them."""
    hidden = generator.project(hidden.reshape(-1, hidden.size(-1)).clone())
    table = generator.table
    if generator.bias is not None:
        hidden = torch.cat((hidden, hidden.new_ones(hidden.size(0), 1)), dim=1)
        table = torch.cat((table, generator.bias[:, None]), dim=1)
    return projected_cross_entropy(hidden, table, targets.flatten(), smoothing=smoothing)
