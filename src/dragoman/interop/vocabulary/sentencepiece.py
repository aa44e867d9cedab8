"""How a SentencePiece model cuts text, written as a ``tokenizer.json``.

What its library does to text: the table of normalisation, spaces at the ends and in runs taken out,
a space before all, spaces as ``▁``; then the model, which may cross spaces. The same steps stand in
the file. Control pieces are no text; pieces declared by users are found whole.
"""

import base64
import re
from collections.abc import Sequence
from pathlib import Path

from dragoman.errors import ModelError
from dragoman.interop.vocabulary.files import MOST_BYTES, read_bytes
from dragoman.tokenization import Json, SentencePieceModel, parse_sentencepiece_model
from dragoman.tokenization.existing_pieces import SPACE, merges_by_score


def read_model(path: Path) -> SentencePieceModel:
    """Read a ``.model`` or ``.spm`` file whose way of cutting text can be followed.

    Raises:
        ModelError: it is no SentencePiece model, or of a kind that is not read here.
    """
    content = read_bytes(path, most=MOST_BYTES)
    try:
        model = parse_sentencepiece_model(content)
    except ValueError as error:
        problem = f"not a SentencePiece model, or damaged ({error})"
        raise ModelError(f"{path}: {problem}; fetch the folder again") from None
    if model.algorithm not in ("unigram", "bpe"):
        raise ModelError(f"{path}: is of the kind {model.algorithm}, which is not read here")
    if model.space_after:
        raise ModelError(f"{path}: puts spaces behind words, which is not read here")
    names = [piece.text for piece in model.pieces]
    if len({*names}) < len(names):
        raise ModelError(f"{path}: has two pieces of one name; fetch the folder again")
    return model


def sentencepiece_settings(
    model: SentencePieceModel,
    *,
    before: Sequence[str] = (),
    dropped: int = 0,
    after: Sequence[str] = (),
) -> Json:
    """Say in the words of ``tokenizer.json`` how a model cuts text.

    Args:
        model: its pieces keep their order.
        before: control pieces whose ids come before those of the model.
        dropped: so many pieces of the model, from its first, have no place of their own. The
            unknown piece is among them; another of that name is in ``before``.
        after: control pieces whose ids come after those of the model.

    Raises:
        ModelError: a piece in ``before`` or ``after`` is one of text too, or none stands for what
            is unknown.
    """
    kept = model.pieces[dropped:]
    texts = [*before, *(piece.text for piece in kept), *after]
    if len({*texts}) < len(texts):
        twice = next(text for place, text in enumerate(texts) if text in texts[:place])
        raise ModelError(f"has a piece {twice!r}, which is a control symbol here")
    unknown = next((piece.text for piece in model.pieces if piece.type == "unknown"), None)
    if unknown is None or unknown not in texts:
        raise ModelError("has no piece for unknown text")
    controls = {*before, *after, *(p.text for p in kept if p.type in ("control", "unknown"))}
    whole = [piece.text for piece in kept if piece.type == "user"]
    added = [
        {"id": number, "content": text, "special": True, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for number, text in enumerate(texts)
        if text in controls
    ]
    falls_back = any(piece.type == "byte" for piece in kept)
    return {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(model)},
        "pre_tokenizer": _isolated(whole, typed_bytes=falls_back and model.algorithm == "unigram"),
        "decoder": _decoder(model, falls_back=falls_back),
        "model": _cutter(model, texts, unknown, falls_back=falls_back),
    }


def _cutter(
    model: SentencePieceModel, texts: Sequence[str], unknown: str, *, falls_back: bool
) -> Json:
    if model.algorithm == "unigram":
        return {
            "type": "Unigram",
            "unk_id": texts.index(unknown),
            "vocab": [
                [text, score] for text, score in zip(texts, _scores(model, texts), strict=True)
            ],
            "byte_fallback": falls_back,
        }
    scores = {piece.text: piece.score for piece in model.pieces if piece.type == "normal"}
    return {
        "type": "BPE",
        "unk_token": unknown,
        "vocab": {text: number for number, text in enumerate(texts)},
        "merges": [list(pair) for pair in merges_by_score(scores)],
        "fuse_unk": True,
        "byte_fallback": falls_back,
        # Pieces of users are stretches of their own, and no merge leads to them.
        "ignore_merges": any(piece.type == "user" for piece in model.pieces),
    }


def _scores(model: SentencePieceModel, texts: Sequence[str]) -> list[float]:
    """Give the score of each piece; those of users win, as in ``unigram_model.cc``."""
    normal = [piece.score for piece in model.pieces if piece.type == "normal"]
    best = max(normal, default=0.0)
    scores = {
        piece.text: len(piece.text.encode()) * best - 0.1 if piece.type == "user" else piece.score
        for piece in model.pieces
    }
    # A control piece is never found in text; its score must not count as the lowest there is.
    ordinary = {piece.text for piece in model.pieces if piece.type in ("normal", "user")}
    return [scores[text] if text in ordinary else best for text in texts]


def _normalizers(model: SentencePieceModel) -> list[Json]:
    steps: list[Json] = []
    if model.charsmap:
        table = base64.b64encode(model.charsmap).decode("ascii")
        # Composed first: the table has the longest sequences of characters, of which the library
        # looks up those of one character and short ones only.
        steps = [{"type": "NFC"}] if "nfkc" in model.rule else []
        steps.append({"type": "Precompiled", "precompiled_charsmap": table})
    if model.trims_spaces:
        # At the end, its library takes out what users typed as "▁" too.
        steps.append(_replace({"Regex": rf"\A +|[ {SPACE}]+\z"}, ""))
        steps.append(_replace({"Regex": " {2,}"}, " "))
    if model.adds_space:
        steps.append({"type": "Prepend", "prepend": SPACE})
    return [*steps, _replace({"String": " "}, SPACE)]


def _replace(pattern: Json, content: str) -> Json:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _isolated(whole: Sequence[str], *, typed_bytes: bool) -> Json | None:
    """Cut out what users declared, and the beginning of what is typed like a byte: ``<0x41>``."""
    longest_first = sorted(whole, key=len, reverse=True)
    patterns = [re.escape(piece) for piece in longest_first]
    patterns += ["<(?=0x[0-9A-F]{2}>)"] if typed_bytes else []
    if not patterns:
        return None
    pattern = {"Regex": "|".join(patterns)}
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


def _decoder(model: SentencePieceModel, *, falls_back: bool) -> Json:
    steps: list[Json] = [_replace({"String": SPACE}, " ")]
    steps += [{"type": "ByteFallback"}] if falls_back else []
    steps += [{"type": "Fuse"}]
    if model.adds_space:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}
