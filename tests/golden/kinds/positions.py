"""Positions: sinusoidal, learned, relative, rotary and as biases."""

import math

import torch
from torch import Tensor

from dragoman.nn import (
    AlibiBias,
    Embedding,
    InputLayer,
    LearnedPositions,
    RelativePositions,
    SinusoidalPositions,
    UnclippedRelativePositions,
    alibi_bias,
    alibi_slopes,
    attention_scores,
    attention_weights,
    causal_mask,
    relative_bias,
    relative_rows,
    rotate,
    sinusoids,
    t5_bucket,
    unclipped_bias,
)
from tests.golden.case import Case


def encode(case: Case, positions: list[int], d_model: int, base: float | None = None) -> Tensor:
    """Give the encodings of single positions in the precision of the run."""
    numbers = torch.tensor(positions)
    table = sinusoids(numbers, d_model) if base is None else sinusoids(numbers, d_model, base=base)
    return table.to(case.dtype)


def sinusoid(case: Case) -> dict[str, Tensor]:
    inputs = case.inputs
    table = encode(case, inputs["positions"], inputs["d_model"], inputs["base"])
    return {
        "values": table[:, inputs["dims"]],
        "row_sum": table.sum(1),
        "row_square_sum": table.square().sum(1),
    }


def wavelengths(case: Case) -> dict[str, Tensor | float]:
    """A pair that turns by one angle per position comes round after 2π / angle positions."""
    d_model = case.inputs["d_model"]
    sine, cosine = encode(case, [1], d_model)[0].view(-1, 2).unbind(1)
    lengths = 2 * math.pi / torch.atan2(sine, cosine)
    return {
        "first": lengths[0],
        "last": lengths[-1],
        "ratio": lengths[1] / lengths[0],
        "limit": 2 * math.pi * SinusoidalPositions(d_model).base,
    }


def rotation(case: Case, offset: int, d_model: int) -> Tensor:
    """Build the matrix that shifts by ``offset`` from the encoding of that offset alone."""
    pairs = encode(case, [offset], d_model)[0].view(-1, 2)
    return torch.block_diag(
        *[torch.stack((torch.stack((c, s)), torch.stack((-s, c)))) for s, c in pairs]
    )


def shift_matrix(case: Case) -> dict[str, Tensor]:
    d_model, position, offset = (case.inputs[name] for name in ("d_model", "position", "offset"))
    start = encode(case, [position], d_model)[0]
    matrix = rotation(case, offset, d_model)
    shifted = encode(case, [position + offset], d_model)[0]
    torch.testing.assert_close(matrix @ start, shifted)
    return {"matrix": matrix, "pe_position": start, "pe_shifted": shifted}


def shift_property(case: Case) -> dict[str, Tensor]:
    d_model, offset = case.inputs["d_model"], case.inputs["offset"]
    here = encode(case, case.inputs["positions"], d_model)
    there = encode(case, [position + offset for position in case.inputs["positions"]], d_model)
    products = (here * there).sum(1)
    torch.testing.assert_close(products, products.mean().expand_as(products))
    error = (here @ rotation(case, offset, d_model).T - there).abs().max()
    return {"max_error_is_zero": error, "dot_product": products.mean()}


def embedding_plus_position(case: Case) -> dict[str, list[Tensor]]:
    vectors = case.tensor("embeddings")
    embedding = Embedding(*vectors.shape).to(case.dtype)
    embedding.table.data.copy_(vectors)
    positions = SinusoidalPositions(vectors.size(1))
    layer = InputLayer(embedding, positions)
    rows: list[Tensor] = []
    for row, position in enumerate(case.inputs["positions"]):
        if case.inputs["scaled"]:
            rows.append(layer(torch.tensor([[row]]), position)[0, 0])
        else:
            rows.append(positions(vectors[None, row : row + 1], position)[0, 0])
    return {"sum": rows}


def learned_position(case: Case) -> dict[str, Tensor | bool]:
    table = case.tensor("table")
    positions = LearnedPositions(*table.shape).to(case.dtype)
    positions.table.data.copy_(table)
    too_long = table.new_zeros(1, case.inputs["too_long"], table.size(1))
    try:
        positions(too_long)
        raises = False
    except ValueError:
        raises = True
    return {"sum": positions(case.tensor("x")[None])[0], "too_long_raises": raises}


