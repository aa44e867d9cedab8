"""Each kernel against plain PyTorch, for the three kinds of product that it reads."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.decoding.fused.attending import attend_past, attend_source, attend_within
from dragoman.decoding.fused.choosing import best, log_softmax
from dragoman.decoding.fused.products import Kind
from dragoman.decoding.fused.room import as_array
from dragoman.decoding.fused.sublayers import (
    GELU,
    GELU_TANH,
    RELU,
    SILU,
    activate,
    add_norm,
    embed,
    norm_only,
    unpack,
)
from dragoman.nn import reference_attention

KINDS: list[Kind] = ["float32", "bfloat16", "int8"]
RNG = np.random.default_rng(1)


class Given:
    """A made-up product of a kind, and what it stands for."""

    def __init__(self, kind: Kind, rows: int, width: int) -> None:
        self.bias = RNG.normal(size=width).astype(np.float32)
        self.scales = np.ones(rows, np.float32)
        self.columns = np.ones(width, np.float32)
        if kind == "int8":
            self.y: Any = RNG.integers(-3000, 3000, (rows, width)).astype(np.int32)
            self.scales = RNG.uniform(0.01, 0.02, rows).astype(np.float32)
            self.columns = RNG.uniform(0.01, 0.1, width).astype(np.float32)
            numbers = torch.from_numpy(self.y).double()
            numbers = numbers * torch.from_numpy(self.scales)[:, None].double()
            numbers = numbers * torch.from_numpy(self.columns).double()
        else:
            dtype = torch.float32 if kind == "float32" else torch.bfloat16
            numbers = torch.from_numpy(RNG.normal(size=(rows, width))).to(dtype)
            self.y = as_array(numbers)
        self.meaning = (numbers.double() + torch.from_numpy(self.bias)).float()

    @property
    def read(self) -> tuple[Any, Any, Any, Any]:
        return self.y, self.scales, self.columns, self.bias


class Written:
    """Room for the input of a next product of a kind."""

    def __init__(self, kind: Kind, rows: int, width: int) -> None:
        dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}[kind]
        self.tensor = torch.zeros((rows, width), dtype=dtype)
        self.array, self.scales = as_array(self.tensor), np.zeros(rows, np.float32)
        self.kind = kind

    def assert_is(self, expected: Tensor) -> None:
        if self.kind == "int8":
            scales = expected.abs().amax(dim=1) / 127
            assert torch.from_numpy(self.scales).allclose(scales, rtol=1e-5)
            whole = expected / scales[:, None]
            assert (self.tensor - whole).abs().max() <= 0.501  # rounded to nearest
            assert (self.tensor.abs().amax(dim=1) == 127).all()
        elif self.kind == "bfloat16":
            assert self.tensor.float().allclose(expected.bfloat16().float(), rtol=2**-7, atol=1e-6)
        else:
            assert self.tensor.allclose(expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rms", [False, True])
@pytest.mark.parametrize("post", [False, True])
def test_joining_adds_and_normalises(kind: Kind, rms: bool, post: bool) -> None:
    rows, width = 5, 48
    given, to = Given(kind, rows, width), Written(kind, rows, width)
    x = RNG.normal(size=(rows, width)).astype(np.float32)
    gain, shift = (RNG.normal(size=width).astype(np.float32) for _ in range(2))
    total = torch.from_numpy(x) * 1.5 + given.meaning
    eps = np.float32(1e-3)
    if rms:
        normal = torch.nn.functional.rms_norm(total, (width,), torch.from_numpy(gain), 1e-3)
        normal = normal + torch.from_numpy(shift)
    else:
        normal = torch.nn.functional.layer_norm(
            total, (width,), torch.from_numpy(gain), torch.from_numpy(shift), 1e-3
        )
    add_norm(
        *given.read, x, np.float32(1.5), gain, shift, eps, rms, post, to.array, to.scales, rows
    )
    to.assert_is(normal)
    assert torch.from_numpy(x).allclose(normal if post else total, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_norm_alone_leaves_what_it_reads(kind: Kind) -> None:
    x = RNG.normal(size=(3, 16)).astype(np.float32)
    before, to = x.copy(), Written(kind, 3, 16)
    gain, shift = np.full(16, 2, np.float32), np.full(16, 1, np.float32)
    norm_only(x, gain, shift, np.float32(1e-6), False, to.array, to.scales, 3)
    to.assert_is(torch.nn.functional.layer_norm(torch.from_numpy(x), (16,)) * 2 + 1)
    assert (x == before).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize(
    ("code", "function"),
    [
        (RELU, torch.relu),
        (GELU, torch.nn.functional.gelu),
        (GELU_TANH, lambda x: torch.nn.functional.gelu(x, approximate="tanh")),  # pyright: ignore  # untyped
        (SILU, torch.nn.functional.silu),
    ],
)
def test_activations_are_those_of_torch(kind: Kind, gated: bool, code: int, function: Any) -> None:
    given = Given(kind, 4, 40)
    to = Written(kind, 4, 20 if gated else 40)
    expected = function(given.meaning)
    if gated:
        gate, up = given.meaning.chunk(2, dim=1)
        expected = function(gate) * up
    activate(*given.read, code, gated, to.array, to.scales, 4)
    to.assert_is(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_embedding_adds_the_position_of_each_row(kind: Kind) -> None:
    table = RNG.normal(size=(9, 8)).astype(np.float32)
    positions = RNG.normal(size=(4, 8)).astype(np.float32)
    x, to = np.zeros((3, 8), np.float32), Written(kind, 3, 8)
    ids, places = np.array([8, 0, 3]), np.array([0, 3, 3])
    embed(ids, places, table, np.float32(3), positions, x, to.array, to.scales)
    expected = torch.from_numpy(table[ids] * 3 + positions[places])
    assert torch.from_numpy(x).allclose(expected)
    to.assert_is(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_unpacking_reads_columns_from_a_start(kind: Kind) -> None:
    given, out = Given(kind, 3, 20), np.zeros((3, 7), np.float32)
    unpack(*given.read, 5, out, 3)
    assert torch.from_numpy(out).allclose(given.meaning[:, 5:12], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vocabulary", [5, 64, 200])
@pytest.mark.parametrize("count", [1, 4])
def test_the_best_pieces_are_those_of_a_stable_sort(
    kind: Kind, vocabulary: int, count: int
) -> None:
    given, never = Given(kind, 6, vocabulary), np.array([0, 3])
    if kind != "int8":
        given.y[:, 4] = given.y[:, 2]  # equal ones: the lower id comes first
        given.bias[4] = given.bias[2]
    values, pieces = np.zeros((6, count), np.float32), np.zeros((6, count), np.int64)
    best(*given.read, never, count, values, pieces, 6)
    everything = torch.zeros(6, vocabulary)
    log_softmax(*given.read, everything.numpy(), 6)
    if kind == "int8":
        exact = given.meaning.log_softmax(-1)
        assert everything.allclose(exact, atol=1e-4)
    allowed = everything.clone()
    allowed[:, never] = -torch.inf
    expected, order = allowed.sort(dim=1, descending=True, stable=True)
    assert (torch.from_numpy(values) == expected[:, :count]).all()
    assert (torch.from_numpy(pieces) == order[:, :count]).all()


@pytest.mark.parametrize("scale", [1, 30])
def test_log_softmax_is_that_of_torch(scale: int) -> None:
    given = Given("float32", 4, 333)
    given.y *= scale
    expected = (torch.from_numpy(given.y) + torch.from_numpy(given.bias)).log_softmax(-1)
    out = torch.zeros(4, 333)
    log_softmax(*given.read, out.numpy(), 4)
    assert out.allclose(expected, atol=2e-5, rtol=1e-6)


def test_numbers_that_are_none_are_seen() -> None:
    given = Given("float32", 2, 70)
    given.y[1, 66] = np.nan
    values, pieces = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.int64)
    best(*given.read, np.array([0]), 3, values, pieces, 2)
    assert np.isfinite(values[0]).all()
    assert np.isnan(values[1, 0])


SHAPES = [(4, 4, 16, 16), (4, 2, 8, 12), (6, 1, 5, 7)]


def shared(x: Tensor, heads: int) -> Tensor:
    """Give the (N, G, E) of groups to heads: (H, N, E)."""
    return x.repeat_interleave(heads // x.size(1), 1).transpose(0, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_hypotheses_attend_to_the_past_that_the_table_names(
    kind: Kind, shape: tuple[int, int, int, int]
) -> None:
    heads, groups, e, f = shape
    rows, steps, cap = 3, 4, 5
    widths = [heads * e, groups * e, groups * f]
    keys = RNG.normal(size=(steps * cap, groups, e)).astype(np.float32)
    values = RNG.normal(size=(steps * cap, groups, f)).astype(np.float32)
    slots = np.zeros((cap, steps), np.int32)
    slots[:rows, :2] = [[4, 2], [0, 0], [4, 1]]
    time = 2
    given, to = Given(kind, rows, sum(widths)), Written(kind, rows, heads * f)
    scale = np.float32(0.3)
    attend_past(*given.read, shape, scale, keys, values, slots, time, to.array, to.scales, rows)
    expected: list[Tensor] = []
    for r in range(rows):
        q, k, v = given.meaning[r].split(widths)
        places = [0 * cap + slots[r, 0], 1 * cap + slots[r, 1]]
        past_k = torch.cat((torch.from_numpy(keys[places]), k.view(1, groups, e)))
        past_v = torch.cat((torch.from_numpy(values[places]), v.view(1, groups, f)))
        heads_out = reference_attention(
            q.view(heads, 1, e), shared(past_k, heads), shared(past_v, heads), scale=0.3
        )
        expected.append(heads_out.flatten())
        assert slots[r, time] == r
        assert torch.from_numpy(keys[time * cap + r]).allclose(k.view(groups, e), atol=1e-5)
    to.assert_is(torch.stack(expected))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_attend_to_their_own_source(kind: Kind, shape: tuple[int, int, int, int]) -> None:
    heads, groups, e, f = shape
    starts, source = np.array([0, 3, 4, 9]), np.array([2, 0, 2, 1])
    keys = RNG.normal(size=(9, groups, e)).astype(np.float32)
    values = RNG.normal(size=(9, groups, f)).astype(np.float32)
    given, to = Given(kind, 4, heads * e), Written(kind, 4, heads * f)
    attend_source(
        *given.read, shape, np.float32(0.5), keys, values, starts, source, to.array, to.scales, 4
    )
    expected: list[Tensor] = []
    for r, s in enumerate(source):
        part = slice(starts[s], starts[s + 1])
        k, v = torch.from_numpy(keys[part]), torch.from_numpy(values[part])
        q = given.meaning[r].view(heads, 1, e)
        out = reference_attention(q, shared(k, heads), shared(v, heads), scale=0.5)
        expected.append(out.flatten())
    to.assert_is(torch.stack(expected))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_pieces_attend_within_their_sentence(kind: Kind, shape: tuple[int, int, int, int]) -> None:
    heads, groups, e, f = shape
    starts, widths = np.array([0, 4, 5]), [heads * e, groups * e, groups * f]
    given, to = Given(kind, 5, sum(widths)), Written(kind, 5, heads * f)
    held = tuple(
        np.zeros((5, count, width), np.float32)
        for count, width in ((heads, e), (groups, e), (groups, f))
    )
    attend_within(*given.read, shape, np.float32(0.4), held, starts, to.array, to.scales)
    expected: list[Tensor] = []
    for s in range(2):
        q, k, v = given.meaning[starts[s] : starts[s + 1]].split(widths, dim=1)
        out = reference_attention(
            q.reshape(-1, heads, e).transpose(0, 1),
            shared(k.reshape(-1, groups, e), heads),
            shared(v.reshape(-1, groups, f), heads),
            scale=0.4,
        )
        expected.append(out.transpose(0, 1).flatten(1))
    to.assert_is(torch.cat(expected))
