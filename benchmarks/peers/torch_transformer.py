"""A plain loop over ``torch.nn.Transformer``, as PyTorch's translation tutorial writes it.

Other than there: batch first, one table, and no norm after the stacks.
"""

import math
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from workload import PADDING, PlainBatch, Setup


class PositionalEncoding(nn.Module):
    """Add sinusoids, then drop."""

    def __init__(self, d_model: int, dropout: float, longest: int = 5_000) -> None:
        super().__init__()
        places = torch.arange(longest)[:, None]
        rates = torch.exp(-torch.arange(0, d_model, 2) * math.log(10_000) / d_model)
        table = torch.zeros(longest, d_model)
        table[:, 0::2], table[:, 1::2] = torch.sin(places * rates), torch.cos(places * rates)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("table", table)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, L, D) to the same shape."""
        return self.dropout(x + self.table[: x.size(1)])


class Seq2SeqTransformer(nn.Module):
    """The tutorial's model."""

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        self.embedding = nn.Embedding(setup.vocabulary, setup.d_model)
        self.positions = PositionalEncoding(setup.d_model, setup.dropout)
        self.transformer = nn.Transformer(
            setup.d_model,
            setup.heads,
            setup.layers,
            setup.layers,
            setup.d_ff,
            setup.dropout,
            batch_first=True,
        )
        self.transformer.encoder.norm = self.transformer.decoder.norm = None
        for module in self.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = setup.attention_dropout
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0  # inside the position-wise network
        for weight in self.parameters():
            if weight.dim() > 1:
                nn.init.xavier_uniform_(weight)

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        """Give the logits of every target, (B, T, V)."""
        padded = source == PADDING
        length = target_in.size(1)
        hidden = self.transformer(
            self._embed(source),
            self._embed(target_in),
            tgt_mask=torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1),
            src_key_padding_mask=padded,
            tgt_key_padding_mask=target_in == PADDING,
            memory_key_padding_mask=padded,
        )
        return F.linear(hidden, self.embedding.weight)

    def _embed(self, ids: Tensor) -> Tensor:
        return self.positions(self.embedding(ids) * math.sqrt(self.embedding.embedding_dim))


def train(setup: Setup, batches: Sequence[PlainBatch]) -> Iterator[float]:
    """Make one update on each batch; give its loss in nats per real target."""
    torch.manual_seed(setup.seed)
    model = Seq2SeqTransformer(setup)
    criterion = nn.CrossEntropyLoss(ignore_index=PADDING, label_smoothing=setup.smoothing)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=setup.rate, betas=setup.betas, eps=setup.eps
    )
    model.train()
    for batch in batches:
        logits = model(batch.source, batch.target_in)
        optimizer.zero_grad()
        loss = criterion(logits.reshape(-1, logits.shape[-1]), batch.target_out.reshape(-1))
        loss.backward()
        optimizer.step()
        yield loss.item()
