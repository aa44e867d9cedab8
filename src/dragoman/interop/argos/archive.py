r"""A package of Argos Translate on disk, looked at before anything of it is unpacked.

Argos Translate itself unpacks whatever a package holds. Here only files of known names are read,
and they get names of our own, so that no name in a package reaches the disk. Even so a package is
refused, before anything is written, that holds a path out of its folder (``..``, ``/x``, ``C:\x``),
a link, two files of one name, too many files, or far more than its size allows.
"""

import json
import zipfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from dragoman.downloads import unpack
from dragoman.errors import DataError, ModelError
from dragoman.interop.argos.language_names import is_language_code

METADATA, PIECES, MODEL = "metadata.json", "sentencepiece.model", "model"
_VOCABULARIES = tuple(
    f"{side}_vocabulary.{ending}"
    for side in ("shared", "source", "target")
    for ending in ("json", "txt")
)
_TOKENIZERS = ("tokenizer.json", "source.tokenizer.json", "target.tokenizer.json")
_MODEL = ("model.bin", "config.json", *_VOCABULARIES, *_TOKENIZERS)
_READ = (METADATA, PIECES, *(f"{MODEL}/{name}" for name in _MODEL))
_WORDS = "bpe.model"  # of packages whose text is cut into words first
_MOST_FILES = 10_000  # a package has about 10, with data of Stanza or SpaCy some 100
_MOST_METADATA = 1 << 20  # bytes
_FETCH = "nothing was taken from it; remove it and fetch it again"


@dataclass(frozen=True, slots=True)
class Package:
    """What lies unpacked.

    Args:
        path: of the package, for messages.
        folder: holds the files that are read, under the names that they have in a package.
        metadata: checked: a translation of one pair of languages.
    """

    path: Path
    folder: Path
    metadata: Mapping[str, Any]  # Any: as JSON holds it

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and the target language."""
        return self.metadata["from_code"], self.metadata["to_code"]


def is_package(path: Path) -> bool:
    """Whether a file looks like a package: a zip file with one folder that has ``metadata.json``.

    It may still be refused when it is read.
    """
    try:
        return path.is_file() and zipfile.is_zipfile(path) and METADATA in _read_names(path)
    except (OSError, ModelError, zipfile.BadZipFile, NotImplementedError):
        return False


@contextmanager
def unpacked(path: Path) -> Generator[Package]:
    """Look at a package and unpack what is read of it, for as long as the block runs.

    Raises:
        ModelError: it is no package, is damaged or not to be trusted, or is of a kind that is not
            read; nothing is unpacked then.
    """
    with TemporaryDirectory(prefix="dragoman-") as name:
        room = Path(name)
        (room / MODEL).mkdir()
        try:
            unpack(path, "zip", {}, room)  # looks at all of it, and writes nothing
            found = _read_names(path)
            metadata = unpack(path, "zip", {found[METADATA]: METADATA}, room)
            described = _read_metadata(path, metadata[found[METADATA]])
            _refuse_kind(path, described, found)
            rest = {theirs: ours for ours, theirs in found.items() if ours in _READ[1:]}
            unpack(path, "zip", rest, room)
        except DataError as error:
            raise ModelError(f"{path}: {error.problem}; {error.hint}") from None
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
        yield Package(path, room, described)


def _read_names(path: Path) -> dict[str, str]:
    """Find the folder of the package; give the names in the archive by those inside of it."""
    with zipfile.ZipFile(path) as packed:
        names = [entry.orig_filename.removeprefix("./") for entry in packed.infolist()]
    if len(names) > _MOST_FILES:
        raise ModelError(f"{path}: holds {len(names):,} files, a package has some 10; {_FETCH}")
    roots = [name.removesuffix(f"/{METADATA}") for name in names if name.endswith(f"/{METADATA}")]
    roots = [root for root in roots if root and "/" not in root]
    if len(roots) != 1:
        problem = f"holds {len(roots)} folders with {METADATA}, a package of Argos Translate one"
        raise ModelError(f"{path}: {problem}; {_FETCH}")
    inside = f"{roots[0]}/"
    return {name.removeprefix(inside): name for name in names if name.startswith(inside)}


def _read_metadata(path: Path, file: Path) -> dict[str, Any]:
    """Read what a package says of itself."""
    where = f"{path}: {METADATA}"
    if file.stat().st_size > _MOST_METADATA:
        raise ModelError(f"{where}: is larger than {_MOST_METADATA:,} bytes; {_FETCH}")
    try:
        described = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{where}: is no JSON ({error}); {_FETCH}") from None
    if not isinstance(described, dict):
        raise ModelError(f"{where}: holds no table; {_FETCH}")
    described = cast("dict[str, Any]", described)
    for key in ("from_code", "to_code"):
        if not is_language_code(described.get(key)):
            problem = f"{described.get(key)!r} is not the code of a language"
            raise ModelError(f"{where}: {key}: {problem}; {_FETCH}")
    return described


def _refuse_kind(path: Path, described: Mapping[str, Any], found: Mapping[str, str]) -> None:
    """Refuse packages of a kind that is not read."""
    kind = described.get("type", "translate")
    if kind != "translate":
        raise ModelError(f"{path}: {METADATA}: type: {kind!r} is no translation; choose another")
    if described.get("target_prefix"):
        problem = f"{described['target_prefix']!r} begins every target, which is not read here"
        raise ModelError(f"{path}: {METADATA}: target_prefix: {problem}; choose another package")
    if PIECES not in found:
        problem = f"text is cut into words first ({_WORDS})" if _WORDS in found else "is missing"
        problem = problem if _WORDS in found else f"{PIECES} {problem}"
        raise ModelError(f"{path}: {problem}, which is not read here; choose another package")
    if f"{MODEL}/model.bin" not in found:
        raise ModelError(f"{path}: {MODEL}/model.bin is missing; {_FETCH}")
