"""Fill our models from those of ``transformers`` by tables of names, ViT's among them."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from dragoman.interop.huggingface.forms import LeadingOnes, Patches
from dragoman.interop.huggingface.names import (
    Row,
    attention,
    every,
    linear,
    norm,
)
from dragoman.interop.huggingface.weights import read_weights, write_weights


def copy_weights(
    ours: nn.Module, theirs: Mapping[str, Tensor], rows: Sequence[Row], *, unused: str = ""
) -> None:
    """Fill every parameter of ``ours`` from their state, use all of it, and write it back.

    Args:
        ours: the model to fill.
        theirs: their parameters by name.
        rows: the table, layers numbered.
        unused: end of the names of what we compute instead of storing it.
    """
    parameters = dict(ours.named_parameters())
    shapes = {name: tuple(weight.shape) for name, weight in parameters.items()}
    computed = (unused,) if unused else ()
    for name, weight in read_weights(shapes, theirs, rows, "theirs", computed=computed).items():
        parameters[name].data.copy_(weight)
    for name, weight in write_weights(parameters, rows, "theirs").items():
        torch.testing.assert_close(weight, theirs[name].detach(), rtol=1e-6, atol=0)


def vit_rows(layers: int) -> list[Row]:
    inputs = "vit.embeddings"
    projection = f"{inputs}.patch_embeddings.projection"
    return [
        Row("input.first", (f"{inputs}.cls_token",), LeadingOnes(2)),
        Row("input.positions.table", (f"{inputs}.position_embeddings",), LeadingOnes()),
        Row("input.embedding.projection.weight", (f"{projection}.weight",), Patches(3, 4)),
        Row("input.embedding.projection.bias", (f"{projection}.bias",)),
        *every(layers, _vit_layer("encoder.layers.{i}", "vit.layers.{i}")),
        *norm("encoder.final_norm", "vit.layernorm"),
        *linear("head.output", "classifier"),
    ]


def _vit_layer(ours: str, theirs: str) -> Iterator[Row]:
    four = "q_proj k_proj v_proj o_proj"
    yield from attention(f"{ours}.attention", f"{theirs}.attention", four)
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.layernorm_before")
    yield from linear(f"{ours}.feed_forward.inner", f"{theirs}.mlp.fc1")
    yield from linear(f"{ours}.feed_forward.output", f"{theirs}.mlp.fc2")
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.layernorm_after")
