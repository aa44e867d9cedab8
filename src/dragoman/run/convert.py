"""Models to other formats and from them, each with a proof that it stayed the same model."""

from pathlib import Path
from typing import Any

from dragoman.bundle import load_bundle
from dragoman.interop import (
    Certificate,
    ExportOptions,
    ImportOptions,
    export_bundle,
    refuse_occupied,
)
from dragoman.interop import import_model as _import

_OWN_USE = "Use it with `dragoman "  # says a card of a folder that is not the one made


def export(
    model: str | Path,
    to: str,
    folder: str | Path | None = None,
    *,
    quantization: str = "float32",
    source_language: str | None = None,
    target_language: str | None = None,
) -> Certificate:
    """Write a model in another format, once its own program computes the same on probe sentences.

    Args:
        model: a model or run folder.
        to: ``ctranslate2``, ``huggingface``, ``onnx`` or ``argos``.
        folder: what to make; ``to`` inside the model folder unless given. One that an earlier
            export made is replaced.
        quantization: how weights are kept: ``float32``; for ``ctranslate2`` and ``argos`` also
            ``float16``, ``bfloat16``, ``int16`` and ``int8``, for ``onnx`` ``int8``. In float32
            both must agree; with fewer bits, what differs is written down.
        source_language: of a package of ``argos``, such as ``de``.
        target_language: of a package of ``argos``.

    Returns:
        What was compared; ``certificate.json`` and ``README.md`` in the folder say it too.

    Raises:
        ConfigError: the format is not known, has no such option or no place for a choice of the
            model, or ``folder`` holds something else.
        ModelError: the model cannot be read, or the other program computes something else.
        MissingExtraError: a library of the format is not installed.
        OSError: the folder cannot be written, or the disk is full.
    """
    options = ExportOptions(quantization, source_language, target_language)
    made = Path(model) / to if folder is None else Path(folder)
    bundle = load_bundle(Path(model))
    refuse_occupied(made, to, Path(model))
    card = Path(model) / "README.md"
    known = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    known = "".join(line for line in known.splitlines(True) if not line.startswith(_OWN_USE))
    return export_bundle(bundle, to, made, options, card=known)


def import_model(source: str | Path, folder: str | Path, **options: Any) -> Certificate:
    """Make a model folder of a model in another format, once both compute the same.

    Args:
        source: a folder of Hugging Face or CTranslate2, a package of Argos Translate, or a
            checkpoint of fairseq, JoeyNMT, OpenNMT-py or pytorch-seq2seq.
        folder: what to make; one that an earlier import made is replaced.
        options: those of ``dragoman.interop.ImportOptions``.

    Raises:
        ConfigError: the source has a choice that Dragoman lacks, an option is missing or says
            nothing to it, or ``folder`` holds something else.
        ModelError: the source is damaged or could run code, weights are left over or missing, or
            the other program computes something else.
        MissingExtraError: the program that proves it is not installed.
        OSError: the folder cannot be written, or the disk is full.
    """
    return _import(Path(source), Path(folder), ImportOptions(**options))
