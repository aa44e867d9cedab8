"""A bundle of ours as a folder of Hugging Face's."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tokenizers
from safetensors.torch import save

from dragoman.atomic import new_folder, write_bytes, write_text
from dragoman.bundle import Bundle
from dragoman.configfile import write_record
from dragoman.errors import ConfigError, Mistake
from dragoman.interop.huggingface.families import FAMILIES
from dragoman.interop.huggingface.family import CHANGE, Family
from dragoman.interop.huggingface.reading import OURS
from dragoman.interop.huggingface.symbols import GENERATION
from dragoman.interop.huggingface.weights import write_weights
from dragoman.interop.vocabulary import refuse_unwritable, write_vocabulary
from dragoman.models import AnyConfig, ModelConfig

ELSEWHERE = "export it to another format"


def write_huggingface(folder: Path, bundle: Bundle) -> None:
    """Write a folder that ``from_pretrained`` of ``transformers`` loads; whole or not at all.

    Our choices stand in ``config.json`` under ``dragoman``, so that ``read_huggingface`` gives the
    same bits again.

    Args:
        folder: its name; one that is there is replaced.
        bundle: the model.

    Raises:
        ConfigError: no family has a place for a choice; those are named that stand in the way of
            the family that comes closest.
        ModelError: a weight has no place there.
        OSError: the folder cannot be written, or the disk is full.
    """
    family = family_for(bundle.config)
    assert isinstance(bundle.config, ModelConfig)
    config = bundle.config
    described = {
        **family.write(config, bundle.tokenizers),
        "dtype": "float32",
        OURS: {"format": 1, "model": write_record(config)},
    }
    refuse_unwritable(bundle.tokenizers)
    parameters = dict(bundle.model.named_parameters())
    weights = write_weights(parameters, family.rows(config), family.title)
    with new_folder(folder) as aside:
        write_text(aside / "config.json", json.dumps(described, indent=2) + "\n")
        if family.generation is not None and bundle.tokenizers:
            search = family.generation(config, bundle.tokenizers)
            write_text(aside / GENERATION, json.dumps(search, indent=2) + "\n")
        if bundle.tokenizers:
            _write_vocabulary(aside, bundle, config)
        write_bytes(aside / "model.safetensors", save(weights, {"format": "pt"}))


def _write_vocabulary(folder: Path, bundle: Bundle, config: ModelConfig) -> None:
    """Write the tokenizers, which put around a text what the model is used to."""
    before, after = _around(bundle, config)
    write_vocabulary(
        folder,
        bundle.tokenizers,
        before=before,
        after=after,
        reads=config.architecture == "encoder-only",
        longest=config.max_length,
    )


def _around(bundle: Bundle, config: ModelConfig) -> tuple[Sequence[int], Sequence[int]]:
    """Say what stands before and after a text that the model reads."""
    tokenizer, special = bundle.source_tokenizer, bundle.source_tokenizer.special
    match config.architecture:
        case "encoder-decoder":
            return bundle.frame.source_before, bundle.frame.source_after
        case "encoder-only":
            return (special.start,), (special.end,)
        case "decoder-only" if tokenizer.lossless:
            return (special.start,), ()
        case "decoder-only":  # as the vocabulary came: GPT-2 has nothing there, LLaMA a start
            whole = tokenizers.Tokenizer.from_str(tokenizer.to_json()).encode("").ids
            first = whole[:1] == [special.start]
            return (whole[:1], whole[1:]) if first else ((), whole)


def beyond_huggingface(config: AnyConfig) -> list[Mistake]:
    """List the choices that stand in the way of the family that comes closest; none if it fits."""
    if not isinstance(config, ModelConfig):
        problem = f"no family of transformers that is written is {config.architecture}"
        return [Mistake("architecture", problem, ELSEWHERE)]
    if config.images is not None:
        return [Mistake("images", "no family of transformers that is written reads any", ELSEWHERE)]
    family, mistakes = _closest(config)
    nearest = f"{family.title} comes closest; {CHANGE}"
    return [replace(mistake, hint=nearest) for mistake in mistakes]


def family_for(config: AnyConfig) -> Family:
    """Choose what a model is written as.

    Raises:
        ConfigError: nothing holds it.
    """
    mistakes = beyond_huggingface(config)
    if mistakes:
        raise ConfigError.together(mistakes).inside("model")
    assert isinstance(config, ModelConfig)
    return _closest(config)[0]


def _closest(config: ModelConfig) -> tuple[Family, list[Mistake]]:
    tried = [(family, family.beyond(config)) for family in FAMILIES]
    return min(tried, key=lambda each: _distance(each[1]))


def _distance(mistakes: Iterable[Mistake]) -> tuple[bool, int]:
    """Order families: another architecture is further away than any number of choices."""
    places: list[Any] = [mistake.place for mistake in mistakes]
    return "architecture" in places, len(places)
