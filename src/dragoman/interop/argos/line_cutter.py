"""A model for MiniSBD that leaves lines whole unless they are long; so a package needs no network.

Argos Translate cuts lines into sentences by a neural model of the library MiniSBD, which it
fetches when a package brings none. Here is a very small one, whose weights are set by hand. A line
of at most ``LONG`` characters stays whole, as ``Translator`` leaves it. A longer one, of which that
program would drop the end, is cut where no sentence goes on:

- behind ``.``, ``!``, ``?`` or ``…``, and quotes or brackets behind it, before a space and what is
  no small letter; but not behind a number, an initial or an abbreviation in capitals (``3. Mai``);
- behind ``。``, ``！`` or ``？``, and brackets behind it.

``cut_line`` is the same rule in Python.
"""

import json
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dragoman.interop.argos.onnx_graph import FLOAT, INT64, node, onnx_file

LONG = 500  # characters; 256 pieces is the most that Argos Translate writes for a sentence
_WINDOW = 1000  # characters that MiniSBD shows at a time
_PADDING, _UNKNOWN = 0, 1
_END, _WIDE, _CLOSE, _SPACE, _LOWER, _UPPER, _DIGIT = range(2, 9)
_KINDS = 9
_SIGNS = {_END: ".!?…", _WIDE: "。！？", _CLOSE: "\"'”’“»)]」』）", _SPACE: " "}
_LETTERS = 0x2000  # code points below which letters are told apart
# What has to stand where for a cut behind place 0, and how many of it; minus is what may not.
_RULES: tuple[tuple[dict[tuple[int, int], int], int], ...] = (
    (
        {(_END, 0): 1, (_SPACE, 1): 1, (_LOWER, 2): -1, (_DIGIT, -1): -1, (_UPPER, -1): -1},
        2,
    ),
    ({(_CLOSE, 0): 1, (_END, -1): 1, (_SPACE, 1): 1, (_LOWER, 2): -1}, 3),
    ({(_WIDE, 0): 1, (_WIDE, 1): -1, (_CLOSE, 1): -1}, 1),
    ({(_CLOSE, 0): 1, (_WIDE, -1): 1, (_CLOSE, 1): -1}, 2),
)
_REACH = 2  # places to the left and right that rules look at


def cut_line(line: str) -> list[str]:
    """Cut a line into sentences as MiniSBD does with the model, without white space around them.

    That library counts runs of white space once, and shows its model 1,000 characters at a time.
    """
    shown = [
        place
        for place, character in enumerate(line.rstrip())
        if not (character.isspace() and place and line[place - 1].isspace())
    ]
    kinds = _kinds()
    found = [_SPACE if line[each].isspace() else kinds.get(line[each], _UNKNOWN) for each in shown]
    sentences: list[str] = []
    start = 0
    for place in [*_cuts(found), len(found) - 1]:
        end = shown[place] + 1 if found else 0
        sentences.append(line[start:end].strip())
        start = end
    return [sentence for sentence in sentences if sentence]


def _cuts(found: list[int]) -> Iterator[int]:
    """Find the places behind which a sentence ends, one window after the other."""
    one = len(found) < _WINDOW  # padding counts where there is only one
    start = 0
    while start < len(found):
        window = found[start : start + _WINDOW]
        cuts: list[int] = []
        if len(window) + one > LONG:
            cuts = [n for n in range(len(window)) if any(_holds(r, window, n) for r in _RULES)]
        yield from (start + place for place in cuts)
        last = start >= len(found) - _WINDOW
        start += cuts[-1] + 1 if cuts and not last else len(window)


def _holds(rule: tuple[dict[tuple[int, int], int], int], found: list[int], place: int) -> bool:
    needed, least = rule
    total = 0
    for (kind, shift), weight in needed.items():
        if 0 <= place + shift < len(found) and found[place + shift] == kind:
            total += weight
    return total >= least


def line_cutter() -> bytes:
    """Write the ONNX file: from ids (B, L) and features (B, L, 1), scores (B, L, 3).

    The scores are of "goes on", "ends a word" and "ends a sentence"; the best counts.
    """
    kinds = _kinds()
    vocabulary = {
        "lang": "",
        "idx": 0,
        "cutoff": 0,
        "lower": False,
        "_unit2id": {"<PAD>": _PADDING, "<UNK>": _UNKNOWN, **kinds},
        "_id2unit": ["<PAD>", "<UNK>"],
    }
    config = {"feat_funcs": ["space_before"], "max_seqlen": _WINDOW}
    return onnx_file(
        _nodes(),
        _tensors(),
        {"units": (INT64, ("batch", "length")), "features": (FLOAT, ("batch", "length", 1))},
        {"scores": (FLOAT, ("batch", "length", 3))},
        {"lang_code": "", "config": json.dumps(config), "vocab": json.dumps(vocabulary)},
    )


def _kinds() -> dict[str, int]:
    """Say of which kind a character is, for those that have one."""
    kinds: dict[str, int] = {}
    for character in map(chr, range(_LETTERS)):
        if character.islower():
            kinds[character] = _LOWER
        elif character.isupper():
            kinds[character] = _UPPER
        elif character.isdecimal():
            kinds[character] = _DIGIT
    return kinds | {sign: kind for kind, signs in _SIGNS.items() for sign in signs}


def _nodes() -> list[bytes]:
    """Apply the rules to every place at once; nothing comes of them in a short line."""
    return [
        node("Gather", ["one_hot", "units"], "found", axis=0),  # (B, L, kinds)
        node("Transpose", ["found"], "by_kind", perm=[0, 2, 1]),
        node("Conv", ["by_kind", "rules", "least"], "held", pads=[_REACH, _REACH]),
        node("Relu", ["held"], "fitting"),
        node("Shape", ["units"], "shape"),
        node("Gather", ["shape", "second"], "length", axis=0),
        node("Greater", ["length", "long"], "is_long"),
        node("Cast", ["is_long"], "gate", to=FLOAT),
        node("Mul", ["fitting", "gate"], "counted"),
        node("Conv", ["counted", "to_classes", "class_bias"], "classes"),
        node("Transpose", ["classes"], "scores", perm=[0, 2, 1]),
    ]


def _tensors() -> dict[str, NDArray[np.float32] | NDArray[np.int64]]:
    rules = np.zeros((len(_RULES), _KINDS, 2 * _REACH + 1), np.float32)
    for number, (needed, _) in enumerate(_RULES):
        for (kind, shift), weight in needed.items():
            rules[number, kind, shift + _REACH] = weight
    to_classes = np.zeros((3, len(_RULES), 1), np.float32)
    to_classes[2] = 1
    return {
        "one_hot": np.eye(_KINDS, dtype=np.float32),
        "rules": rules,
        "least": np.array([0.5 - least for _, least in _RULES], np.float32),
        "second": np.array(1, np.int64),
        "long": np.array(LONG, np.int64),
        "to_classes": to_classes,
        "class_bias": np.array([0.25, -1, 0], np.float32),
    }
