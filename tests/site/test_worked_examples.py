"""The numbers of docs/concepts/examples.md, computed again; its Python gives what it says."""

import contextlib
import io
import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from dragoman.nn import (
    Embedding,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    Residual,
    SinusoidalPositions,
    attention_scores,
    attention_weights,
    relu,
    sinusoids,
)
from tests.site.pages import ROOT, Block, blocks

PAGE = ROOT / "docs/concepts/examples.md"
WORDS = torch.eye(2)  # Good, movie
VALUES_MATRIX = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
SWAP = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
CAT = torch.tensor([[0.9, 0.1], [0.2, 0.8]])  # A, cat
DECODER = torch.tensor([[0.4, 0.6]])
NUMBER = re.compile(r"-?\d+(\.\d+)?")


def film(scale: float | None = None) -> tuple[Tensor, Tensor]:
    weights = attention_weights(WORDS, WORDS, None, scale=scale)
    return weights, weights @ (WORDS @ VALUES_MATRIX)


def second_layer() -> Tensor:
    inputs = 2 * relu(film()[1])
    asked = inputs @ SWAP
    weights = attention_weights(asked, asked, None)
    return torch.cat([inputs, weights, weights @ inputs], dim=1)


def whole_layer() -> Tensor:
    attention, network = MultiHeadAttention(2, 1), FeedForward(2, 2)
    with torch.no_grad():
        attention.query_key_value.weight.copy_(torch.cat([WORDS, WORDS, VALUES_MATRIX.T]))
        attention.output.weight.copy_(WORDS)
        linear = [each for each in network.modules() if isinstance(each, nn.Linear)]
        for layer, factor in zip(linear, (1.0, 2.0), strict=True):
            layer.weight.copy_(factor * WORDS)
            layer.bias.zero_()
    residuals = (Residual(LayerNorm(2), dropout=0.0), Residual(LayerNorm(2), dropout=0.0))
    return EncoderLayer(attention, network, residuals)(WORDS[None])[0]


def cat(scale: float | None = None) -> tuple[Tensor, Tensor]:
    weights = attention_weights(DECODER, CAT, None, scale=scale)
    return weights, weights @ CAT


def cat_rows() -> Tensor:
    return torch.cat([DECODER @ CAT.T, attention_scores(DECODER, CAT), cat()[0]])


def products() -> Tensor:
    table = sinusoids(torch.arange(4), 4)
    return torch.stack([torch.arange(4), table @ table[0]], dim=1)


def with_positions(*, scaled: bool) -> Tensor:
    embedding = Embedding(2, 4, scaled=scaled)
    with torch.no_grad():
        embedding.table.copy_(torch.eye(4)[:2])
    return SinusoidalPositions(4)(embedding(torch.tensor([[0, 1]])))[0]


TABLES: dict[str, Callable[[], Tensor]] = {
    "film values matrix": lambda: VALUES_MATRIX,
    "film scores": lambda: attention_scores(WORDS, WORDS),
    "film weights": lambda: film()[0],
    "film output": lambda: film()[1],
    "film second layer": second_layer,
    "film whole layer": whole_layer,
    "film without the divisor": lambda: torch.cat(film(1.0), dim=1),
    "cat vectors": lambda: torch.cat([CAT, DECODER]),
    "cat weights": cat_rows,
    "cat context": lambda: cat()[1],
    "cat without the divisor": lambda: torch.cat(cat(1.0)),
    "positions": lambda: torch.cat(
        [torch.arange(4)[:, None], sinusoids(torch.arange(4), 4)], dim=1
    ),
    "position products": products,
    "film with positions": lambda: with_positions(scaled=True),
    "film with positions, unscaled": lambda: with_positions(scaled=False),
}


def tables() -> dict[str, str]:
    """Read the rows of each table of the page, by the name before it."""
    form = r"<!-- numbers: (.+) -->\n\|.*\n\|[-|]+\n((?:\|.*\n)+)"
    return dict(re.findall(form, PAGE.read_text("utf-8")))


def test_every_table_of_the_page_is_computed_here() -> None:
    assert list(tables()) == list(TABLES)
    assert PAGE.read_text("utf-8").count("\n|---") == len(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_shows_what_is_computed(name: str) -> None:
    cells = [cell.strip() for cell in tables()[name].replace("\n", "").split("|")]
    shown = [cell for cell in cells if NUMBER.fullmatch(cell)]
    computed = TABLES[name]().double().flatten().tolist()
    assert len(shown) == len(computed)
    for text, value in zip(shown, computed, strict=True):
        decimals = len(text.partition(".")[2])
        # Computed in float32; a whole number is shown only for what is whole.
        exact = 1e-6 if decimals == 0 else 0.5 * 10**-decimals + 1e-6
        assert abs(float(text) - value) <= exact, f"{name}: {text} is shown, it is {value}"


def python_blocks() -> list[tuple[Block, Block]]:
    found = [block for block in blocks(PAGE) if block.language in ("python", "text")]
    return list(zip(found[::2], found[1::2], strict=True))


def test_the_python_of_the_page_prints_what_stands_below_it() -> None:
    names: dict[str, object] = {}
    assert len(python_blocks()) >= 2
    for code, output in python_blocks():
        assert (code.language, output.mark) == ("python", "output"), code.place
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code.text, code.place, "exec"), names)
        assert printed.getvalue().rstrip("\n") == output.text, code.place
