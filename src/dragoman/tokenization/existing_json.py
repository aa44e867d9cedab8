"""Read a ``tokenizer.json`` of the Hugging Face format, whoever wrote it.

Read are unigram and byte-pair vocabularies that write a space as ``▁`` (T5, mBART, Llama), and
byte-pair vocabularies over bytes (GPT-2, BLOOM). WordPiece forgets spaces and is refused.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from tokenizers import models, pre_tokenizers

from dragoman.errors import ModelError
from dragoman.tokenization.byte_level import BYTE_CHARACTERS, to_byte_characters
from dragoman.tokenization.byte_pair import Pair
from dragoman.tokenization.config import TokenizerConfig
from dragoman.tokenization.existing_pieces import (
    SPACE,
    TYPED,
    Pieces,
    build_existing,
    holds_symbol,
)
from dragoman.tokenization.stretches import NormalForm, literal_choice, splitter
from dragoman.tokenization.tokenizer import (
    LANGUAGE_PIECE,
    SPECIAL_PIECES,
    Json,
    SpecialIds,
    Tokenizer,
    assemble,
)

# What ByteLevel cuts at when it is asked to: the expression of GPT-2.
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_FORMS: dict[str, NormalForm] = {form: form for form in ("NFC", "NFD", "NFKC", "NFKD")}
_SPACES = frozenset(("Prepend", "Replace", "Strip"))  # they concern spaces; those of a text stay


def read_tokenizer_json(path: Path, config: TokenizerConfig) -> Tokenizer:
    """Read a ``tokenizer.json``; one that ``Tokenizer.save`` wrote is taken as it is.

    Raises:
        ModelError: the file is damaged, or no lossless tokenizer can be made of it.
    """
    try:
        settings = cast("Json", json.loads(path.read_bytes().decode("utf-8")))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not a tokenizer, or damaged ({error})") from None
    try:
        return _build(path, settings, config)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ModelError(f"{path}: not a tokenizer, or damaged ({error!r})") from None


def _build(path: Path, settings: Json, config: TokenizerConfig) -> Tokenizer:
    model = settings["model"]
    if not settings["added_tokens"] and {*SPECIAL_PIECES} <= _names(model):
        return Tokenizer.load(path)
    kind = model.get("type", "BPE" if "merges" in model else "")
    steps = [*_flat(settings.get("pre_tokenizer"), "pretokenizers")]
    names = [step["type"] for step in steps]
    if kind == "BPE" and (
        model.get("continuing_subword_prefix") or model.get("end_of_word_suffix")
    ):
        raise ModelError("marks parts of words in a way that forgets spaces; learn a new one")
    if kind == "BPE" and "ByteLevel" in names:
        return _over_bytes(settings, steps, config)
    spaces = ("Metaspace" in names) or any(SPACE in piece for piece in _names(model))
    if kind not in ("Unigram", "BPE") or not spaces:
        raise ModelError(
            f"is of the kind {kind or 'unknown'}, which forgets spaces; learn a new vocabulary, or "
            "give one of the kind Unigram or BPE that keeps them"
        )
    return build_existing(_with_spaces(settings), config)


def _with_spaces(settings: Json) -> Pieces:
    """Turn a vocabulary with ``▁`` into one with spaces."""
    model = settings["model"]
    special = {each["content"] for each in settings["added_tokens"] if each["special"]}
    added = [each["content"] for each in settings["added_tokens"] if not each["special"]]
    if model.get("type") == "Unigram":
        given = {piece: float(score) for piece, score in model["vocab"]}
        unknown = model.get("unk_id")
        if unknown is not None:
            special.add(model["vocab"][unknown][0])
        merges = None
    else:
        given = dict.fromkeys(sorted(model["vocab"], key=model["vocab"].__getitem__), -1.0)
        special.add(model.get("unk_token"))
        merges = [_spaced_pair(pair) for pair in _pairs(model["merges"])]
    scores = {
        piece.replace(SPACE, " "): score
        for piece, score in given.items()
        if piece not in special and piece not in added
    }
    return Pieces(
        scores=scores,
        merges=merges,
        whole=tuple(piece.replace(SPACE, " ") for piece in added),
        normal_form=_normal_form(settings["normalizer"]),
        lead=" ",
    )


def _over_bytes(settings: Json, steps: list[Json], config: TokenizerConfig) -> Tokenizer:
    """Keep a vocabulary over bytes as it is, but for its control symbols."""
    model = settings["model"]
    special = {each["content"] for each in settings["added_tokens"] if each["special"]}
    added = [each["content"] for each in settings["added_tokens"] if not each["special"]]
    added = [each for each in added if not holds_symbol(each)]
    whole = tuple(dict.fromkeys([*config.pieces, *added]))
    given = sorted(model["vocab"], key=model["vocab"].__getitem__)
    first = (*SPECIAL_PIECES, *map(to_byte_characters, whole))
    spelled = [
        each
        for each in given
        if each not in special and {*each} <= {*BYTE_CHARACTERS} and not LANGUAGE_PIECE.search(each)
    ]
    ordered = [*first, *spelled, *BYTE_CHARACTERS]
    pieces = {piece: number for number, piece in enumerate(dict.fromkeys(ordered))}
    merges = [
        (left, right)
        for left, right in _pairs(model["merges"])
        if left in pieces and right in pieces and not holds_symbol(left + right)
    ]
    made = models.BPE(
        vocab=pieces,
        merges=merges,
        unk_token=SPECIAL_PIECES[SpecialIds().unknown],
        ignore_merges=bool(whole) or bool(model.get("ignore_merges")),
    )
    cuts = splitter(TYPED, *(_pattern(step) for step in steps if _cuts(step)), whole=whole)
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    spaced = any(step.get("add_prefix_space") for step in steps)
    return assemble(
        made,
        _normal_form(settings["normalizer"]),
        splitter=pre_tokenizers.Sequence([cuts, to_bytes]),
        lead=" " if spaced else "",
        over_bytes=True,
    )


def _cuts(step: Json) -> bool:
    return step["type"] != "ByteLevel" or step.get("use_regex", True)


def _pattern(step: Json) -> str:
    """Say at what one step cuts text, without losing any."""
    match step["type"]:
        case "ByteLevel":
            return _GPT2
        case "Digits":
            return r"\p{N}" if step["individual_digits"] else r"\p{N}+"
        case "Split" if step["behavior"] == "Isolated" or step["invert"]:
            pattern = step["pattern"]
            return pattern["Regex"] if "Regex" in pattern else literal_choice([pattern["String"]])
        case name:
            raise ModelError(f"cuts text by {name} in a way that is not read here; learn a new one")


def _normal_form(normalizer: Json | None) -> NormalForm:
    """Find the Unicode form in the steps of a file."""
    form: NormalForm = "none"
    for step in _flat(normalizer, "normalizers"):
        name = step["type"]
        if name in _FORMS:
            form = _FORMS[name]
        elif name == "Precompiled":
            form = "NFKC"  # the tables of SentencePiece: nmt_nfkc in every published model
        elif name not in _SPACES:
            raise ModelError(f"changes text by {name}, so that it does not come back")
    return form


def _flat(step: Json | None, inside: str) -> Iterator[Json]:
    """Give the steps of a sequence, sequences in it included."""
    if step is None:
        return
    if step["type"] != "Sequence":
        yield step
        return
    for each in step[inside]:
        yield from _flat(each, inside)


def _names(model: Json) -> set[str]:
    """Give the pieces of a vocabulary: with ids, or a list of pairs with scores."""
    if isinstance(model["vocab"], dict):
        return {*cast("dict[str, int]", model["vocab"])}
    return {piece for piece, _ in cast("list[tuple[str, float]]", model["vocab"])}


def _pairs(merges: list[str | list[str]]) -> list[Pair]:
    """Read merges, which older files write as one string."""
    pairs = (each.split(" ") if isinstance(each, str) else each for each in merges)
    return [(left, right) for left, right in pairs]


def _spaced_pair(pair: Pair) -> Pair:
    return pair[0].replace(SPACE, " "), pair[1].replace(SPACE, " ")
