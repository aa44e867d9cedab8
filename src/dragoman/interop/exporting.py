"""Write a model in another format, once the program it is for has shown that it is the same."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from dragoman.atomic import new_folder, write_text
from dragoman.bundle import Bundle
from dragoman.errors import ConfigError, Mistake
from dragoman.interop.certificate import Certificate
from dragoman.interop.formats import FORMATS, ExportOptions, Format

PROOF = "certificate.json"  # stands in every folder that was made by a conversion
_MOST_PROOF = 1 << 20  # bytes


def export_bundle(
    bundle: Bundle, to: str, folder: Path, options: ExportOptions, *, card: str = ""
) -> Certificate:
    """Write a folder in another format; it appears whole and proven, or not at all.

    Args:
        bundle: model and tokenizers.
        to: name of the format: ``ctranslate2``, ``huggingface``, ``onnx`` or ``argos``.
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
    refuse_occupied(folder, to)
    with new_folder(folder) as aside:
        form.write(aside, bundle, options)
        certificate = form.prove(aside, bundle, options)
        readme = aside / "README.md"
        written = readme.read_text(encoding="utf-8") if readme.exists() else form.use + "\n"
        write_text(readme, _card(to, written, certificate, card))
        write_proof(aside, certificate, to)
    return certificate


def refuse_occupied(folder: Path, made: str, source: Path | None = None) -> None:
    """See that a folder may be made: it is not there, is empty, or the same conversion made it.

    Args:
        folder: what is to be made.
        made: format that is to be written there; ``dragoman`` for a model folder.
        source: what is converted, which must not be replaced.

    Raises:
        ConfigError: it holds something else, such as a file that was put there since, or it is or
            holds the source.
    """
    if not folder.name or folder.name == "..":
        raise ConfigError(str(folder) or "the folder", "is no new folder", "name one to make")
    if source is not None:
        whole, wanted = source.resolve(), folder.resolve()
        if wanted == whole or wanted in whole.parents:
            raise ConfigError(str(folder), f"holds {source}", "choose a new folder")
    if not folder.exists():
        return
    found = {each.name for each in folder.iterdir()} if folder.is_dir() else {folder.name}
    if strange := sorted(found - _written_before(folder, made)):
        names = ", ".join(strange[:3]) + (" and more" if len(strange) > 3 else "")
        raise ConfigError(str(folder), f"holds something else ({names})", "choose a new folder")


def _written_before(folder: Path, made: str) -> set[str]:
    """Name what an earlier conversion to the same format wrote into a folder."""
    try:
        proof: Any = json.loads((folder / PROOF).read_bytes())
        return set(proof["files"]) if proof["format"] == made else set()
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return set()


def write_proof(folder: Path, certificate: Certificate, made: str) -> None:
    """Write a certificate for programs, when all else is in the folder."""
    files = sorted({PROOF, *(each.name for each in folder.iterdir())})
    proof = {"format": made, "files": files, **certificate.as_json()}
    write_text(folder / PROOF, json.dumps(proof, indent=2) + "\n")


def certificate_lines(certificate: Certificate) -> str:
    """Write a certificate as a list in Markdown."""
    return "".join(f"- {line}\n" for line in certificate.lines())


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


def _card(to: str, written: str, certificate: Certificate, card: str) -> str:
    if not written.startswith("#"):
        written = f"# A model for {to}, written by Dragoman\n\n{written}"
    below = f"\n# The model\n\n{card.lstrip('# ')}" if card else ""
    return f"{written}\n## Certificate\n\n{certificate_lines(certificate)}{below}"
