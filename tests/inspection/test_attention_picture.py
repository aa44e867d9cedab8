import struct
from pathlib import Path

from dragoman.inspection import draw_attention
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
