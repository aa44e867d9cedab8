"""Pieces as labels in pictures: readable marks of spaces, and fonts that have the letters."""

import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dragoman.errors import MissingExtraError

# The font of matplotlib first, then what has the scripts it lacks; any other font comes last.
_USUAL = "DejaVu Sans"
_LIKED = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Microsoft YaHei",
    "Noto Sans",
    "Noto Sans Arabic",
    "Arial Unicode MS",
)
_NO_LETTER = "□"


def piece_labels(pieces: Iterable[str]) -> tuple[str, ...]:
    """Name pieces for pictures: a piece inside a word begins with a hyphen point.

    ``" sleep"`` becomes ``sleep``, ``"ing"`` becomes ``‧ing``, a space alone ``␣``; special symbols
    stay as they are, and control characters are shown by their numbers. The first piece of a text
    without spaces between words, such as Chinese, gets no mark, nor does punctuation.
    """
    return tuple(_piece_label(piece) for piece in pieces)


def _piece_label(piece: str) -> str:
    bare = "".join(_visible(letter) for letter in piece.strip(" "))
    if not bare:
        return "␣" * len(piece)
    special = piece.startswith("<") and piece.endswith(">") and len(piece) > 2
    inside = not piece.startswith(" ") and not special and _joins(piece[0])
    return f"‧{bare}" if inside else bare


def _joins(letter: str) -> bool:
    """Whether a letter at the start of a piece goes on with a word that has spaces around it."""
    if unicodedata.category(letter)[0] not in "LMN":
        return False
    return unicodedata.east_asian_width(letter) not in "WF"


def _visible(letter: str) -> str:
    if unicodedata.category(letter) in ("Cc", "Co", "Cs", "Cn"):
        return f"<U+{ord(letter):04X}>"
    return letter


@dataclass(frozen=True, slots=True)
class Lettering:
    """Fonts for the labels of a picture.

    Args:
        families: names of fonts, each for the letters that those before it lack.
        missing: letters that no font of this machine has.
        right_to_left: labels of that direction would stand letter by letter from left to right.
    """

    families: tuple[str, ...]
    missing: frozenset[str] = frozenset()
    right_to_left: bool = False

    @classmethod
    def of(cls, labels: Sequence[str]) -> "Lettering":
        """Find fonts that have every letter of labels.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        wanted = {letter for label in labels for letter in label if not letter.isspace()}
        manager = _font_manager()
        families = [_USUAL]
        wanted -= _letters_of(manager.findfont(manager.FontProperties(family=[_USUAL])))
        for family, path in _installed() if wanted else ():
            if wanted & (has := _letters_of(path)):
                families.append(family)
                wanted -= has
        turned = any(unicodedata.bidirectional(each) in ("R", "AL") for each in "".join(labels))
        return cls(tuple(families), frozenset(wanted), turned and not _lays_out())

    def write(self, label: str) -> str:
        """Give a label as it can be drawn, with a box for each letter that is missing."""
        return "".join(_NO_LETTER if letter in self.missing else letter for letter in label)

    def write_down(self, label: str) -> tuple[str, float]:
        """Give a label for a column, and by how many degrees it is turned.

        Chinese, Japanese and Korean stand upright, a letter below the other; the rest is turned.
        """
        written = self.write(label)
        if all(unicodedata.east_asian_width(letter) in "WF" for letter in label):
            return "\n".join(written), 0.0
        return written, 90.0

    def notes(self) -> list[str]:
        """Say what the picture cannot show."""
        said: list[str] = []
        if self.missing:
            some = " ".join(sorted(self.missing)[:10])
            said.append(
                f"no font here has the letters {some}; they are boxes in the picture, install a "
                "font that has them, or make the page (--html)"
            )
        if self.right_to_left:
            said.append(
                "this matplotlib sets letters from left to right, so Arabic and Hebrew look wrong "
                "in the picture; take matplotlib 3.11 or newer, or make the page (--html)"
            )
        return said


def _lays_out() -> bool:
    """Whether matplotlib shapes and turns text by itself, as it does from 3.11 on."""
    from matplotlib import ft2font

    return hasattr(ft2font, "__libraqm_version__")


@lru_cache(maxsize=1)
def _installed() -> tuple[tuple[str, str], ...]:
    """Name the fonts of this machine with their files, those we like first."""
    manager = _font_manager()
    known = {entry.fname for entry in manager.fontManager.ttflist}
    for path in sorted(set(manager.findSystemFonts()) - known):  # matplotlib remembers an old list
        with suppress(OSError, RuntimeError):  # no font after all
            manager.fontManager.addfont(path)
    files: dict[str, str] = {}
    # Last Resort, which comes with matplotlib, has a box for every letter there is.
    for entry in sorted(manager.fontManager.ttflist, key=lambda each: str(each.weight) != "400"):
        if entry.style == "normal" and not entry.name.startswith("Last Resort"):
            files.setdefault(entry.name, entry.fname)
    order = [*(name for name in _LIKED if name in files), *sorted(files.keys() - set(_LIKED))]
    return tuple((name, files[name]) for name in order)


@lru_cache(maxsize=512)
def _letters_of(path: str) -> frozenset[str]:
    return frozenset(chr(code) for code in _font_manager().get_font(path).get_charmap())


def _font_manager() -> Any:  # Any: half of it has no types
    try:
        from matplotlib import font_manager  # optional
    except ImportError:
        raise MissingExtraError("a picture", "plot") from None
    return font_manager
