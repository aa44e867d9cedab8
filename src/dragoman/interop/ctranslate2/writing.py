"""A CTranslate2 model folder with the weights of a bundle, through that library's own classes.

    write_ctranslate2(folder / CTRANSLATE2_FOLDER, load_bundle(folder), quantization="int8")

It translates alone, without Dragoman: pieces in, pieces out, the end symbol of a source added by
the library. Inside a model folder, ``engine = "ctranslate2"`` runs it.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from torch import nn

from dragoman.atomic import new_folder
from dragoman.bundle import Bundle, model_weights, save_tokenizers
from dragoman.configfile import write_record
from dragoman.data import Frame
from dragoman.decoding import CTranslate2Engine, load_ctranslate2
from dragoman.errors import ConfigError, MissingExtraError, ModelError
from dragoman.interop.ctranslate2.limits import CHANGE, beyond_ctranslate2
from dragoman.interop.ctranslate2.parts import OWN_SINUSOIDS, transformer
from dragoman.interop.named_weights import NamedWeights
from dragoman.models import Learned, ModelConfig, NoPositions, Positions, Sinusoidal
from dragoman.nn import EncoderDecoder
from dragoman.tokenization import Tokenizer

CTRANSLATE2_FOLDER = "ctranslate2"  # inside a model folder
Quantization = Literal["float32", "float16", "bfloat16", "int16", "int8"]
_POSITIONS = 2048  # sinusoids written; those of other models have no end


def write_ctranslate2(
    folder: Path,
    bundle: Bundle,
    *,
    quantization: Quantization = "float32",
    positions: int = _POSITIONS,
) -> None:
    """Write a folder that CTranslate2 loads; it appears whole or not at all.

    An encoder-decoder becomes a ``Translator``, a decoder alone a ``Generator``, an encoder alone
    an ``Encoder``.

    Args:
        folder: its name; one that is there is replaced.
        bundle: a Transformer.
        quantization: how weights are kept; ``int8`` has one scale for each output of a product,
            ``int16`` one for each table.
        positions: how many pieces a text may have where positions are sinusoids or none.

    Raises:
        ConfigError: a choice of the model has no place in the format, all of them at once; or the
            quantization is not known.
        ModelError: two pieces of the vocabulary have one name.
        MissingExtraError: CTranslate2 is not installed.
        OSError: the folder cannot be written, or the disk is full.
    """
    if quantization not in get_args(Quantization):
        choices = ", ".join(get_args(Quantization))
        problem = f"{quantization!r} is not a choice"
        raise ConfigError("quantization", problem, f"choose from {choices}")
    mistakes = beyond_ctranslate2(bundle.config)
    if mistakes:
        raise ConfigError.together(mistakes).inside("model")
    assert isinstance(bundle.config, ModelConfig)
    weights = NamedWeights.of(bundle.model)
    spec = transformer(_specs(), bundle.config, weights, positions)
    _describe(spec, bundle, positions)
    spec.validate()
    spec.optimize(quantization=quantization)
    with new_folder(folder) as aside:
        spec.save(str(aside))
        save_tokenizers(aside, bundle.tokenizers)


def read_ctranslate2(
    folder: Path, bundle: Bundle, *, compute_type: str = "default", workers: int | None = None
) -> CTranslate2Engine:
    """Load what ``write_ctranslate2`` wrote into a model folder, and see that it is that model.

    Args:
        folder: of the model; the other format lies in ``ctranslate2`` inside.
        bundle: read from the same folder.
        compute_type: how products are computed: ``default`` as the weights are kept, ``float32``,
            ``int8``, or another that the library knows.
        workers: batches translated at a time, one thread each; one for each core unless given.

    Raises:
        ModelError: there is none, it cannot be read, or it was written from other weights.
        ConfigError: the library cannot compute so here.
        MissingExtraError: CTranslate2 is not installed.
    """
    inside = folder / CTRANSLATE2_FOLDER
    write = f"write it with: dragoman export {folder} --to ctranslate2"
    if not (inside / "model.bin").is_file():
        raise ModelError(f"{inside}: holds no CTranslate2 model; {write}")
    model = load_ctranslate2(inside, compute_type=compute_type, workers=workers)
    if model.digest != weights_digest(bundle.model):
        raise ModelError(f"{inside}: was not written from the weights beside it; {write}")
    assert isinstance(bundle.model, EncoderDecoder)  # no other is written
    frame = bundle.frame
    added = len(frame.source_before), len(frame.source_after)
    return CTranslate2Engine(bundle.model, model, added)


def weights_digest(model: nn.Module) -> str:
    """Name the weights of a model by their SHA-256, whatever file they lie in."""
    digest = hashlib.sha256()
    for name, weight in sorted(model_weights(model).items()):
        digest.update(f"{name} {tuple(weight.shape)}\n".encode())
        digest.update(weight.float().numpy().tobytes())
    return digest.hexdigest()


def _describe(spec: Any, bundle: Bundle, positions: int) -> None:
    """Say what the pieces are called and which of them the library treats apart."""
    assert isinstance(bundle.config, ModelConfig)
    source = _pieces(bundle.source_tokenizer)
    target = _pieces(bundle.target_tokenizer)
    if bundle.config.architecture == "encoder-decoder":
        spec.register_source_vocabulary(source)
        spec.register_target_vocabulary(target)
    else:
        spec.register_vocabulary(target)
    special = bundle.target_tokenizer.special
    spec.config.unk_token = target[special.unknown]
    spec.config.bos_token = target[special.start]
    spec.config.eos_token = target[special.end]
    if bundle.config.architecture == "encoder-decoder":
        _describe_frame(spec.config, bundle.frame, source, target)
    spec.config.layer_norm_epsilon = bundle.config.norm_eps
    both = (bundle.config.positions, bundle.config.target_positions)
    limits = [limit for each in both if (limit := _limit(each, positions)) is not None]
    ours = {
        "weights": weights_digest(bundle.model),
        "positions": min(limits, default=None),
        "model": write_record(bundle.config),
    }
    spec.config.add_attribute("dragoman", ours)


def _describe_frame(
    config: Any, frame: Frame, source: Sequence[str], target: Sequence[str]
) -> None:
    """Say what the library puts around a source and before a target.

    Raises:
        ConfigError: sources end with another symbol than targets.
    """
    ends = [source[each] for each in frame.source_after]
    if ends not in ([], [config.eos_token]):
        problem = f"sources end with {ends[0]}, and the CTranslate2 format knows {config.eos_token}"
        raise ConfigError("source_after", problem, CHANGE).inside("model")
    config.add_source_eos = bool(ends)
    config.add_source_bos = bool(frame.source_before)
    if frame.source_before:
        config.bos_token = source[frame.source_before[0]]
    config.decoder_start_token = target[frame.target_before[0]]


def _limit(positions: Positions, written: int) -> int | None:
    """Say how many pieces a text may have."""
    match positions:
        case Learned(max_length=longest):
            return longest
        case Sinusoidal():
            return None if positions == OWN_SINUSOIDS else written
        case NoPositions():
            return written
        case _:
            return None


def _pieces(tokenizer: Tokenizer) -> list[str]:
    """Name all pieces in the order of their ids, as the file of the tokenizer does.

    Raises:
        ModelError: two have one name.
    """
    names = tokenizer.names()
    if len(set(names)) < len(names):
        raise ModelError("two pieces of the vocabulary have one name, which CTranslate2 knows by")
    return names


def _specs() -> Any:  # Any: the library has no types
    try:
        from ctranslate2 import specs  # pyright: ignore  # optional, and without types
    except ImportError:
        raise MissingExtraError("the CTranslate2 format", "ct2") from None
    return specs