def shaw_relative(case: Case) -> dict[str, Tensor]:
    q, k, v = (case.tensor(name)[None, None] for name in "qkv")
    table, scale, visible = case.tensor("rel_k"), case.inputs.get("scale"), case.mask()
    values = case.tensor("rel_v") if "rel_v" in case.inputs else None
    width = None if values is None else v.size(-1)
    positions = RelativePositions(case.inputs["clip"], q.size(-1), width).to(case.dtype)
    positions.keys.data.copy_(table)
    if positions.values is not None and values is not None:
        positions.values.data.copy_(values)
    bias = relative_bias(q, table, k.size(-2), scale=scale)
    output = positions.attend(case.kernel, q, k, v, visible, scale=scale, dropout=0.0)
    return {
        "offset_rows": relative_rows(q.size(-2), k.size(-2), clip=positions.clip),
        "scores": attention_scores(q, k, scale=scale, bias=bias)[0, 0],
        "weights": attention_weights(q, k, visible, scale=scale, bias=bias)[0, 0],
        "output": output[0, 0],
    }


def relative_note_form(case: Case) -> dict[str, Tensor]:
    q, k, v, table = (case.tensor(name) for name in ("q", "k", "v", "a"))
    longest = case.inputs["a_row_is_i_minus_j_plus"] + 1
    positions = UnclippedRelativePositions(longest, k.size(1)).to(case.dtype)
    positions.table.data.copy_(table)
    bias = unclipped_bias(q, table, len(k))
    heads = q[None, None], k[None, None], v[None, None]
    return {
        "scores": attention_scores(q, k, scale=1.0, bias=bias),
        "weights": attention_weights(q, k, scale=1.0, bias=bias),
        "output": positions.attend(case.kernel, *heads, None, scale=None, dropout=0.0)[0, 0],
    }


def t5_buckets(case: Case) -> dict[str, Tensor]:
    options = {name: case.inputs[name] for name in ("bidirectional", "buckets", "max_distance")}
    return {"buckets": t5_bucket(case.ids("offsets"), **options)}


def rope(case: Case) -> dict[str, Tensor]:
    x, positions, base = case.tensor("x"), case.ids("positions"), case.inputs["base"]
    return {
        "interleaved": rotate(x, positions, layout="interleaved", base=base),
        "half": rotate(x, positions, layout="half", base=base),
    }


def rope_relative(case: Case) -> dict[str, list[Tensor]]:
    q, k, layout = case.tensor("q")[None], case.tensor("k")[None], case.inputs["layout"]
    products: list[Tensor] = []
    for at_q, at_k in case.ids("position_pairs"):
        turned = rotate(q, at_q[None], layout=layout), rotate(k, at_k[None], layout=layout)
        products.append(attention_scores(*turned, scale=1.0)[0, 0])
    return {"dot_products": products}


def slopes(case: Case) -> dict[str, Tensor]:
    return {"slopes": alibi_slopes(case.inputs["heads"])}


def alibi_attention(case: Case) -> dict[str, Tensor]:
    q, k, v, scale = *map(case.tensor, "qkv"), case.inputs.get("scale")
    heads, length = q.shape[:2]
    bias = alibi_bias(alibi_slopes(heads), length, length).to(case.dtype)
    visible = causal_mask(length)
    batch = q[None], k[None], v[None]
    output = AlibiBias(heads).attend(case.kernel, *batch, visible, scale=scale, dropout=0.0)
    return {
        "bias_lower_triangle": bias.masked_fill(~visible, -math.inf),  # how the format hides
        "symmetric_bias": bias,
        "weights": attention_weights(q, k, visible, scale=scale, bias=bias),
        "output": output[0],
    }


KINDS = {
    "alibi_attention": alibi_attention,
    "alibi_slopes": slopes,
    "embedding_plus_position": embedding_plus_position,
    "learned_position": learned_position,
    "relative_note_form": relative_note_form,
    "rope": rope,
    "rope_relative": rope_relative,
    "shaw_relative": shaw_relative,
    "shift_matrix": shift_matrix,
    "shift_property": shift_property,
    "sinusoid": sinusoid,
    "t5_bucket": t5_buckets,
    "wavelengths": wavelengths,
}
