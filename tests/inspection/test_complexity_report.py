from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.inspection import (
    Complexity,
    LayerSizes,
    MeasuredCrossing,
    MeasuredLayer,
    draw_complexity,
    layer_kinds,
)
from dragoman.inspection.complexity_report import crossings_at

SIZES = LayerSizes(d=4, k=2, r=3, heads=2)


def measured() -> Complexity:
    layers = [
        MeasuredLayer(kind.name, n, 0.001 * n, n * 2**20)
        for n in (2, 8)
        for kind in layer_kinds(SIZES)
    ]
    crossed = [
        MeasuredCrossing(4, "recurrent", 37.2, 64),
        MeasuredCrossing(8, "recurrent", None, 64),
        MeasuredCrossing(8, "convolutional", 8, 64, 8),
    ]
    return Complexity(8, SIZES, layers, crossed)


def test_the_table_has_formula_operations_steps_and_path() -> None:
    # n = 8, d = 4, k = 2: n² d = 256, with 2 n² d + 4 n d² = 1,024; n d² = 128, 8 steps, twice 128.
    lines = [" ".join(line.split()) for line in Complexity(8, SIZES).lines()]
    assert lines[0] == "Table 1 of the paper with n 8, d 4, k 2, r 3, heads 2"
    assert "self-attention n² d 256 1,024 1 1" in lines
    assert "recurrent n d² 128 256 8 8" in lines
    assert "convolutional k n d² 256 256 1 4 n / k" in lines
    assert "dilated convolutional k n d² 256 256 1 3 log_k n" in lines
    assert "recurrent 4 none" in lines  # by table 1, and multiplied
    assert not any("time" in line for line in lines)


def test_measurements_stand_beside_in_milliseconds_and_mebibytes() -> None:
    lines = [" ".join(line.split()) for line in measured().lines()]
    at = lines.index("time, ms n 2 n 8")
    assert lines[at + 1] == "self-attention 2.00 8.00"
    at = lines.index("memory, MiB n 2 n 8")
    assert lines[at + 2] == "recurrent 2.00 8.00"
    assert "d 4, recurrent 4 none 37" in lines  # table 1, multiplied, timed
    assert "d 8, recurrent 8 none above 64" in lines
    assert "d 8, convolutional 16 none below 8" in lines  # k d; 2 n d² is below 4 n d²
    assert "one sequence forward and backward in float32; memory beside the weights" in lines


def test_a_batch_is_said() -> None:
    found = replace(measured(), batch=16)
    assert any(line.startswith("16 sequences at once forward") for line in found.lines())
    assert found.summary()["batch"] == 16


def test_crossings_at_a_width_are_those_of_algebra() -> None:
    # n² d = n d² at d; 2 n² d + 4 n d² = 8 n d² at 2 d, and never below 2 n d². Convolutions with
    # k = 9: 9 d by the term, (9 - 4) d / 2 by multiplications.
    sizes = LayerSizes(d=4, k=9, r=3, heads=2)
    assert crossings_at(sizes, 64, "recurrent") == (64, 1)
    assert crossings_at(sizes, 64, "recurrent, LSTM") == (64, 128)
    assert crossings_at(sizes, 64, "convolutional") == (9 * 64, 160)


def test_programs_get_the_same_numbers() -> None:
    found = measured().summary()
    assert found["layers"][0] == {
        "layer": "self-attention",
        "formula": "n² d",
        "operations": 256,
        "multiplications": 1024,
        "sequential": 1,
        "max_path": 1,
    }
    assert found["crossings"][0] == {"name": "recurrent", "terms": 4, "multiplications": 1}
    assert found["measured"][0]["seconds"] == 0.002
    assert found["measured_crossings"][1]["n"] is None


@pytest.mark.parametrize("found", [Complexity(8, SIZES), measured()])
def test_the_picture_is_png(found: Complexity, tmp_path: Path) -> None:
    draw_complexity(found, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
