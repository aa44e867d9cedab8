"""A plain loop over ``transformers``' MarianMT, as its documentation trains any model.

The decoder gets no padding mask: it is causal, padding is on the right, and padded targets do not
count, so a mask would change nothing but the time.
"""

from collections.abc import Iterator, Sequence

import torch
from transformers import MarianConfig, MarianMTModel
from workload import END, PADDING, START, PlainBatch, Setup


def build(setup: Setup) -> MarianMTModel:
    """Build the model with first weights of its own."""
    config = MarianConfig(
        vocab_size=setup.vocabulary,
        decoder_vocab_size=setup.vocabulary,
        d_model=setup.d_model,
        encoder_layers=setup.layers,
        decoder_layers=setup.layers,
        encoder_attention_heads=setup.heads,
        decoder_attention_heads=setup.heads,
        encoder_ffn_dim=setup.d_ff,
        decoder_ffn_dim=setup.d_ff,
        activation_function="relu",
        scale_embedding=True,
        dropout=setup.dropout,
        attention_dropout=setup.attention_dropout,
        activation_dropout=0.0,
        pad_token_id=PADDING,
        bos_token_id=START,
        eos_token_id=END,
        forced_eos_token_id=END,
        decoder_start_token_id=START,
    )
    return MarianMTModel(config)


def train(setup: Setup, batches: Sequence[PlainBatch]) -> Iterator[float]:
    """Make one update on each batch; give its loss in nats per real target."""
    torch.manual_seed(setup.seed)
    model = build(setup)
    criterion = torch.nn.CrossEntropyLoss(ignore_index=PADDING, label_smoothing=setup.smoothing)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=setup.rate, betas=setup.betas, eps=setup.eps
    )
    model.train()
    for batch in batches:
        optimizer.zero_grad()
        outputs = model(
            input_ids=batch.source,
            attention_mask=(batch.source != PADDING).long(),
            decoder_input_ids=batch.target_in,
            use_cache=False,
        )
        loss = criterion(outputs.logits.view(-1, setup.vocabulary), batch.target_out.view(-1))
        loss.backward()
        optimizer.step()
        yield loss.item()
