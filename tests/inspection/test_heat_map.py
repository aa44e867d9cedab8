import numpy as np

from dragoman.inspection import heat_map


def test_a_heat_map_is_darker_where_the_weight_is_larger() -> None:
    drawn = heat_map(np.array([[1.0, 0.0], [0.45, 0.55]], np.float32), ["a", "bb"], [" x", "yz"])
    assert drawn.split("\n") == [
        "      y",
        "    x z",
        "  a █",
        " bb ▒ ▒",
    ]


def test_wide_letters_and_marks_keep_the_columns_straight() -> None:
    drawn = heat_map(np.eye(3, dtype=np.float32), ["狗", "e\u0301", "ab"], ["狗睡", "e\u0301", "b"])
    assert drawn.split("\n") == [
        "    狗",
        "    睡e\u0301 b",
        " 狗 █",
        "  e\u0301   █",
        " ab     █",
    ]
