"""Models put together in an ensemble, once it is certain that ids mean the same to all of them."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from dragoman.bundle import Bundle, load_bundle
from dragoman.decoding import Ensemble, EnsembleMean
from dragoman.device import choose_device
from dragoman.errors import ModelError
from dragoman.models import SequenceToSequence
from dragoman.nn import CausalLM, EncoderOnly
from dragoman.tokenization import Tokenizer

_HINT = "an ensemble needs one vocabulary; train its models with the same tokenizer"


def load_ensemble(
    first: tuple[str, Bundle],
    folders: Sequence[str | Path],
    mean: EnsembleMean,
    *,
    device: str,
) -> Ensemble:
    """Read the other members of an ensemble.

    Args:
        first: folder and bundle of the first member.
        folders: of the others.
        mean: of what they say.
        device: as of ``Translator.load``.

    Raises:
        ModelError: a folder is damaged, or what ``join_models`` raises.
        ConfigError: the mean is no choice.
    """
    named = [first]
    for folder in folders:
        named.append((str(folder), load_bundle(Path(folder), choose_device(device))))
    return join_models(named, mean)


def join_models(named: Sequence[tuple[str, Bundle]], mean: EnsembleMean = "linear") -> Ensemble:
    """Make an ensemble of models that read the same source ids and write the same target ids.

    Args:
        named: each with the name that messages call it, the first first.
        mean: of what they say.

    Raises:
        ModelError: one does not translate, or differs from the first in a tokenizer; the message
            names the first difference.
        ConfigError: the mean is no choice.
    """
    first_name, first = named[0]
    models: list[SequenceToSequence] = []
    for name, bundle in named:
        if isinstance(bundle.model, CausalLM | EncoderOnly):
            kind = bundle.config.architecture
            raise ModelError(f"{name}: a model of the kind {kind} does not translate")
        models.append(bundle.model)
        difference = next(_differences(first, bundle), "")
        if difference:
            raise ModelError(f"{name}: {difference} in {first_name}; {_HINT}")
    return Ensemble(models, mean)


def _differences(first: Bundle, other: Bundle) -> Iterator[str]:
    """Say in what two models differ, theirs first, so that "in FIRST" can follow."""
    for side, one, two in (
        ("source", first.source_tokenizer, other.source_tokenizer),
        ("target", first.target_tokenizer, other.target_tokenizer),
    ):
        yield from _pieces_that_differ(side, one, two)
    if first.frame != other.frame:
        yield "other symbols stand around sources or before targets than"
    # What is written is cut by the models themselves; what they read, by the tokenizer.
    one, two = (dict(_leaves(each.source_tokenizer)) for each in (first, other))
    for place in {**one, **two}:
        if one.get(place) != two.get(place):
            values = f"is {two.get(place, 'not set')}, and {one.get(place, 'not set')}"
            yield f"source tokenizer: {place} {values}"


def _pieces_that_differ(side: str, first: Tokenizer, other: Tokenizer) -> Iterator[str]:
    if other.size != first.size:
        yield f"{side} vocabulary: {other.size:,} pieces, and {first.size:,}"
        return
    ids = range(first.size)
    for number, one, two in zip(ids, first.pieces(ids), other.pieces(ids), strict=True):
        if one != two:
            yield f"{side} vocabulary: piece {number} is {two!r}, and {one!r}"


def _leaves(tokenizer: Tokenizer) -> Iterator[tuple[str, str]]:
    """Give every setting of a tokenizer by its place in its file."""
    waiting: list[tuple[str, Any]] = [("", json.loads(tokenizer.to_json()))]  # Any: as JSON has it
    while waiting:
        place, value = waiting.pop()
        below: list[tuple[str | int, Any]] = []  # Any: as above
        if isinstance(value, dict):
            below = [*cast("dict[str, Any]", value).items()]
        elif isinstance(value, list):
            below = [*enumerate(cast("list[Any]", value))]
        if below:
            named = [(f"{place}.{key}" if place else str(key), each) for key, each in below]
            waiting += reversed(named)
        else:
            yield place, json.dumps(value, ensure_ascii=False)
