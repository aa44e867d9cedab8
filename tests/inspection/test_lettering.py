import sys

import pytest

from dragoman.errors import MissingExtraError
from dragoman.inspection import Lettering, piece_labels


def test_labels_say_where_a_piece_stands_in_its_word() -> None:
    pieces = [" sleep", "ing", " ", ".", "</s>", "<0xE2>", "\n", "狗", " 狗", " كل", "ب", "  "]
    assert piece_labels(pieces) == (
        *("sleep", "‧ing", "␣", ".", "</s>", "<0xE2>", "<U+000A>"),
        *("狗", "狗", "كل", "‧ب", "␣␣"),
    )


def test_every_letter_finds_a_font_or_is_a_box_with_a_note() -> None:
    plain = Lettering.of(["dog", "schläft"])
    assert plain.families == ("DejaVu Sans",)
    assert plain.notes() == []
    unassigned = "\U000e1234"
    odd = Lettering.of(["dog", unassigned])
    assert odd.missing == {unassigned}
    assert odd.write(f"a{unassigned}b") == "a□b"
    assert odd.write_down("狗睡") == ("狗\n睡", 0)
    assert odd.write_down("狗a") == ("狗a", 90)
    assert odd.notes()[0].startswith("no font here has the letters")


def test_without_layout_of_text_right_to_left_is_admitted(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import ft2font

    monkeypatch.delattr(ft2font, "__libraqm_version__", raising=False)
    (note,) = Lettering.of(["كلب"]).notes()
    assert "Arabic and Hebrew look wrong" in note
    assert Lettering.of(["dog"]).notes() == []
    monkeypatch.setattr(ft2font, "__libraqm_version__", "0.10", raising=False)
    assert Lettering.of(["كلب"]).notes() == []


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"dragoman\[plot\]"):
        Lettering.of(["a"])
