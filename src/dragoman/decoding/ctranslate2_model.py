"""A CTranslate2 model as it lies in a folder: loaded, with the names of its pieces."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.decoding.engines import cores
from dragoman.errors import ConfigError, MissingExtraError, ModelError


@dataclass(frozen=True, slots=True)
class CTranslate2Model:
    """A loaded model and the names of its pieces.

    Args:
        translator: of the library; Any, as it has no types.
        source: names of the source pieces by id.
        target: names of the target pieces by id.
        workers: batches it translates at a time.
        positions: how many pieces a text may have, the end symbol included; None is no limit.
        digest: of the weights it was written from; empty when another program wrote it.
    """

    translator: Any
    source: tuple[str, ...]
    target: tuple[str, ...]
    workers: int = 1
    positions: int | None = None
    digest: str = ""


def load_ctranslate2(
    folder: Path, *, compute_type: str = "default", workers: int | None = None
) -> CTranslate2Model:
    """Read a CTranslate2 model folder.

    Args:
        folder: holds ``model.bin``, ``config.json`` and vocabularies in JSON.
        compute_type: how products are computed: ``default`` as the weights are kept, ``float32``,
            ``int8``, or another that the library knows.
        workers: batches translated at a time, one thread each; one for each core unless given.

    Raises:
        ModelError: a file is missing or damaged.
        ConfigError: the library cannot compute so on this machine.
        MissingExtraError: CTranslate2 is not installed.
    """
    library = _library()
    names = [folder / f"{side}_vocabulary.json" for side in ("source", "target")]
    if (shared := folder / "shared_vocabulary.json").exists():
        names = [shared, shared]
    try:
        source, target = (tuple(map(str, json.loads(name.read_bytes()))) for name in names)
        config = json.loads((folder / "config.json").read_bytes())
        ours = dict(config.get("dragoman") or {})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ModelError(f"{folder}: is no CTranslate2 model: {error}") from None
    known = library.get_supported_compute_types("cpu")
    if compute_type != "default" and compute_type not in known:
        choices = ", ".join(["auto", *sorted(known)])
        raise ConfigError("dtype", f"{compute_type!r} is not a choice", f"choose from {choices}")
    workers = cores() if workers is None else workers
    options = {"inter_threads": workers, "intra_threads": 1}
    try:
        translator = library.Translator(str(folder), compute_type=compute_type, **options)
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"{folder}: cannot be read: {error}") from None
    positions, digest = ours.get("positions"), str(ours.get("weights", ""))
    return CTranslate2Model(translator, source, target, workers, positions, digest)


def _library() -> Any:  # Any: it has no types
    try:
        import ctranslate2  # pyright: ignore  # optional, and without types
    except ImportError:
        raise MissingExtraError('engine = "ctranslate2"', "ct2") from None
    return ctranslate2
