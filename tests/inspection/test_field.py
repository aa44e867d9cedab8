from pathlib import Path

import pytest

from dragoman.inspection import (
    ConvolutionWindow,
    draw_fields,
    field_lines,
    field_sketches,
    receptive_fields,
)


def test_layers_and_steps_are_those_of_table_1() -> None:
    found = {sketch.name: sketch for sketch in field_sketches(9, k=3, r=5)}
    counted = {name: (len(sketch.links), sketch.steps) for name, sketch in found.items()}
    # n = 9: 8 positions back, 2 a layer for both windows; 3 x 3 with dilation.
    assert counted == {
        "self-attention": (1, 1),
        "restricted self-attention, r = 5": (4, 4),
        "recurrent": (1, 8),
        "convolution, k = 3": (4, 4),
        "dilated convolution, k = 3": (2, 2),
    }
    assert found["dilated convolution, k = 3"].links[0] == (
        *((2, 2), (1, 2), (0, 2), (5, 5), (4, 5), (3, 5)),
        *((8, 8), (7, 8), (6, 8)),
    )


def test_what_is_seen_is_the_receptive_field() -> None:
    for n in (2, 9, 27):
        *_, contiguous, dilated = field_sketches(n, k=3)
        windows = [ConvolutionWindow(3)] * len(contiguous.links)
        assert contiguous.seen == [min(n, field) for field in receptive_fields(windows)]
        windows = [ConvolutionWindow(3, dilation=3**layer) for layer in range(len(dilated.links))]
        assert dilated.seen == [min(n, field) for field in receptive_fields(windows)]
        assert all(sketch.seen[-1] == n for sketch in field_sketches(n))


def test_impossible_sizes_are_refused() -> None:
    for n, k, r in ((1, 3, 7), (4, 1, 7), (4, 3, 4), (4, 3, 1)):
        with pytest.raises(ValueError, match="r odd"):
            field_sketches(n, k=k, r=r)


def test_the_table_names_each_kind(tmp_path: Path) -> None:
    sketches = field_sketches(9, k=3, r=5)
    lines = field_lines(sketches)
    assert lines[0] == "how the last of 9 positions comes to know of the first"
    assert lines[-2].split() == ["convolution,", "k", "=", "3", "4", "4", "3", "5", "7", "9"]
    draw_fields(sketches[:3], tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
