"""A checkpoint of another trainer as a bundle of ours; which trainer is found by looking."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch

from dragoman.bundle import Bundle, load_tensors
from dragoman.configfile import write_record
from dragoman.errors import ConfigError, ModelError
from dragoman.interop.checkpoints import fairseq, joeynmt, opennmt_py, pytorch_seq2seq
from dragoman.interop.checkpoints.asked import Asked, read_choices, see_agreed
from dragoman.interop.checkpoints.lists import (
    Texts,
    fairseq_texts,
    joeynmt_texts,
    opennmt_texts,
    pytorch_seq2seq_texts,
)
from dragoman.interop.checkpoints.tables import State
from dragoman.interop.checkpoints.torch_file import Content, plain_tensors, read_torch_file
from dragoman.interop.checkpoints.vocabulary import see_size
from dragoman.interop.huggingface.names import Row, read_weights
from dragoman.models import Model, ModelConfig, build_model
from dragoman.tokenization import Tokenizer

Kind = Literal["fairseq", "joeynmt", "opennmt-py", "pytorch-seq2seq"]
_ENDINGS = (".pt", ".ckpt", ".pth")
_ADVICE = {
    "omegaconf": fairseq.RESAVE,
    "fairseq": fairseq.RESAVE,
    "torchtext": opennmt_py.RESAVE,
    "onmt": opennmt_py.RESAVE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint as its family reads it.

    Args:
        path: of its file.
        config: the choices of the model.
        state: its weights, under the names that ``rows`` has.
        rows: which of them is which of ours.
        computed: ends of the names of what is stored and computed here.
        texts: what its two sides read and write.
    """

    path: Path
    config: ModelConfig
    state: State
    rows: Sequence[Row]
    computed: tuple[str, ...]
    texts: Texts


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
    file = find_file(path)
    content = read_torch_file(file, advice=_ADVICE)
    found = find_kind(content, file)
    if kind not in (None, found):
        raise ConfigError("kind", f"{file} is not of {kind} but of {found}", "leave it out")
    checkpoint = _READERS[found](content, file, asked)
    framed = _framed(checkpoint.config, checkpoint.texts, file)
    config = read_choices(write_record(framed), file)  # ids are inside the vocabulary
    see_agreed(asked, config)
    tokenizers = _tokenizers(checkpoint)
    return Bundle(config, _filled(checkpoint, config), tokenizers)


def find_file(path: Path) -> Path:
    """Give the checkpoint itself.

    Raises:
        ModelError: a folder holds none, or several.
    """
    if not path.is_dir():
        return path
    found = sorted(each for each in path.iterdir() if each.suffix in _ENDINGS)
    if len(found) == 1:
        return found[0]
    if not found:
        raise ModelError(f"{path}: holds no checkpoint ({', '.join(_ENDINGS)})")
    names = ", ".join(each.name for each in found[:5])
    raise ModelError(f"{path}: holds {len(found)} checkpoints ({names}); name one of them")


def find_kind(content: Content, path: Path) -> Kind:
    """Tell the trainer by what a file holds.

    Raises:
        ModelError: none is known that writes such files.
    """
    if "model_state" in content:
        return "joeynmt"
    if "opt" in content and "vocab" in content:
        return "opennmt-py"
    if "model" in content and ("args" in content or "cfg" in content):
        return "fairseq"
    if pytorch_seq2seq.is_pytorch_seq2seq(content):
        return "pytorch-seq2seq"
    names = ", ".join(list(content)[:5]) or "nothing"
    raise ModelError(
        f"{path}: holds {names}, and is of no trainer that is known: fairseq, JoeyNMT, OpenNMT-py "
        "or pytorch-seq2seq"
    )


def _of_fairseq(content: Content, path: Path, asked: Asked) -> Checkpoint:
    said = fairseq.fairseq_settings(content, path)
    state = fairseq.modernised(plain_tensors(content["model"], path))
    config = fairseq.fairseq_config(said, state, path, asked)
    return Checkpoint(
        path=path,
        config=config,
        state=state,
        rows=list(fairseq.fairseq_rows(config)),
        computed=fairseq.COMPUTED,
        texts=fairseq_texts(said, path, asked),
    )


def _of_joeynmt(content: Content, path: Path, asked: Asked) -> Checkpoint:
    settings = joeynmt.joeynmt_settings(path)
    state = plain_tensors(content["model_state"], path)
    config = joeynmt.joeynmt_config(settings, state, path, asked)
    return Checkpoint(
        path=path,
        config=config,
        state=state,
        rows=list(joeynmt.joeynmt_rows(config)),
        computed=joeynmt.COMPUTED,
        texts=joeynmt_texts(settings, path, asked),
    )


def _of_opennmt(content: Content, path: Path, asked: Asked) -> Checkpoint:
    said = opennmt_py.opennmt_settings(content, path)
    state = opennmt_py.opennmt_state(content, path)
    texts = opennmt_texts(content["vocab"], path, asked, opennmt_py.RESAVE)
    config = opennmt_py.opennmt_config(said, state, path)
    return Checkpoint(
        path=path,
        config=config,
        state=state,
        rows=list(opennmt_py.opennmt_rows(config)),
        computed=opennmt_py.COMPUTED,
        texts=texts,
    )


def _of_pytorch_seq2seq(content: Content, path: Path, asked: Asked) -> Checkpoint:
    state = plain_tensors(content, path)
    config = pytorch_seq2seq.pytorch_seq2seq_config(state, path, asked)
    texts = pytorch_seq2seq_texts(asked)
    config = replace(config, source_before=(texts[0].listed.special.start,))
    return Checkpoint(
        path=path,
        config=config,
        state=state,
        rows=list(pytorch_seq2seq.pytorch_seq2seq_rows(config)),
        computed=(),
        texts=texts,
    )


_READERS = {
    "fairseq": _of_fairseq,
    "joeynmt": _of_joeynmt,
    "opennmt-py": _of_opennmt,
    "pytorch-seq2seq": _of_pytorch_seq2seq,
}


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
