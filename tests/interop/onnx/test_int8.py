"""Matrices and tables kept as integers of 8 bits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.errors import ConfigError
from dragoman.interop.onnx import OnnxTranslator, open_onnx, write_onnx
from dragoman.interop.onnx.files import save_graph
from dragoman.interop.onnx.graph import Graph, ParameterNames, Port
from dragoman.interop.onnx.parts import linear, look_up
from dragoman.interop.onnx.session import OnnxGraph
from tests.interop.models import random_bundle, sources
from tests.models.choices import TRANSFORMERS

pytest.importorskip("onnx", reason="needs onnx: the extra onnx")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: the extra onnx")

CHOICES = [
    "paper",
    "gated",
    "additive",
    "linear-grouped",
    "local-rotary",
    "free-widths-shaw",
    "narrow-untied",
    "t5-shape",
    "unscaled-with-norm",
]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (2, 7), (3, 1)])
def test_a_product_is_that_of_rounded_numbers_with_a_factor_for_each_row(
    bias: bool, shape: tuple[int, int], tmp_path: Path
) -> None:
    torch.manual_seed(4)
    layer = torch.nn.Linear(40, 24, bias=bias)
    layer.weight.data[3] = 0.0
    g = Graph(ParameterNames(layer), int8=True)
    x = g.feed("x", "float32", ("rows", "new", 40), "")
    g.give(Port("y", "float32", ("rows", "new", 24), ""), linear(g, layer, x))
    save_graph(tmp_path / "product.onnx", g)
    numbers = torch.randn(*shape, 40).numpy()
    numbers[0, 0] = 0.0
    (y,) = OnnxGraph(tmp_path / "product.onnx", threads=1).run({"x": numbers}).values()
    # By hand: each row w becomes round(63 w / max|w|), each vector round(127 x / max|x|).
    weight = layer.weight.detach().numpy().astype(np.float64)
    rows = np.abs(weight).max(-1, keepdims=True) / 63
    vectors = np.abs(numbers.astype(np.float64)).max(-1, keepdims=True) / 127
    with np.errstate(invalid="ignore"):
        rounded = [np.nan_to_num(np.rint(each)) for each in (numbers / vectors, weight / rows)]
    expected = rounded[0] @ rounded[1].T * vectors * rows[:, 0]
    expected = expected if not bias else expected + layer.bias.detach().numpy()
    np.testing.assert_allclose(y, expected, atol=1e-5)


def test_a_row_of_a_table_is_rounded_by_its_own_factor(tmp_path: Path) -> None:
    table = torch.nn.Embedding(5, 4)
    table.weight.data = torch.tensor([[0.0] * 4, [63.0, -63.0, 1.4, 1.6], *[[1.0] * 4] * 3])
    g = Graph(ParameterNames(table), int8=True)
    ids = g.feed("ids", "int64", ("rows", "new"), "")
    g.give(Port("y", "float32", ("rows", "new", 4), ""), look_up(g, table.weight, ids))
    save_graph(tmp_path / "table.onnx", g)
    graph = OnnxGraph(tmp_path / "table.onnx", threads=1)
    (y,) = graph.run({"ids": np.array([[1, 0], [4, 1]])}).values()
    np.testing.assert_allclose(y[0], [[63, -63, 1, 2], [0, 0, 0, 0]], atol=1e-5)
    np.testing.assert_allclose(y[1], [[1, 1, 1, 1], [63, -63, 1, 2]], atol=1e-5)


def opened_both(folder: Path, choices: dict[str, Any]) -> tuple[OnnxTranslator, OnnxTranslator]:
    """Write one model in both forms."""
    bundle = random_bundle(choices)
    opened: list[OnnxTranslator] = []
    for name in ("float32", "int8"):
        write_onnx(folder / name, bundle, quantization=name)
        each = open_onnx(folder / name, bundle, threads=1)
        assert isinstance(each, OnnxTranslator)
        opened.append(each)
    return opened[0], opened[1]


@pytest.mark.parametrize("name", CHOICES)
def test_a_model_stays_near_itself(name: str, tmp_path: Path) -> None:
    whole, small = opened_both(tmp_path, TRANSFORMERS[name])
    for source, target in zip(sources(4), sources(4, seed=6), strict=True):
        one, other = (each.log_probs(source, target) for each in (whole, small))
        # Weights as large as those of these models enlarge every rounding; trained ones do not.
        assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.9


def test_a_batch_gives_what_a_text_alone_gives(tmp_path: Path) -> None:
    _, small = opened_both(tmp_path, {"norm_order": "pre"})
    together, _ = small.start(sources()).feed(np.full((12, 1), 1))
    for source, logits in zip(sources(), together, strict=True):
        alone, _ = small.start([source]).feed(np.full((1, 1), 1))
        np.testing.assert_allclose(alone[0], logits, rtol=1e-4, atol=1e-4)


def test_the_files_are_much_smaller(tmp_path: Path) -> None:
    opened_both(tmp_path, {"d_model": 128, "d_ff": 256})
    sizes = [
        sum(file.stat().st_size for file in (tmp_path / name).glob("*.onnx"))
        for name in ("float32", "int8")
    ]
    assert sizes[1] < 0.32 * sizes[0]


def test_an_unknown_quantization_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"quantization: 'int4' is not a choice; choose from fl"):
        write_onnx(tmp_path / "model", random_bundle({}), quantization="int4")  # pyright: ignore  # tested
    assert not list(tmp_path.iterdir())
