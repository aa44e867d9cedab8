"""Read a model in another format, once its own program has shown that ours is the same."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, cast

import torch

from dragoman.atomic import new_folder
from dragoman.bundle import Bundle, load_bundle, model_weights, save_bundle
from dragoman.errors import ConfigError, Mistake, ModelError
from dragoman.interop.argos import certify_argos, is_package, read_argos
from dragoman.interop.certificate import (
    TOLERANCE,
    Certificate,
    Reader,
    Searched,
    Side,
    certify,
    certify_reader,
)
from dragoman.interop.checkpoints import Asked, Kind, open_checkpoint, read_checkpoint, widened
from dragoman.interop.checkpoints.vocabulary import Cut
from dragoman.interop.ctranslate2 import import_ctranslate2, open_ctranslate2
from dragoman.interop.exporting import certificate_lines, refuse_occupied, write_proof
from dragoman.interop.formats import tolerance_of_transformers
from dragoman.interop.huggingface import open_huggingface, read_huggingface
from dragoman.interop.huggingface.clients import auto_tokenizer_ids
from dragoman.interop.huggingface.pickles import refuse_pickles
from dragoman.interop.probes import TEXTS
from dragoman.interop.vocabulary import vocabulary_lines
from dragoman.models import AnyConfig, ModelConfig

_USE = 'Use it with `dragoman {0} FOLDER < {2}` or `dragoman.{1}.load("FOLDER")`.'
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
        source: a folder of Hugging Face or CTranslate2, a package of Argos Translate or a folder
            with one, or a checkpoint of fairseq, JoeyNMT, OpenNMT-py or pytorch-seq2seq.
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
    packages = list(source.glob("*.argosmodel")) if source.is_dir() else []
    if len(packages) == 1:  # a folder as an export to Argos Translate makes it
        source = packages[0]
    kind = options.kind or find_kind(source)
    if kind not in KINDS:
        raise ConfigError("--kind", f"{kind!r} is none", f"choose from {', '.join(KINDS)}")
    _refuse_unheard(kind, options)
    refuse_occupied(folder, "dragoman", source)
    bundle, certificate = KINDS[kind].read(source, options)
    with new_folder(folder) as aside:
        save_bundle(aside, bundle, _card(source, kind, bundle, certificate))
        write_proof(aside, certificate, "dragoman")
        _see_same(aside, bundle)
    return certificate


def find_kind(source: Path) -> str:
    """Say what a source is, by the files it has.

    Raises:
        ModelError: it is a model folder of Dragoman already, or a graph.
    """
    if source.is_file():
        return "argos" if source.suffix == ".argosmodel" or is_package(source) else "checkpoint"
    if (source / "model.bin").is_file():
        return "ctranslate2"
    if any((source / name).is_file() for name in ("encoder.onnx", "decoder_step.onnx")):
        problem = "is in ONNX, and a graph does not say which model it is"
        raise ModelError(f"{source}: {problem}; use the model folder that it was made from")
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
    other = open_huggingface(source, bundle)
    certificate = _certify(bundle, other, tolerance=tolerance_of_transformers(bundle))
    cuts = _cuts(source, bundle) if bundle.tokenizers else []
    return bundle, replace(certificate, searches=(*certificate.searches, *cuts))


def _cuts(source: Path, bundle: Bundle) -> list[Searched]:
    """Hold ``AutoTokenizer`` to our reading of the same files.

    Plain text must be cut alike. Elsewhere releases of transformers differ from one another and
    from the libraries that the files are for, which are followed here: that is written down.

    Raises:
        ModelError: plain text is cut otherwise.
    """
    theirs = auto_tokenizer_ids(source, TEXTS)
    if theirs is None:
        return []
    ours = bundle.source_tokenizer.encode_many(TEXTS)
    same = [one == other for one, other in zip(ours, theirs, strict=True)]
    for text, alike in zip(TEXTS, same, strict=True):
        if text.isascii() and text.replace(" ", "").isalpha() and not alike:
            raise ModelError(
                f"{source}: AutoTokenizer cuts {text.strip()!r} otherwise than the files in the "
                "folder say; nothing was written"
            )
    count = sum(same)
    reason = "are cut as the files say, and otherwise by this release of transformers"
    return [Searched("pieces of texts", len(same), count, len(same) - count, reason)]


def _ctranslate2(source: Path, options: ImportOptions) -> Read:
    if len(options.tokenizer) > 1:
        problem = f"{len(options.tokenizer)} files are too many"
        raise ConfigError("--tokenizer", problem, "give one for both sides")
    refuse_pickles(source)  # also in what is not read: whoever put one there meant no good
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


def _certify(bundle: Bundle, other: Side | Reader, *, tolerance: float = TOLERANCE) -> Certificate:
    if isinstance(other, Reader):
        return certify_reader(bundle, other)
    return certify(bundle, other, tolerance=tolerance)


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
        f"{_use(bundle.config)}\n\n"
        f"## Certificate\n\n{certificate_lines(certificate)}\n"
        f"## Text\n\n{texts}\n## Source\n\n{listed}"
    )


def _use(config: AnyConfig) -> str:
    """Say what a model folder is for."""
    if not isinstance(config, ModelConfig) or config.architecture != "encoder-only":
        command, what = ("generate", "LanguageModel"), "prompts"
        if config.architecture != "decoder-only":
            command, what = ("translate", "Translator"), "text"
        return _USE.format(*command, what)
    if config.head in ("class", "tags"):
        return _USE.format("classify", "Classifier", "text")
    if config.head == "pieces":
        return _USE.format("fill", "Classifier", "text") + " A gap is written `___`."
    return (
        'Use it in Python: `dragoman.bundle.load_bundle(pathlib.Path("FOLDER"))` holds the model '
        "and the tokenizers; it has no head, so no command goes with it."
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
