"""A recipe's model and batches without its data: sizes as asked, random pieces, no padding."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.data import Batch, ClassBatch, ImageBatch, MaskedBatch, StreamBatch
from dragoman.models import AnyConfig, ModelConfig, RecurrentConfig
from dragoman.recipe import Recipe
from dragoman.training import class_loss, language_loss, masked_loss, translation_loss

LENGTH = 32  # pieces a side of a usual sentence, the end symbol included
CLASSES = 10  # of a classifier whose data is not read

AnyBatch = Batch | StreamBatch | MaskedBatch | ClassBatch | ImageBatch


def planned_config(recipe: Recipe) -> AnyConfig:
    """Fill in what only the data knows: vocabularies as large as asked, a few classes."""
    model, tokenizer = recipe.model, recipe.tokenizer
    if isinstance(model, ModelConfig) and model.architecture == "encoder-only":
        if model.head in ("class", "tags") and model.classes is None:
            model = replace(model, classes=tuple(map(str, range(CLASSES))))
        if model.images is not None:
            return model
    if model.vocabulary is not None:
        return model
    one = tokenizer.shared or not _translates(model)
    target = None if one else tokenizer.of_target().size
    return replace(model, vocabulary=tokenizer.size, target_vocabulary=target)


def example_batch(recipe: Recipe, config: AnyConfig, *, slots: int, length: int) -> AnyBatch:
    """Make a batch of random pieces without padding.

    Args:
        recipe: says how long language models read, and how much is masked.
        config: complete.
        slots: about how many target places; at least one row.
        length: pieces of each side of a translation, or of a text to classify.
    """
    rng = torch.Generator().manual_seed(recipe.training.seed)
    if isinstance(config, ModelConfig) and config.images is not None:
        return _images(config, max(1, slots // (config.images.patches + 1)), rng)
    width = row_length(recipe, config, length)
    rows = max(1, slots // width)
    examples = np.arange(rows)

    def pieces(vocabulary: int | None) -> Tensor:
        assert vocabulary is not None
        low = config.padding + 1  # no padding; special symbols read like any other
        return torch.randint(low, vocabulary, (rows, width), generator=rng)

    first = pieces(config.vocabulary)
    if _translates(config):
        if isinstance(config, RecurrentConfig) and width > 1:
            # Sources equally long would go through another library, as those of a corpus do not.
            first[-1, -1] = config.padding
        second = pieces(config.target_vocabulary or config.vocabulary)
        return Batch(
            pairs=examples,
            source=first,
            target_in=second,
            target_out=second,
            target_tokens=second.numel(),
            padding=config.padding,
        )
    assert isinstance(config, ModelConfig)
    if config.architecture == "decoder-only":
        return StreamBatch(
            examples=examples,
            inputs=first,
            targets=first,
            target_tokens=first.numel(),
            padding=config.padding,
        )
    if config.head == "pieces":
        count = max(1, round(recipe.data.masked * first.numel()))
        targets = torch.full_like(first, config.padding).flatten()
        targets[:count] = first.flatten()[:count]
        return MaskedBatch(
            examples=examples,
            inputs=first,
            targets=targets.view_as(first),
            target_tokens=count,
            padding=config.padding,
        )
    classes = torch.zeros(first.shape if config.head == "tags" else rows, dtype=torch.int64)
    return ClassBatch(
        examples=examples,
        inputs=first,
        classes=classes,
        target_tokens=classes.numel(),
        padding=config.padding,
    )


def row_length(recipe: Recipe, config: AnyConfig, length: int) -> int:
    """Say how long a row of a batch is: ``length``, or what a language model reads at once."""
    text = isinstance(config, ModelConfig) and not _translates(config)
    if text and config.architecture == "decoder-only":
        length = recipe.data.context
    limit = config.max_length if isinstance(config, ModelConfig) else None
    return length if limit is None else min(length, limit)


def target_slots(config: AnyConfig, batch: AnyBatch) -> int:
    """Count target places of a batch; of images, places of patches and the one of the class."""
    if isinstance(batch, ImageBatch):
        assert isinstance(config, ModelConfig)
        assert config.images is not None
        return len(batch.examples) * (config.images.patches + 1)
    return batch.target_out.numel() if isinstance(batch, Batch) else batch.inputs.numel()


def real_loss(model: Any, batch: AnyBatch, *, smoothing: float) -> Tensor:
    """Sum the loss of a batch as its task does. Any: each kind of batch has its model."""
    match batch:
        case Batch():
            return translation_loss(model, batch, smoothing=smoothing)
        case StreamBatch():
            return language_loss(model, batch, smoothing=smoothing)
        case MaskedBatch():
            return masked_loss(model, batch, smoothing=smoothing)
        case _:
            return class_loss(model, batch, smoothing=smoothing)


def _images(config: ModelConfig, rows: int, rng: torch.Generator) -> ImageBatch:
    size = config.images
    assert size is not None
    pixels = torch.rand(rows, size.height, size.width, size.channels, generator=rng)
    classes = torch.zeros(rows, dtype=torch.int64)
    return ImageBatch(examples=np.arange(rows), inputs=pixels, classes=classes, target_tokens=rows)


def _translates(config: AnyConfig) -> bool:
    return not isinstance(config, ModelConfig) or config.architecture == "encoder-decoder"
