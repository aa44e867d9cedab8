"""JoeyNMT's model, batch and loss, stepped as its ``TrainManager._train_step`` does.

JoeyNMT smooths labels over all pieces but padding and the gold one, and reports the divergence from
them; the cross-entropy of the other sides is that plus the labels' own entropy.
"""

import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import torch
from joeynmt.batch import Batch
from joeynmt.builders import build_optimizer
from joeynmt.model import Model, build_model
from joeynmt.vocabulary import Vocabulary
from torch import Tensor, nn
from workload import END, PADDING, START, UNKNOWN, PlainBatch, Setup

OWN = {UNKNOWN: 0, PADDING: 1, START: 2, END: 3}  # how JoeyNMT numbers the special symbols


def build(setup: Setup) -> Model:
    """Build the model through JoeyNMT's own configuration."""
    special = SimpleNamespace(
        unk_token="<unk>",
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        sep_token=None,
        unk_id=OWN[UNKNOWN],
        pad_id=OWN[PADDING],
        bos_id=OWN[START],
        eos_id=OWN[END],
        lang_tags=[],
    )
    pieces = [f"piece{number}" for number in range(setup.vocabulary - len(OWN))]
    vocabulary = Vocabulary(pieces, special)
    stack = {
        "type": "transformer",
        "num_layers": setup.layers,
        "num_heads": setup.heads,
        "hidden_size": setup.d_model,
        "ff_size": setup.d_ff,
        "dropout": setup.dropout,
        "layer_norm": "post",
        "embeddings": {"embedding_dim": setup.d_model, "scale": True, "dropout": setup.dropout},
    }
    config = {
        "initializer": "xavier_uniform",
        "embed_initializer": "xavier_uniform",
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": stack,
        "decoder": stack,
    }
    model = build_model(config, vocabulary, vocabulary)
    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.feed_forward.pwff_layer[2] = nn.Dropout(0.0)  # inside the position-wise network
        for name, part in layer.named_children():
            if name.endswith("_att"):
                part.dropout.p = setup.attention_dropout
    model.loss_function = ("crossentropy", setup.smoothing)
    return model


def renumbered(ids: Tensor) -> Tensor:
    """Give special symbols their ids in JoeyNMT; other pieces keep theirs."""
    table = torch.arange(int(ids.max()) + len(OWN))
    for plain, own in OWN.items():
        table[plain] = own
    return table[ids]


def train(setup: Setup, batches: Sequence[PlainBatch]) -> Iterator[float]:
    """Make one update on each batch; give its loss in nats per real target."""
    torch.manual_seed(setup.seed)
    model = build(setup)
    optimizer = build_optimizer(
        {"optimizer": "adam", "learning_rate": setup.rate, "adam_betas": list(setup.betas)},
        model.parameters(),
    )
    entropy = _entropy(setup.smoothing, setup.vocabulary - 2)
    pairs = [
        (
            renumbered(plain.source),
            renumbered(torch.cat((plain.target_in[:, :1], plain.target_out), 1)),
        )
        for plain in batches
    ]
    model.zero_grad()
    for source, target in pairs:
        batch = Batch(
            src=source,
            src_length=(source != OWN[PADDING]).sum(1),
            src_prompt_mask=None,
            trg=target,
            trg_prompt_mask=None,
            indices=torch.arange(len(source)),
            device=torch.device("cpu"),
            pad_index=OWN[PADDING],
            eos_index=OWN[END],
        )
        model.train()
        batch.sort_by_src_length()
        batch_loss, _, _, correct = model(return_type="loss", **vars(batch))
        loss = batch.normalize(batch_loss, "tokens")
        loss.backward()
        correct.item()
        optimizer.step()
        model.zero_grad()
        yield loss.item() + entropy


def _entropy(smoothing: float, others: int) -> float:
    kept = 1 - smoothing
    return -kept * math.log(kept) - smoothing * math.log(smoothing / others)
