"""Sinusoidal and learned positions."""

import math

import torch
from torch import Tensor

from dragoman.nn import Embedding, InputLayer, LearnedPositions, SinusoidalPositions, sinusoids
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


KINDS = {
    "embedding_plus_position": embedding_plus_position,
    "learned_position": learned_position,
    "shift_matrix": shift_matrix,
    "shift_property": shift_property,
    "sinusoid": sinusoid,
    "wavelengths": wavelengths,
}
