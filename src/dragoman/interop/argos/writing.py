"""A package of Argos Translate (``.argosmodel``) with the weights and vocabulary of a bundle.

    write_argos(Path("de_en.argosmodel"), bundle, source_language="de", target_language="en")

A package is a zip file with one folder:

```
metadata.json            languages, versions
model/                   a CTranslate2 model, whose pieces are called as in SentencePiece
sentencepiece.model      how text is cut
minisbd/lines.onnx       how lines are cut into sentences: only long ones
README.md                for people
```

What that program does with text, before and behind the model, is its own; see ``client.py``.
"""

import json
import shutil
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from os import getpid
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

from dragoman.atomic import new_file
from dragoman.bundle import Bundle, library_versions
from dragoman.errors import ConfigError
from dragoman.interop.argos.agreeing import refuse_other_cuts
from dragoman.interop.argos.language_names import package_name
from dragoman.interop.argos.limits import refuse_beyond_argos
from dragoman.interop.argos.line_cutter import LONG, line_cutter
from dragoman.interop.ctranslate2 import Quantization, write_ctranslate2
from dragoman.tokenization import to_sentencepiece
from dragoman.tokenization.existing_pieces import SPACE

Sentences = Literal["lines", "client"]
VOCABULARIES = ("shared_vocabulary.json", "source_vocabulary.json", "target_vocabulary.json")
_DATE = (1980, 1, 1, 0, 0, 0)  # the same model gives the same file
_STORED = ".bin"  # weights hardly get smaller


def write_argos(
    path: Path,
    bundle: Bundle,
    *,
    source_language: str,
    target_language: str,
    quantization: Quantization = "float32",
    sentences: Sentences = "lines",
) -> None:
    """Write a package that ``argostranslate`` installs; it appears whole or not at all.

    Args:
        path: of the file; ``.argosmodel`` is the usual ending.
        bundle: an encoder-decoder, of one pair of languages.
        source_language: its code, such as ``de``.
        target_language: its code.
        quantization: how weights are kept, as in ``write_ctranslate2``.
        sentences: how lines are cut into sentences: ``lines`` leaves lines of up to 500 characters
            whole, and needs no network; ``client`` leaves it to Argos Translate, which fetches a
            model when it first translates.

    Raises:
        ConfigError: a choice of the model or the vocabulary has no place in the format, all of
            them at once; or an argument is not known.
        ModelError: SentencePiece would cut text otherwise.
        MissingExtraError: CTranslate2 or SentencePiece is not installed.
        OSError: the file cannot be written, or the disk is full.
    """
    if sentences not in get_args(Sentences):
        choices = " or ".join(get_args(Sentences))
        raise ConfigError("sentences", f"{sentences!r} is not a choice", f"choose {choices}")
    languages = (source_language, target_language)
    refuse_beyond_argos(bundle, languages)
    pieces = to_sentencepiece(bundle.source_tokenizer)
    refuse_other_cuts(bundle.source_tokenizer, pieces)
    folder = f"translate-{source_language}_{target_language}-1_0"
    with _room(path) as room:
        write_ctranslate2(room / "model", bundle, quantization=quantization)
        _rename_spaces(room / "model")
        (room / "sentencepiece.model").write_bytes(pieces)
        (room / "metadata.json").write_text(
            _metadata(bundle, languages, sentences), encoding="utf-8"
        )
        (room / "README.md").write_text(_card(languages, sentences), encoding="utf-8")
        if sentences == "lines":
            (room / "minisbd").mkdir()
            (room / "minisbd" / "lines.onnx").write_bytes(line_cutter())
        with new_file(path) as file:
            _pack(file, room, folder)


@contextmanager
def _room(path: Path) -> Generator[Path]:
    """Make a folder beside ``path`` that is gone afterwards."""
    room = path.with_name(f".{path.name}.package.writing-{getpid()}")
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir(parents=True)
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _rename_spaces(folder: Path) -> None:
    """Call the pieces of a CTranslate2 model as SentencePiece does."""
    for name in VOCABULARIES:
        if (file := folder / name).exists():
            names = json.loads(file.read_text(encoding="utf-8"))
            spelled = [each.replace(" ", SPACE) for each in names]
            file.write_text(json.dumps(spelled, ensure_ascii=False, indent=0), encoding="utf-8")


def _metadata(bundle: Bundle, languages: tuple[str, str], sentences: Sentences) -> str:
    source, target = languages
    metadata: dict[str, Any] = {
        "package_version": "1.0",
        "argos_version": "1.10",  # the first that cuts sentences by MiniSBD
        "from_code": source,
        "from_name": package_name(source),
        "to_code": target,
        "to_name": package_name(target),
        "links": [],
        "type": "translate",
        "dragoman": {
            "versions": library_versions(),
            "normal_form": bundle.source_tokenizer.normal_form,
            "sentences": sentences,
        },
    }
    return json.dumps(metadata, indent=2) + "\n"


def _card(languages: tuple[str, str], sentences: Sentences) -> str:
    source, target = map(package_name, languages)
    cut = (
        f"A line of up to {LONG} characters is translated as a whole."
        if sentences == "lines"
        else "Argos Translate cuts lines into sentences by a model that it fetches."
    )
    return f"# {source} to {target}\n\nWritten by Dragoman for Argos Translate. {cut}\n"


def _pack(file: BinaryIO, room: Path, folder: str) -> None:
    """Write the files of a folder into a zip file, in the order of their names."""
    with zipfile.ZipFile(file, "w") as packed:
        for path in sorted(each for each in room.rglob("*") if each.is_file()):
            entry = zipfile.ZipInfo(f"{folder}/{path.relative_to(room).as_posix()}", _DATE)
            entry.external_attr = 0o644 << 16
            stored = path.suffix == _STORED
            entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            entry.file_size = path.stat().st_size
            with path.open("rb") as source, packed.open(entry, "w") as target:
                shutil.copyfileobj(source, target, 1 << 20)
