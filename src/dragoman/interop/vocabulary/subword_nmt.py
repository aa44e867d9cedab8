"""Byte-pair codes of subword-nmt (Sennrich et al. 2016, arXiv 1508.07909) and of fastBPE.

Text is words between spaces, cut beforehand by whoever prepared it. A piece that a word goes on
after ends in ``@@``; inside, the end of a word is ``</w>``.
"""

from collections.abc import Iterable
from pathlib import Path

from dragoman.errors import ModelError
from dragoman.interop.vocabulary.files import read_lines
from dragoman.tokenization import Json

GOES_ON = "@@"
END = "</w>"
_UNKNOWN = "<unk>"


def read_codes(path: Path) -> list[tuple[str, str]]:
    """Read merges, the most frequent first.

    Raises:
        ModelError: the file is damaged, or of version 0.1, which ends words in another way.
    """
    lines = read_lines(path)
    stated = lines[0].split() if lines else []
    has_version = stated[:1] == ["#version:"]
    if has_version and stated[1:] != ["0.2"]:
        raise ModelError(f"{path}: version {' '.join(stated[1:])} is not read; learn codes anew")
    pairs: dict[tuple[str, str], None] = {}
    for number, line in enumerate(lines[has_version:], 1 + has_version):
        parts = line.split(" ")
        if not has_version and len(parts) == 2:
            raise ModelError(f"{path}: is of version 0.1, which is not read; learn codes anew")
        if len(parts) != (2 if has_version else 3) or not all(parts):
            raise ModelError(f"{path}: line {number}: {line[:40]!r} is no pair of pieces")
        pairs[parts[0], parts[1]] = None
    if not pairs:
        raise ModelError(f"{path}: holds no codes")
    return [*pairs]


def codes_settings(codes: Iterable[tuple[str, str]], pieces: Iterable[str]) -> Json:
    """Say in the words of ``tokenizer.json`` how codes cut words.

    Args:
        codes: from ``read_codes``.
        pieces: of the vocabulary; a character that only they have is kept apart from others.
    """
    codes = list(codes)
    symbols = dict.fromkeys(
        symbol for left, right in codes for symbol in (left, right, left + right)
    )
    spelled = (piece.removesuffix(GOES_ON) for piece in pieces)
    letters = {letter for word in (*spelled, *symbols) for letter in word.removesuffix(END)}
    both = (form for letter in sorted(letters) for form in (letter, letter + END))
    ordered = dict.fromkeys([_UNKNOWN, *both, *symbols])
    return {
        "added_tokens": [],
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"String": " "},
            "behavior": "Removed",
            "invert": False,
        },
        "decoder": joined_decoder(),
        "model": {
            "type": "BPE",
            "unk_token": _UNKNOWN,
            "end_of_word_suffix": END,
            "vocab": {symbol: number for number, symbol in enumerate(ordered)},
            "merges": [list(pair) for pair in codes],
        },
    }


def joined_decoder() -> Json:
    """Join pieces to words, and words by spaces."""
    steps = ((rf"(?<!{GOES_ON})\z", " "), (rf"{GOES_ON}\z", ""))
    replaced = [_replace(pattern, content) for pattern, content in steps]
    return {
        "type": "Sequence",
        "decoders": [*replaced, {"type": "Fuse"}, _replace(r" \z", "")],
    }


def _replace(pattern: str, content: str) -> Json:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
