"""A checkpoint of another trainer as a bundle of ours, and as the other side of a certificate."""

from dataclasses import replace
from pathlib import Path

import torch

from dragoman.bundle import Bundle, load_tensors
from dragoman.configfile import write_record
from dragoman.errors import ModelError
from dragoman.interop.checkpoints.asked import Asked, read_choices, see_agreed
from dragoman.interop.checkpoints.lists import Texts
from dragoman.interop.checkpoints.loading import Checkpoint, Kind, load_checkpoint
from dragoman.interop.checkpoints.second_reading import SecondReading
from dragoman.interop.checkpoints.side import CheckpointSide
from dragoman.interop.checkpoints.vocabulary import see_size
from dragoman.interop.checkpoints.waves import see_waves
from dragoman.interop.huggingface.weights import read_weights
from dragoman.models import Model, ModelConfig, build_model
from dragoman.tokenization import Tokenizer


def read_checkpoint(path: Path, *, kind: Kind | None = None, asked: Asked | None = None) -> Bundle:
    """Read a model that fairseq, JoeyNMT, OpenNMT-py or ``pytorch-seq2seq`` trained.

    Only tensors and plain values are read; nothing in a file is run.

    Args:
        path: of the file, or a folder with a single one.
        kind: of the trainer; found by looking unless given.
        asked: what the checkpoint does not say.

    Returns:
        The model in evaluation mode, in float32.

    Raises:
        ModelError: a file is missing, damaged, could run code or is of no trainer that is known; a
            weight is missing, left over or of another shape.
        ConfigError: the model has choices that have no place here, or choices that nothing tells
            and that were not given.
    """
    asked = asked or Asked()
    checkpoint = load_checkpoint(path, kind=kind, asked=asked)
    file = checkpoint.path
    framed = _framed(checkpoint.config, checkpoint.texts, file)
    config = read_choices(write_record(framed), file)  # ids are inside the vocabulary
    see_agreed(asked, config)
    see_waves(checkpoint.state, config, file)
    tokenizers = _tokenizers(checkpoint)
    return Bundle(config, _filled(checkpoint, config), tokenizers)


def open_checkpoint(
    path: Path, bundle: Bundle, *, kind: Kind | None = None, asked: Asked | None = None
) -> CheckpointSide:
    """Open what ``read_checkpoint`` read as the other side of a certificate.

    Args:
        path: of the checkpoint.
        bundle: that was read of it.
        kind: see ``read_checkpoint``.
        asked: see ``read_checkpoint``.

    Raises:
        ModelError: as ``read_checkpoint``.
        ConfigError: as ``read_checkpoint``.
    """
    checkpoint = load_checkpoint(path, kind=kind, asked=asked or Asked())
    reading = SecondReading(checkpoint.wording, checkpoint.state)
    name = f"the formulas of {checkpoint.kind} over {checkpoint.path.name}"
    return CheckpointSide(name, reading, bundle)


def _framed(config: ModelConfig, texts: Texts, path: Path) -> ModelConfig:
    """Say by the ids of the lists what pads texts and ends sources.

    Raises:
        ModelError: the sides pad by different ids.
    """
    source, target = texts[0].listed.special, texts[1].listed.special
    if source.padding != target.padding:
        both = f"{source.padding} in sources and {target.padding} in targets"
        raise ModelError(f"{path}: the padding piece is {both}; one for both is read here")
    if config.source_after is None and source.end != target.end:
        config = replace(config, source_after=(source.end,))
    return replace(config, padding=target.padding)


def _tokenizers(checkpoint: Checkpoint) -> tuple[Tokenizer, ...]:
    """Make one tokenizer where both sides are the same, otherwise two.

    Raises:
        ModelError: a list does not fit its table, or a file cannot be read.
    """
    (source, target), config = checkpoint.texts, checkpoint.config
    assert config.vocabulary is not None
    see_size(source.listed.names, config.vocabulary, source.file)
    see_size(target.listed.names, config.target_vocabulary or config.vocabulary, target.file)
    if config.target_vocabulary is not None:
        return source.tokenizer(), target.tokenizer()
    if source.listed.names != target.listed.names:
        problem = f"other pieces than {source.file}, and the checkpoint has one table for both"
        raise ModelError(f"{target.file}: has {problem}; give one list for both sides")
    one = source.tokenizer()
    if (source.cut, source.steps, source.listed) == (target.cut, target.steps, target.listed):
        return (one,)
    return one, target.tokenizer()


def _filled(checkpoint: Checkpoint, config: ModelConfig) -> Model:
    """Build the model, once it is known that the weights fill it."""
    where = str(checkpoint.path)
    with torch.device("meta"):  # names and shapes alone, so that a lie costs no memory
        shapes = {name: tuple(each.shape) for name, each in build_model(config).named_parameters()}
    read = read_weights(
        shapes,
        checkpoint.state,
        checkpoint.rows,
        where,
        computed=checkpoint.computed,
        told_by="what it says of itself",
    )
    try:
        model = build_model(config)
    except RuntimeError as error:  # more memory than there is
        raise ModelError(f"{where}: cannot be built: {str(error).splitlines()[0]}") from None
    load_tensors(dict(model.named_parameters()), read, where)
    return model.eval()
