import math
from pathlib import Path

import numpy as np
import pytest

from dragoman.inspection import activation_curves, activation_lines, draw_activations


def test_values_and_slopes_follow_the_formulas() -> None:
    curves = activation_curves(np.array([-1.0, 2.0]))
    assert curves["relu"].values.tolist() == [0, 2]
    assert curves["relu"].slopes.tolist() == [0, 1]
    # x Φ(x), with slope Φ(x) + x φ(x); x σ(x), with slope σ(x) (1 + x (1 - σ(x))).
    for place, x in enumerate((-1.0, 2.0)):
        phi = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        below = (1 + math.erf(x / math.sqrt(2))) / 2
        assert curves["gelu"].values[place] == pytest.approx(x * below)
        assert curves["gelu"].slopes[place] == pytest.approx(below + x * phi)
        sigma = 1 / (1 + math.exp(-x))
        assert curves["silu"].values[place] == pytest.approx(x * sigma)
        assert curves["silu"].slopes[place] == pytest.approx(sigma * (1 + x * (1 - sigma)))


def test_the_table_has_every_activation(tmp_path: Path) -> None:
    lines = activation_lines()
    assert lines[0].split() == ["x", "relu", "gelu", "gelu_tanh", "silu"]
    assert lines[6].split() == ["0.0", "0.0000", "0.0000", "0.0000", "0.0000"]
    draw_activations(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
