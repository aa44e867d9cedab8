"""Write a vocabulary as a SentencePiece ``.model`` file, the other direction of ``existing.py``.

What cuts text here cuts it there too, by other means:

- Byte-pair encoding joins by the rank of merges here, by the score of what is made there: a piece
  gets the rank of the first merge that makes it, with its sign changed. That library joins any two
  pieces that spell a third, also where no merge says so.
- Here text is first cut into stretches, which no piece crosses; there it is not, which is the same,
  since no piece was learnt across one.
- ``▁`` is a space there, so it cannot be text.
- The normal form goes along as a table (``character_map.py``). Nothing else is changed: runs of
  spaces stay.
- Of cuts that are equally likely, unigram vocabularies may choose another one there.
- Typed ``</s>`` or ``<0x41>`` becomes no control symbol there either: their types say so.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from typing import cast

from dragoman.errors import ConfigError, Mistake
from dragoman.protobuf import bytes_field, float_field, integer_field
from dragoman.tokenization.character_map import character_map
from dragoman.tokenization.existing_pieces import SPACE
from dragoman.tokenization.imported import ImportedTokenizer
from dragoman.tokenization.sentencepiece_model import Algorithm, PieceType
from dragoman.tokenization.tokenizer import BYTE_PIECES, Json, Tokenizer, is_over_bytes

_TYPES: dict[PieceType, int] = {"normal": 1, "unknown": 2, "control": 3, "user": 4, "byte": 6}
_ALGORITHMS: dict[Algorithm, int] = {"unigram": 1, "bpe": 2}
_LAST = -1e6  # score of a piece that no merge makes
_CHARACTERS = r"[\s\S]"  # the cut of the kind "character"
HINT = "learn a vocabulary of the kind bpe or unigram, and train with it"


def to_sentencepiece(tokenizer: Tokenizer) -> bytes:
    """Write what a ``.model`` file holds; ids and pieces are those of ``tokenizer``.

    Raises:
        ConfigError: SentencePiece has nothing like it; all that is so at once.
    """
    mistakes = beyond_sentencepiece(tokenizer)
    if mistakes:
        raise ConfigError.together(mistakes)
    settings = cast("Json", json.loads(tokenizer.to_json()))
    model = settings["model"]
    scores = _scores(model)
    pieces = b"".join(
        bytes_field(1, _piece(name, scores[name], kind))
        for name, kind in _typed(tokenizer, model, scores)
    )
    algorithm: Algorithm = "unigram" if model["type"] == "Unigram" else "bpe"
    return (
        pieces + bytes_field(2, _trainer(tokenizer, algorithm)) + bytes_field(3, _form(tokenizer))
    )


def beyond_sentencepiece(tokenizer: Tokenizer) -> list[Mistake]:
    """List what SentencePiece has nothing like."""
    if isinstance(tokenizer, ImportedTokenizer):
        problem = "a vocabulary of another toolkit is not written as a SentencePiece model"
        return [Mistake("kind", problem, "take the file that came with it")]
    settings = cast("Json", json.loads(tokenizer.to_json()))
    model = settings["model"]
    if is_over_bytes(settings["pre_tokenizer"]):
        return [Mistake("kind", "pieces over bytes have no place in SentencePiece", HINT)]
    merging = model["type"] == "BPE" and (model["merges"] or _splits_characters(settings))
    if model["type"] != "Unigram" and not merging:
        problem = "a vocabulary whose pieces are looked up (wordpiece, word, or without bytes)"
        return [Mistake("kind", f"{problem} has no place in SentencePiece", HINT)]
    return [*_beyond(tokenizer, model)]


def _beyond(tokenizer: Tokenizer, model: Json) -> Iterator[Mistake]:
    names = tokenizer.names()
    if BYTE_PIECES[0] not in names:
        problem = "SentencePiece takes neighbouring unknown characters for one"
        yield Mistake("byte_fallback", problem, "learn a vocabulary with byte_fallback = true")
    if held := [name for name in names if SPACE in name]:
        problem = f"the piece {held[0]!r} holds what SentencePiece writes for a space"
        yield Mistake("pieces", problem, "take it out of the text, and learn the vocabulary again")
    if tokenizer.languages:
        problem = "no text can hold the tag of a target language"
        yield Mistake("languages", problem, "train a model of one pair of languages")
    whole = [name for name in _whole(model, _scores(model)) if " " in name]
    if whole:
        problem = f"SentencePiece keeps no piece with a space, such as {whole[0]!r}, whole"
        yield Mistake("pieces", problem, "choose one without a space")


def _splits_characters(settings: Json) -> bool:
    """Whether text is cut into its characters."""
    step = settings["pre_tokenizer"]
    steps = step["pretokenizers"] if step["type"] == "Sequence" else [step]
    return str(steps[-1].get("pattern", {}).get("Regex", "")).endswith(_CHARACTERS)


def _scores(model: Json) -> dict[str, float]:
    """Give the score of each piece, in the order of the ids."""
    if model["type"] == "Unigram":
        return {name: float(score) for name, score in model["vocab"]}
    vocabulary = cast("dict[str, int]", model["vocab"])
    ranks: dict[str, float] = {}
    for rank, pair in enumerate(model["merges"]):
        ranks.setdefault("".join(pair.split(" ") if isinstance(pair, str) else pair), -float(rank))
    names = sorted(vocabulary, key=vocabulary.__getitem__)
    return {name: ranks.get(name, _LAST if len(name) > 1 else 0.0) for name in names}


def _whole(model: Json, scores: Mapping[str, float]) -> set[str]:
    """Find the pieces that are cut out of text before all else; symbols may be among them."""
    if model["type"] == "Unigram":
        return {name for name, score in scores.items() if score == 0.0}
    if not model.get("ignore_merges"):
        return set()
    return {name for name, score in scores.items() if score == _LAST}


def _typed(
    tokenizer: Tokenizer, model: Json, scores: Mapping[str, float]
) -> Iterator[tuple[str, PieceType]]:
    """Say of each piece what it is for."""
    special, whole = astuple(tokenizer.special), _whole(model, scores)
    for number, name in enumerate(tokenizer.names()):
        if number == tokenizer.special.unknown:
            yield name, "unknown"
        elif number in special:
            yield name, "control"
        elif name in BYTE_PIECES:
            yield name, "byte"
        else:
            yield name, "user" if name in whole else "normal"


def _piece(name: str, score: float, kind: PieceType) -> bytes:
    score = 0.0 if kind in ("control", "unknown", "byte") else score
    spelled = bytes_field(1, name.replace(" ", SPACE)) + float_field(2, score)
    return spelled + integer_field(3, _TYPES[kind])


def _trainer(tokenizer: Tokenizer, algorithm: Algorithm) -> bytes:
    """Say how text is cut, and which ids are special; numbers as in ``TrainerSpec``."""
    names, special = tokenizer.names(), tokenizer.special
    numbers = {40: special.unknown, 41: special.start, 42: special.end, 43: special.padding}
    return b"".join(
        [
            integer_field(3, _ALGORITHMS[algorithm]),
            integer_field(4, tokenizer.size),
            integer_field(35, int(BYTE_PIECES[0] in names)),
            *(integer_field(number, value) for number, value in numbers.items()),
            *(bytes_field(number + 5, names[value]) for number, value in numbers.items()),
        ]
    )


def _form(tokenizer: Tokenizer) -> bytes:
    """Say how text is changed first; numbers as in ``NormalizerSpec``."""
    form = tokenizer.normal_form
    return b"".join(
        [
            bytes_field(1, "identity" if form == "none" else form.lower()),
            bytes_field(2, character_map(form)),
            integer_field(3, int(tokenizer.lead != "")),  # a space before the text
            integer_field(4, 0),  # remove_extra_whitespaces
            integer_field(5, 1),  # escape_whitespaces
        ]
    )
