"""A ``tokenizer.json`` of another toolkit: its pieces, and which of them text never gives."""

from collections.abc import Sequence
from copy import deepcopy
from typing import cast

from dragoman.errors import ModelError
from dragoman.tokenization.tokenizer import Json

OURS = "dragoman"  # the key inside "model" that others pass over
_KINDS = ("Unigram", "BPE", "WordPiece", "WordLevel")


def complete(settings: Json) -> Json:
    """Copy settings with every key there is, without what cuts or pads text and what is ours.

    Raises:
        ModelError: they are of no kind that is known.
    """
    whole: Json = dict.fromkeys(
        ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    )
    whole |= {"version": "1.0", "added_tokens": []} | settings
    whole |= {"truncation": None, "padding": None}
    try:
        whole["model"] = {key: each for key, each in settings["model"].items() if key != OURS}
        model = whole["model"]
        model.setdefault("type", "BPE" if "merges" in model else "")
    except (KeyError, AttributeError, TypeError) as error:
        raise ModelError(f"not a tokenizer, or damaged ({error!r})") from None
    if model["type"] not in _KINDS:
        raise ModelError(f"is of the kind {model['type'] or 'unknown'!r}; known are {_KINDS}")
    return whole


def names_of(settings: Json) -> tuple[tuple[str, ...], list[int]]:
    """Give pieces by id, and the ids that the file calls special; gaps have names of their own.

    Raises:
        ModelError: two pieces have one id or one name.
    """
    model, added = settings["model"], settings["added_tokens"]
    if isinstance(model["vocab"], dict):
        ids = dict(cast("dict[str, int]", model["vocab"]))
    else:
        pairs = cast("list[tuple[str, float]]", model["vocab"])
        ids = {piece: number for number, (piece, _) in enumerate(pairs)}
        if len(ids) < len(pairs):
            raise ModelError("has two pieces of one name")
    for each in added:
        if ids.setdefault(each["content"], each["id"]) != each["id"]:
            raise ModelError(f"has two ids for {each['content']!r}")
    by_id = {number: piece for piece, number in ids.items()}
    if len(by_id) < len(ids):
        raise ModelError("has two pieces of one id")
    if min(by_id, default=0) < 0 or max(by_id, default=0) >= 2 * len(by_id) + 1024:
        raise ModelError("has ids far beyond the number of its pieces")
    last = max(by_id, default=-1)
    gaps = [number for number in range(last + 1) if number not in by_id]
    marked = [each["id"] for each in added if each["special"]]
    unknown = model.get("unk_id", ids.get(model.get("unk_token") or ""))
    marked += [] if unknown is None else [unknown]
    names = tuple(by_id.get(number, unused(number)) for number in range(last + 1))
    return names, [*marked, *gaps]


def unused(number: int) -> str:
    """Name an id that has no piece."""
    return f"<unused-id-{number}>"


def padded(names: Sequence[str], size: int | None) -> tuple[str, ...]:
    """Name the ids up to ``size`` that have no piece.

    Raises:
        ModelError: there are more pieces than ids, or two of one name.
    """
    if size is not None and len(names) > size:
        raise ModelError(f"has {len(names):,} pieces, more than the {size:,} of its model")
    whole = (*names, *map(unused, range(len(names), len(names) if size is None else size)))
    if len({*whole}) < len(whole):
        raise ModelError("has two pieces of one name")
    return whole


def special_names(settings: Json) -> list[str]:
    """Give the pieces that the file calls special."""
    return [each["content"] for each in settings["added_tokens"] if each["special"]]


def hide(settings: Json, controls: set[str], secret: str) -> Json:
    """Rename control pieces; ids stay, and so does how all other text is cut."""
    guarded = deepcopy({key: each for key, each in settings.items() if key != "model"})
    model = dict(settings["model"])

    def hidden(piece: str) -> str:
        return piece + secret if piece in controls else piece

    for each in guarded["added_tokens"]:
        each["content"] = hidden(each["content"])
    if isinstance(model["vocab"], dict):
        vocabulary = cast("dict[str, int]", model["vocab"])
        model["vocab"] = {hidden(piece): number for piece, number in vocabulary.items()}
    else:
        model["vocab"] = [[hidden(piece), score] for piece, score in model["vocab"]]
    if model.get("unk_token") is not None:
        model["unk_token"] = hidden(model["unk_token"])
    if "merges" in model:
        pairs = (each.split(" ") if isinstance(each, str) else each for each in model["merges"])
        model["merges"] = [
            pair for pair in pairs if controls.isdisjoint((pair[0], pair[1], "".join(pair)))
        ]
    return {**guarded, "model": model}
