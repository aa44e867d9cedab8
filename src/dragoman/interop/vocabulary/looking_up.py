"""Text cut without a model, and what was cut looked up in a list."""

from collections.abc import Sequence

from dragoman.interop.vocabulary.subword_nmt import GOES_ON, joined_decoder
from dragoman.tokenization import Json
from dragoman.tokenization.existing_pieces import SPACE
from dragoman.tokenization.longest_match import longest_match


def by_characters(texts: Sequence[str]) -> Json:
    """Cut text into its characters."""
    writes_spaces = SPACE in texts and " " not in texts
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    back = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    fuse = {"type": "Fuse"}
    return {
        "normalizer": replace if writes_spaces else None,
        "pre_tokenizer": _split({"Regex": r"[\s\S]"}, "Isolated"),
        "decoder": {"type": "Sequence", "decoders": [back, fuse] if writes_spaces else [fuse]},
        "model": _look_up(texts),
    }


def by_spaces(texts: Sequence[str]) -> Json:
    """Take text as pieces between spaces, and join them to words."""
    decoder: Json | None = None
    if any(piece.startswith(SPACE) for piece in texts):
        back = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
        strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
        decoder = {"type": "Sequence", "decoders": [back, {"type": "Fuse"}, strip]}
    elif any(piece.endswith(GOES_ON) for piece in texts):
        decoder = joined_decoder()
    return {
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "decoder": decoder,
        "model": _look_up(texts),
    }


def by_longest(texts: Sequence[str]) -> Json:
    """Take the longest piece at each place, from left to right."""
    spaced = any(SPACE in piece for piece in texts)
    steps: list[Json] = [
        {"type": "Prepend", "prepend": SPACE},
        {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
    ]
    back = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    decoders: list[Json] = [back, {"type": "Fuse"}, strip] if spaced else [{"type": "Fuse"}]
    return {
        "normalizer": {"type": "Sequence", "normalizers": steps} if spaced else None,
        "pre_tokenizer": _split({"Regex": longest_match(filter(None, texts))}, "Isolated"),
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": _look_up(texts),
    }


def _look_up(texts: Sequence[str]) -> Json:
    """Look whole stretches up; the ids in the file are not those of the list."""
    unknown = "<unk>"
    vocabulary = dict.fromkeys([unknown, *texts])
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    return {"type": "WordLevel", "unk_token": unknown, "vocab": ids}


def _split(pattern: Json, behavior: str) -> Json:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": False}
