"""A checkpoint as its family reads it; which trainer wrote it is found by looking."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from dragoman.errors import ConfigError, ModelError
from dragoman.interop.checkpoints import fairseq, joeynmt, opennmt_py, pytorch_seq2seq
from dragoman.interop.checkpoints.asked import Asked
from dragoman.interop.checkpoints.lists import (
    Texts,
    fairseq_texts,
    joeynmt_texts,
    opennmt_texts,
    pytorch_seq2seq_texts,
)
from dragoman.interop.checkpoints.second_reading import Wording
from dragoman.interop.checkpoints.tables import State
from dragoman.interop.checkpoints.torch_file import Content, plain_tensors, read_torch_file
from dragoman.interop.checkpoints.wordings import (
    fairseq_wording,
    joeynmt_wording,
    opennmt_wording,
    pytorch_seq2seq_wording,
)
from dragoman.interop.huggingface.names import Row
from dragoman.models import ModelConfig

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
        kind: of its trainer.
        path: of its file.
        config: the choices of the model.
        state: its weights, under the names that ``rows`` has.
        rows: which of them is which of ours.
        computed: ends of the names of what is stored and computed here.
        texts: what its two sides read and write.
        wording: what its trainer calls its parts.
    """

    kind: Kind
    path: Path
    config: ModelConfig
    state: State
    rows: Sequence[Row]
    computed: tuple[str, ...]
    texts: Texts
    wording: Wording


def load_checkpoint(path: Path, *, kind: Kind | None, asked: Asked) -> Checkpoint:
    """Read a checkpoint as its family does.

    Raises:
        ModelError: as ``read_checkpoint``.
        ConfigError: as ``read_checkpoint``.
    """
    file = find_file(path)
    content = read_torch_file(file, advice=_ADVICE)
    found = find_kind(content, file)
    if kind not in (None, found):
        raise ConfigError("kind", f"{file} is not of {kind} but of {found}", "leave it out")
    return _READERS[found](content, file, asked)


def find_file(path: Path) -> Path:
    """Give the checkpoint itself.

    Raises:
        ModelError: a folder holds none, or several.
    """
    if not path.is_dir():
        return path
    found = sorted(each for each in path.iterdir() if each.suffix in _ENDINGS and each.is_file())
    if len(found) == 1:
        return found[0]
    if not found:
        raise ModelError(
            f"{path}: holds no checkpoint ({', '.join(_ENDINGS)}); a folder of Hugging Face has a "
            "config.json, one of CTranslate2 a model.bin"
        )
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
    texts = fairseq_texts(said, path, asked)
    return Checkpoint(
        kind="fairseq",
        path=path,
        config=config,
        state=state,
        rows=list(fairseq.fairseq_rows(config)),
        computed=fairseq.COMPUTED,
        texts=texts,
        wording=fairseq_wording(said, state, texts, asked),
    )


def _of_joeynmt(content: Content, path: Path, asked: Asked) -> Checkpoint:
    settings = joeynmt.joeynmt_settings(path)
    state = plain_tensors(content["model_state"], path)
    config = joeynmt.joeynmt_config(settings, state, path, asked)
    texts = joeynmt_texts(settings, path, asked)
    return Checkpoint(
        kind="joeynmt",
        path=path,
        config=config,
        state=state,
        rows=list(joeynmt.joeynmt_rows(config)),
        computed=joeynmt.COMPUTED,
        texts=texts,
        wording=joeynmt_wording(settings, state, texts, asked),
    )


def _of_opennmt(content: Content, path: Path, asked: Asked) -> Checkpoint:
    said = opennmt_py.opennmt_settings(content, path)
    state = opennmt_py.opennmt_state(content, path)
    texts = opennmt_texts(content["vocab"], path, asked, opennmt_py.RESAVE)
    config = opennmt_py.opennmt_config(said, state, path)
    return Checkpoint(
        kind="opennmt-py",
        path=path,
        config=config,
        state=state,
        rows=list(opennmt_py.opennmt_rows(config)),
        computed=opennmt_py.COMPUTED,
        texts=texts,
        wording=opennmt_wording(said, state, texts, asked),
    )


def _of_pytorch_seq2seq(content: Content, path: Path, asked: Asked) -> Checkpoint:
    state = plain_tensors(content, path)
    config = pytorch_seq2seq.pytorch_seq2seq_config(state, path, asked)
    texts = pytorch_seq2seq_texts(asked)
    config = replace(config, source_before=(texts[0].listed.special.start,))
    return Checkpoint(
        kind="pytorch-seq2seq",
        path=path,
        config=config,
        state=state,
        rows=list(pytorch_seq2seq.pytorch_seq2seq_rows(config)),
        computed=(),
        texts=texts,
        wording=pytorch_seq2seq_wording({}, state, texts, asked),
    )


_READERS = {
    "fairseq": _of_fairseq,
    "joeynmt": _of_joeynmt,
    "opennmt-py": _of_opennmt,
    "pytorch-seq2seq": _of_pytorch_seq2seq,
}
