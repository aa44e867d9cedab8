"""Write a model in another format, once the program it is for has shown that it is the same."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from dragoman.atomic import new_folder, write_text
from dragoman.bundle import Bundle
from dragoman.errors import ConfigError, Mistake
from dragoman.interop.certificate import Certificate

PROOF = "certificate.json"  # stands in every folder that was made here
Quantization = Literal["float32", "float16", "int8"]


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What only some formats ask.

    Args:
        quantization: how weights are kept.
        source_language: code of the language that is read, such as ``de``.
        target_language: code of the language that is written.
    """

    quantization: Quantization = "float32"
    source_language: str | None = None
    target_language: str | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """A format that models go out to.

    Args:
        write: fills an empty folder and proves it; refuses first what the format cannot hold.
        asks: the options it knows.
        use: what the card says about using it.
    """

    write: Callable[[Path, Bundle, ExportOptions], Certificate]
    asks: tuple[str, ...]
    use: str


def export_bundle(
    bundle: Bundle, to: str, folder: Path, options: ExportOptions, *, card: str = ""
) -> Certificate:
    """Write a folder in another format; it appears whole and proven, or not at all.

    Args:
        bundle: model and tokenizers.
        to: name of the format, of ``FORMATS``.
        folder: what to make; one that an earlier export made is replaced.
        options: what the format asks.
        card: what is known of the model, as Markdown; goes below the certificate.

    Raises:
        ConfigError: the format is not known, has no such option or no place for a choice of the
            model, or ``folder`` holds something else.
        ModelError: the other program does not compute what Dragoman computes.
        MissingExtraError: a library of the format is not installed.
        OSError: the folder cannot be written, or the disk is full.
    """
    form = _format(to, options)
    refuse_occupied(folder)
    with new_folder(folder) as aside:
        certificate = form.write(aside, bundle, options)
        write_proof(aside, certificate)
        write_text(aside / "README.md", _card(to, form, certificate, card))
    return certificate


def refuse_occupied(folder: Path) -> None:
    """See that a folder may be made: it is not there, is empty, or was made here before.

    Raises:
        ConfigError: it holds something else.
    """
    if folder.exists() and not (folder / PROOF).is_file():
        if not folder.is_dir() or any(folder.iterdir()):
            raise ConfigError(str(folder), "holds something else", "choose a new folder")


def write_proof(folder: Path, certificate: Certificate) -> None:
    """Write the certificate for programs."""
    write_text(folder / PROOF, json.dumps(certificate.as_json(), indent=2) + "\n")


def _format(to: str, options: ExportOptions) -> Format:
    form = FORMATS.get(to)
    if form is None:
        raise ConfigError("--to", f"{to!r} is no format", f"choose from {', '.join(FORMATS)}")
    defaults = ExportOptions()
    mistakes = [
        Mistake(f"--{field.name.replace('_', '-')}", f"says nothing to {to}", "leave it out")
        for field in fields(options)
        if field.name not in form.asks
        and getattr(options, field.name) != getattr(defaults, field.name)
    ]
    if mistakes:
        raise ConfigError.together(mistakes)
    return form


def _card(to: str, form: Format, certificate: Certificate, card: str) -> str:
    lines = "\n".join(f"- {line}" for line in certificate.lines())
    below = f"\n# The model\n\n{card}" if card else ""
    return f"# Written by Dragoman for {to}\n\n{form.use}\n\n## Certificate\n\n{lines}\n{below}"


def _ctranslate2(folder: Path, bundle: Bundle, options: ExportOptions) -> Certificate:
    raise NotImplementedError


FORMATS: Mapping[str, Format] = {}
