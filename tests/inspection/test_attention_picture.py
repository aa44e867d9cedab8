import struct
from pathlib import Path
from typing import Any

import pytest

from dragoman.inspection import attention_picture, draw_attention
from tests.inspection.maps import random_maps


def size(picture: Path) -> tuple[int, int]:
    return struct.unpack(">II", picture.read_bytes()[16:24])


def test_the_picture_grows_with_the_text_so_that_labels_stay_apart(tmp_path: Path) -> None:
    few, many = tmp_path / "few.png", tmp_path / "many.png"
    assert draw_attention(random_maps([" a"] * 3, [" b"] * 2), few, kind="cross", layer=0) == []
    long = random_maps([" word"] * 40, [" word"] * 9)
    assert draw_attention(long, many, kind="cross", layer=1, head=2) == []
    assert size(many)[0] >= 40 * 0.2 * 150  # a fifth of an inch a label, 150 dots an inch
    assert size(many)[1] >= 10 * 0.2 * 150
    assert size(few)[0] < 1_200


def test_a_dollar_is_no_formula_and_what_is_no_letter_is_written_as_its_number(
    tmp_path: Path,
) -> None:
    maps = random_maps([" $\\alpha", "$", "\U000e1234", "\n"], ["x"])
    assert draw_attention(maps, tmp_path / "a.png", kind="encoder", layer=0) == []


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("columns", [2, 14])
def test_the_title_lies_on_no_label_and_is_not_cut_off(
    kind: Any, columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Any] = []
    save = attention_picture.save_picture

    def kept(figure: Any, path: Path) -> None:
        figures.append(figure)
        save(figure, path)

    monkeypatch.setattr(attention_picture, "save_picture", kept)
    pieces = [" Fußballspieler"] * columns
    draw_attention(random_maps(pieces, pieces), tmp_path / "a.png", kind=kind, layer=0)
    (figure,) = figures
    figure.draw_without_rendering()  # at the resolution that sizes are told in
    left, right = figure.subfigs
    title = left.axes[0]._left_title.get_window_extent()
    labels = [label.get_window_extent() for label in left.axes[0].get_xticklabels()]
    assert not any(title.overlaps(label) for label in labels)
    assert 0 <= title.x0 < title.x1 <= right.bbox.x0
    assert title.y1 <= figure.bbox.y1
