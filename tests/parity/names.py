"""Which weight of a model of ``transformers`` is which of ours, as tables of names.

A row names one of our parameters and those of theirs that stand side by side in it; ``{i}`` is the
number of a layer. Nothing is guessed: a weight on either side that no row names is an error.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

Form = Literal["same", "transposed", "vector", "patches", "over_root_width"]


@dataclass(frozen=True)
class Row:
    """One parameter of ours.

    Args:
        ours: its name.
        theirs: names of what is put side by side along the first axis.
        form: how each of theirs is laid out: as ours, ``transposed``, a ``vector`` or table with
            leading axes of one, ``patches`` with the channels before the pixels, or a table that
            is √D times ours (``over_root_width``).
    """

    ours: str
    theirs: tuple[str, ...]
    form: Form = "same"

    def at(self, layer: int) -> "Row":
        theirs = tuple(name.format(i=layer) for name in self.theirs)
        return replace(self, ours=self.ours.format(i=layer), theirs=theirs)


def copy_weights(
    ours: nn.Module, theirs: Mapping[str, Tensor], rows: list[Row], *, unused: str = ""
) -> None:
    """Fill every parameter of ``ours`` from their state, and use all of it.

    Args:
        ours: the model to fill.
        theirs: their parameters by name.
        rows: the table, layers numbered.
        unused: end of the names of what we compute instead of storing it.
    """
    parameters = dict(ours.named_parameters())
    assert {row.ours for row in rows} == parameters.keys()
    left = {name for name in theirs if not (unused and name.endswith(unused))}
    assert {name for row in rows for name in row.theirs} == left
    for row in rows:
        parts = [read(theirs[name], row.form) for name in row.theirs]
        assert parameters[row.ours].shape == torch.cat(parts).shape, row
        parameters[row.ours].data.copy_(torch.cat(parts))


def read(theirs: Tensor, form: Form) -> Tensor:
    """Bring one weight of theirs into our layout."""
    match form:
        case "same":
            return theirs
        case "transposed":
            return theirs.T
        case "vector":
            return theirs.reshape([size for size in theirs.shape if size > 1])
        case "patches":
            return theirs.permute(0, 2, 3, 1).flatten(1)
        case "over_root_width":
            return theirs / theirs.size(1) ** 0.5


def linear(ours: str, *theirs: str, bias: bool = True, form: Form = "same") -> Iterator[Row]:
    yield Row(f"{ours}.weight", tuple(f"{name}.weight" for name in theirs), form)
    if bias:
        yield Row(f"{ours}.bias", tuple(f"{name}.bias" for name in theirs))


def norm(ours: str, theirs: str, *, bias: bool = True) -> Iterator[Row]:
    yield Row(f"{ours}.gain", (f"{theirs}.weight",))
    if bias:
        yield Row(f"{ours}.bias", (f"{theirs}.bias",))


def attention(ours: str, theirs: str, names: str, *, bias: bool = True) -> Iterator[Row]:
    """Rows of one attention; ``names`` are those of query, key, value and output."""
    *three, output = (f"{theirs}.{name}" for name in names.split())
    yield from linear(f"{ours}.query_key_value", *three, bias=bias)
    yield from linear(f"{ours}.output", output, bias=bias)


def every(layers: int, rows: Iterator[Row]) -> list[Row]:
    """Repeat rows for every layer."""
    return [row.at(layer) for row in rows for layer in range(layers)]


def marian(layers: int) -> list[Row]:
    return [
        Row("source_input.embedding.table", ("model.shared.weight",)),
        Row("generator.bias", ("final_logits_bias",), "vector"),
        *every(layers, _marian_layer("encoder")),
        *every(layers, _marian_layer("decoder")),
    ]


def _marian_layer(stack: str) -> Iterator[Row]:
    ours, theirs, four = f"{stack}.layers.{{i}}", f"model.{stack}.layers.{{i}}", "q_proj k_proj"
    four += " v_proj out_proj"
    yield from attention(f"{ours}.attention", f"{theirs}.self_attn", four)
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.self_attn_layer_norm")
    if stack == "decoder":
        yield from attention(f"{ours}.cross_attention", f"{theirs}.encoder_attn", four)
        wiring = f"{ours}.cross_attention_residual.norm"
        yield from norm(wiring, f"{theirs}.encoder_attn_layer_norm")
    yield from linear(f"{ours}.feed_forward.inner", f"{theirs}.fc1")
    yield from linear(f"{ours}.feed_forward.output", f"{theirs}.fc2")
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.final_layer_norm")


def bert(layers: int, prefix: str = "bert.") -> list[Row]:
    """The stack; a head has rows of its own."""
    inputs = f"{prefix}embeddings"
    return [
        Row("input.embedding.table", (f"{inputs}.word_embeddings.weight",)),
        Row("input.positions.table", (f"{inputs}.position_embeddings.weight",)),
        Row("input.segments", (f"{inputs}.token_type_embeddings.weight",)),
        *norm("input.norm", f"{inputs}.LayerNorm"),
        *every(layers, _bert_layer(f"{prefix}encoder.layer.{{i}}")),
    ]


def _bert_layer(theirs: str) -> Iterator[Row]:
    ours, four = "encoder.layers.{i}", "self.query self.key self.value output.dense"
    yield from attention(f"{ours}.attention", f"{theirs}.attention", four)
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.attention.output.LayerNorm")
    yield from linear(f"{ours}.feed_forward.inner", f"{theirs}.intermediate.dense")
    yield from linear(f"{ours}.feed_forward.output", f"{theirs}.output.dense")
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.output.LayerNorm")


BERT_PIECES = [
    *linear("head.layer", "cls.predictions.transform.dense"),
    *norm("head.norm", "cls.predictions.transform.LayerNorm"),
    Row("head.generator.bias", ("cls.predictions.bias",)),
]
BERT_CLASSES = [*linear("head.pooler", "bert.pooler.dense"), *linear("head.output", "classifier")]
BERT_POOLED = [*linear("head.pooler", "pooler.dense")]


def gpt2(layers: int) -> list[Row]:
    return [
        Row("input.embedding.table", ("transformer.wte.weight",)),
        Row("input.positions.table", ("transformer.wpe.weight",)),
        *every(layers, _gpt2_layer("decoder.layers.{i}", "transformer.h.{i}")),
        *norm("decoder.final_norm", "transformer.ln_f"),
    ]


def _gpt2_layer(ours: str, theirs: str) -> Iterator[Row]:
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.ln_1")
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.ln_2")
    for part, other in (
        ("attention.query_key_value", "attn.c_attn"),
        ("attention.output", "attn.c_proj"),
        ("feed_forward.inner", "mlp.c_fc"),
        ("feed_forward.output", "mlp.c_proj"),
    ):
        yield from linear(f"{ours}.{part}", f"{theirs}.{other}", form="transposed")


def t5(layers: int, *, gated: bool) -> list[Row]:
    """Version 1.0 ties the output to the input and divides it by √D; 1.1, ``gated``, does not."""
    tables = [
        Row(
            "source_input.embedding.table",
            ("shared.weight",),
            "same" if gated else "over_root_width",
        )
    ]
    if gated:
        tables.append(Row("generator.table", ("lm_head.weight",)))
    for stack in ("encoder", "decoder"):
        bias = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        tables.append(Row(f"{stack}.layers.0.attention.positions.table", (bias,)))
        tables += norm(f"{stack}.final_norm", f"{stack}.final_layer_norm", bias=False)
        tables += every(layers, _t5_layer(stack, gated=gated))
    return tables


def _t5_layer(stack: str, *, gated: bool) -> Iterator[Row]:
    ours, theirs, last = f"{stack}.layers.{{i}}", f"{stack}.block.{{i}}.layer", 1
    yield from attention(f"{ours}.attention", f"{theirs}.0.SelfAttention", "q k v o", bias=False)
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.0.layer_norm", bias=False)
    if stack == "decoder":
        source, last = f"{theirs}.1.EncDecAttention", 2
        yield from attention(f"{ours}.cross_attention", source, "q k v o", bias=False)
        wiring = f"{ours}.cross_attention_residual.norm"
        yield from norm(wiring, f"{theirs}.1.layer_norm", bias=False)
    inner = f"{theirs}.{last}.DenseReluDense"
    if gated:
        pair = (f"{inner}.wi_0", f"{inner}.wi_1")
        yield from linear(f"{ours}.feed_forward.gate_up", *pair, bias=False)
    else:
        yield from linear(f"{ours}.feed_forward.inner", f"{inner}.wi", bias=False)
    yield from linear(f"{ours}.feed_forward.output", f"{inner}.wo", bias=False)
    yield from norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.{last}.layer_norm", bias=False)


def llama(layers: int) -> list[Row]:
    return [
        Row("input.embedding.table", ("model.embed_tokens.weight",)),
        *every(layers, _llama_layer("decoder.layers.{i}", "model.layers.{i}")),
        *norm("decoder.final_norm", "model.norm", bias=False),
        Row("generator.table", ("lm_head.weight",)),
    ]


def _llama_layer(ours: str, theirs: str) -> Iterator[Row]:
    four = "q_proj k_proj v_proj o_proj"
    yield from attention(f"{ours}.attention", f"{theirs}.self_attn", four, bias=False)
    yield from norm(f"{ours}.attention_residual.norm", f"{theirs}.input_layernorm", bias=False)
    pair = (f"{theirs}.mlp.gate_proj", f"{theirs}.mlp.up_proj")
    yield from linear(f"{ours}.feed_forward.gate_up", *pair, bias=False)
    yield from linear(f"{ours}.feed_forward.output", f"{theirs}.mlp.down_proj", bias=False)
    wiring = f"{ours}.feed_forward_residual.norm"
    yield from norm(wiring, f"{theirs}.post_attention_layernorm", bias=False)


def vit(layers: int) -> list[Row]:
    inputs = "vit.embeddings"
    return [
        Row("input.first", (f"{inputs}.cls_token",), "vector"),
        Row("input.positions.table", (f"{inputs}.position_embeddings",), "vector"),
        Row(
            "input.embedding.projection.weight",
            (f"{inputs}.patch_embeddings.projection.weight",),
            "patches",
        ),
        Row("input.embedding.projection.bias", (f"{inputs}.patch_embeddings.projection.bias",)),
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
