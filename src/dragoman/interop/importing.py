"""Read a model in another format, once its own program has shown that ours is the same."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast

import torch

from dragoman.atomic import new_folder
from dragoman.bundle import Bundle, load_bundle, model_weights, save_bundle
from dragoman.errors import ConfigError, Mistake, ModelError
from dragoman.interop.argos import certify_argos, is_package, read_argos
from dragoman.interop.certificate import Certificate, Reader, Side, certify, certify_reader
from dragoman.interop.checkpoints import Asked, Kind, open_checkpoint, read_checkpoint, widened
from dragoman.interop.checkpoints.vocabulary import Cut
from dragoman.interop.ctranslate2 import import_ctranslate2, open_ctranslate2
from dragoman.interop.exporting import certificate_lines, refuse_occupied, write_proof
from dragoman.interop.huggingface import open_huggingface, read_huggingface
from dragoman.interop.vocabulary import vocabulary_lines

_CHUNK = 1 << 20
_MOST_DESCRIBED = 1 << 24  # bytes of a config.json that is looked into
Read = tuple[Bundle, Certificate]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What some sources do not say of themselves.

    Args:
        kind: what the source is, a key of ``KINDS``; found by looking unless given.
        tokenizer: files that say how text is cut: one for both sides, or one for each.
        vocabulary: files that list the pieces, one for both sides, or one for each.
        source_language: what a model of many languages reads.
        target_language: what it writes.
        heads: of every attention.
        norm_order: where the norms stand.
        cut: how text is cut where no file says it.
    """

    kind: str | None = None
    tokenizer: tuple[Path, ...] = ()
    vocabulary: tuple[Path, ...] = ()
    source_language: str | None = None
    target_language: str | None = None
    heads: int | None = None
    norm_order: Literal["post", "pre"] | None = None
    cut: Cut | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of source.

    Args:
        read: gives its model and the proof.
        asks: names of the options it knows.
    """

    read: Callable[[Path, ImportOptions], Read]
    asks: tuple[str, ...]


def import_model(source: Path, folder: Path, options: ImportOptions | None = None) -> Certificate:
    """Make a model folder of a model in another format; it appears whole and proven, or not at all.

    Nothing in the source is run, and no pickle is loaded.

    Args:
        source: a folder of Hugging Face or CTranslate2, a package of Argos Translate, or a
            checkpoint of fairseq, JoeyNMT, OpenNMT-py or pytorch-seq2seq.
        folder: what to make; one that an earlier import made is replaced.
        options: what the source does not say.

    Raises:
        ConfigError: the source has a choice that Dragoman lacks, an option is missing or says
            nothing to it, or ``folder`` holds something else.
        ModelError: the source is damaged, could run code, leaves weights over or lacks some, is of
            no known kind, or the other program computes something else.
        MissingExtraError: the program that proves it is not installed.
        OSError: the folder cannot be written, or the disk is full.
    """
    options = options or ImportOptions()
    if not source.exists():
        raise ModelError(f"{source}: no such file or folder")
    kind = options.kind or find_kind(source)
    if kind not in KINDS:
        raise ConfigError("--kind", f"{kind!r} is none", f"choose from {', '.join(KINDS)}")
    _refuse_unheard(kind, options)
    refuse_occupied(folder, source)
    bundle, certificate = KINDS[kind].read(source, options)
    with new_folder(folder) as aside:
        save_bundle(aside, bundle, _card(source, kind, bundle, certificate))
        write_proof(aside, certificate)
        _see_same(aside, bundle)
    return certificate


def find_kind(source: Path) -> str:
    """Say what a source is, by the files it has.

    Raises:
        ModelError: it is a model folder of Dragoman already.
    """
    if source.is_file():
        return "argos" if source.suffix == ".argosmodel" or is_package(source) else "checkpoint"
    if (source / "model.bin").is_file():
        return "ctranslate2"
    described = _described(source / "config.json")
    if described is None:
        return "checkpoint"
    if "model" in described and "special_ids" in described:
        raise ModelError(f"{source}: is a model folder of Dragoman already; use it as it is")
    return "huggingface"


def _described(path: Path) -> dict[str, Any] | None:
    """Look into a ``config.json``; None if there is none. What is wrong with it, readers say."""
    try:
        if path.stat().st_size > _MOST_DESCRIBED or not path.is_file():
            return {}
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _refuse_unheard(kind: str, options: ImportOptions) -> None:
    """See that every option given says something to this kind of source."""
    mistakes = [
        Mistake(f"--{field.name.replace('_', '-')}", f"says nothing to {kind}", "leave it out")
        for field in fields(options)
        if field.name not in (*KINDS[kind].asks, "kind")
        and getattr(options, field.name) not in (None, ())
    ]
    if mistakes:
        raise ConfigError.together(mistakes)


def _huggingface(source: Path, options: ImportOptions) -> Read:
    bundle = read_huggingface(
        source, source_language=options.source_language, target_language=options.target_language
    )
    return bundle, _certify(bundle, open_huggingface(source, bundle))


def _ctranslate2(source: Path, options: ImportOptions) -> Read:
    if len(options.tokenizer) > 1:
        problem = f"{len(options.tokenizer)} files are too many"
        raise ConfigError("--tokenizer", problem, "give one for both sides")
    bundle = import_ctranslate2(source, tokenizer=next(iter(options.tokenizer), None))
    return bundle, _certify(bundle, open_ctranslate2(source, bundle))


def _argos(source: Path, _: ImportOptions) -> Read:
    bundle = read_argos(source)
    return bundle, certify_argos(source, bundle)


def _checkpoint(source: Path, options: ImportOptions) -> Read:
    kind = None if options.kind in (None, "checkpoint") else cast("Kind", options.kind)
    asked = Asked(
        heads=options.heads,
        norm_order=options.norm_order,
        vocabulary=options.vocabulary,
        tokenizer=options.tokenizer,
        cut=options.cut,
    )
    bundle = read_checkpoint(source, kind=kind, asked=asked)
    other = open_checkpoint(source, bundle, kind=kind, asked=asked)
    return bundle, certify(widened(bundle), other)


def _certify(bundle: Bundle, other: Side | Reader) -> Certificate:
    return certify_reader(bundle, other) if isinstance(other, Reader) else certify(bundle, other)


def _see_same(folder: Path, bundle: Bundle) -> None:
    """Read a folder back: it must hold the same bits."""
    written = model_weights(load_bundle(folder).model)
    for name, weight in model_weights(bundle.model).items():
        if not torch.equal(written[name].view(torch.uint8), weight.view(torch.uint8)):
            raise ModelError(f"{folder}: {name} was written with other bits; try again")


def _card(source: Path, kind: str, bundle: Bundle, certificate: Certificate) -> str:
    """Say where a model came from, and what was compared."""
    files = [source] if source.is_file() else sorted(f for f in source.iterdir() if f.is_file())
    listed = "".join(f"- sha256 {_digest(file)} {file.name}\n" for file in files)
    texts = "".join(f"{line}\n" for line in vocabulary_lines(bundle.tokenizers))
    return (
        f"# Imported model\n\nA model of the kind {bundle.config.architecture}, imported with "
        f"Dragoman from {kind}: {source.name}. Its licence is that of its source.\n\n"
        f"## Certificate\n\n{certificate_lines(certificate)}\n"
        f"## Text\n\n{texts}\n## Source\n\n{listed}"
    )


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while part := opened.read(_CHUNK):
            digest.update(part)
    return digest.hexdigest()


_CHECKPOINT = Source(_checkpoint, ("tokenizer", "vocabulary", "heads", "norm_order", "cut"))
KINDS: Mapping[str, Source] = {
    "huggingface": Source(_huggingface, ("source_language", "target_language")),
    "ctranslate2": Source(_ctranslate2, ("tokenizer",)),
    "argos": Source(_argos, ()),
    "checkpoint": _CHECKPOINT,
    "fairseq": _CHECKPOINT,
    "joeynmt": _CHECKPOINT,
    "opennmt-py": _CHECKPOINT,
    "pytorch-seq2seq": _CHECKPOINT,
}
