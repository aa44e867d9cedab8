"""A model on disk: config, weights and tokenizers in one folder.

```
config.json         format number, architecture, all model choices, special ids, versions
tokenizer.json      both sides, or source.tokenizer.json and target.tokenizer.json; none for images
model.safetensors   weights, each tied table once
README.md           model card
```
Nothing here can run code: JSON and safetensors only.
"""

import functools
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import (
    load_file,  # pyright: ignore[reportUnknownVariableType]  # its PathLike has no parameter
    save,
)
from torch import Tensor, nn

from dragoman.atomic import write_bytes, write_text
from dragoman.configfile import Table, write_record
from dragoman.data import Frame
from dragoman.errors import ConfigError, ModelError
from dragoman.models import AnyConfig, Model, ModelConfig, build_model, read_config
from dragoman.tokenization import SpecialIds, Tokenizer, load_tokenizer

FORMAT = 1  # raised when a folder could no longer be read by an older release


@dataclass(frozen=True, slots=True)
class Bundle:
    """A model and all that is needed to use it.

    Args:
        config: the choices the model was built from.
        model: the module, in evaluation mode when loaded.
        tokenizers: one when there is one vocabulary, two when source and target differ, or when
            an imported one cuts them in two ways; none for a model that reads images.
    """

    config: AnyConfig
    model: Model
    tokenizers: tuple[Tokenizer, ...]

    @property
    def source_tokenizer(self) -> Tokenizer:
        """Text to the ids that the model reads."""
        return self.tokenizers[0]

    @property
    def target_tokenizer(self) -> Tokenizer:
        """The ids that the model writes to text; the same object when the vocabulary is joint."""
        return self.tokenizers[-1]

    @property
    def frame(self) -> Frame:
        """What stands around a source and before a target."""
        return frame_of(self.config, self.target_tokenizer.special)


def frame_of(config: AnyConfig, special: SpecialIds) -> Frame:
    """Say what stands around a source and before a target, as a model's choices have it."""
    usual = Frame.of(special)
    if not isinstance(config, ModelConfig):
        return usual
    given = (config.source_before, config.source_after, config.target_before)
    others = (usual.source_before, usual.source_after, usual.target_before)
    chosen = [other if ids is None else ids for ids, other in zip(given, others, strict=True)]
    return Frame(special, *chosen)


def save_bundle(folder: Path, bundle: Bundle, card: str) -> None:
    """Write a model folder; each file replaces an older one in one step, the weights last.

    Raises:
        OSError: the folder cannot be written, or the disk is full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    save_tokenizers(folder, bundle.tokenizers)
    write_text(folder / "config.json", json.dumps(_describe(bundle), indent=2) + "\n")
    write_text(folder / "README.md", card)
    write_bytes(folder / "model.safetensors", save(model_weights(bundle.model)))


def load_bundle(
    folder: Path,
    device: torch.device | str = "cpu",
    *,
    weights: Mapping[str, Tensor] | None = None,
) -> Bundle:
    """Read a model folder.

    Args:
        folder: holds config, tokenizers and weights.
        device: where the model goes.
        weights: taken instead of those in the folder.

    Raises:
        ModelError: a file is missing, damaged, or does not fit the others.
    """
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model folder")
    file = folder / "config.json"
    described = _read_description(file)
    choices = described.get("model")
    if not isinstance(choices, dict):
        raise ModelError(f"{file}: model: is no table of choices")
    try:
        config = read_config(cast("Table", choices), file=str(file))
    except ConfigError as error:
        raise ModelError(str(error)) from None
    if described.get("architecture") != config.architecture:
        stated = described.get("architecture")
        raise ModelError(f"{file}: architecture {stated!r}, but model says {config.architecture!r}")
    tokenizers = load_tokenizers(folder) if config.vocabulary is not None else ()
    for tokenizer in tokenizers:
        if tokenizer.special.padding != config.padding:
            raise ModelError(
                f"{file}: model.padding: {config.padding} is not the padding piece of the "
                f"tokenizer, {tokenizer.special.padding}"
            )
    if tokenizers and described.get("special_ids") != asdict(tokenizers[-1].special):
        raise ModelError(f"{file}: special_ids: are not those of the tokenizer")
    try:
        model = build_model(config)
    except RuntimeError as error:  # more memory than there is
        raise ModelError(f"{file}: cannot be built: {str(error).splitlines()[0]}") from None
    if weights is None:
        weights = read_tensors(folder / "model.safetensors")
    load_weights(model, weights, str(folder))
    sizes = [size for size in (config.vocabulary, config.target_vocabulary) if size is not None]
    found = [tokenizer.size for tokenizer in tokenizers]
    if len(sizes) == 1 < len(found):  # one vocabulary, and text of each side cut in its own way
        found = [*dict.fromkeys(found)]
    if sizes != found:
        raise ModelError(
            f"{folder}: the tokenizers have {_listed(found)} pieces, the model {_listed(sizes)}; "
            "use the tokenizers it was trained with"
        )
    return Bundle(config, model.to(device).eval(), tokenizers)


def _listed(sizes: Sequence[int]) -> str:
    return " and ".join(f"{size:,}" for size in sizes)


def save_tokenizers(folder: Path, tokenizers: Sequence[Tokenizer]) -> None:
    """Write one file when there is one vocabulary, otherwise one for each side; no other stays."""
    joint, separate = ["tokenizer.json"], ["source.tokenizer.json", "target.tokenizer.json"]
    names = joint if len(tokenizers) == 1 else separate if tokenizers else []
    for name in {*joint, *separate}.difference(names):
        (folder / name).unlink(missing_ok=True)
    for name, tokenizer in zip(names, tokenizers, strict=True):
        tokenizer.save(folder / name)


def load_tokenizers(folder: Path) -> tuple[Tokenizer, ...]:
    """Read the tokenizers of a model folder; one when there is one vocabulary.

    Raises:
        ModelError: a file is missing or damaged.
    """
    if (folder / "source.tokenizer.json").exists():
        return (
            load_tokenizer(folder / "source.tokenizer.json"),
            load_tokenizer(folder / "target.tokenizer.json"),
        )
    return (load_tokenizer(folder / "tokenizer.json"),)


def model_weights(model: nn.Module) -> dict[str, Tensor]:
    """Name every weight, a tied one once, as contiguous tensors on the CPU."""
    return {
        name: weight.detach().cpu().contiguous()
        for name, weight in model.named_parameters()  # leaves out repeated ones
    }


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Copy weights into a model.

    Args:
        model: gets them.
        weights: by name, as ``model_weights`` gives them.
        where: folder or file, for messages.

    Raises:
        ModelError: a weight is missing, left over, or of another shape.
    """
    load_tensors(dict(model.named_parameters()), weights, where)


@torch.no_grad()
def load_tensors(own: Mapping[str, Tensor], weights: Mapping[str, Tensor], where: str) -> None:
    """Copy ``weights`` into tensors of the same names and shapes, all or none.

    Raises:
        ModelError: one is missing, left over, or of another shape.
    """
    missing, unknown = sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys())
    if missing or unknown:
        parts = [f"{len(missing)} weights are missing ({', '.join(missing[:3])} ...)"] * bool(
            missing
        )
        parts += [f"{len(unknown)} are not known ({', '.join(unknown[:3])} ...)"] * bool(unknown)
        raise ModelError(f"{where}: {'; '.join(parts)}")
    for name, weight in own.items():
        if weight.shape != weights[name].shape:
            raise ModelError(
                f"{where}: {name} is {tuple(weights[name].shape)}, the model needs "
                f"{tuple(weight.shape)}"
            )
    for name, weight in own.items():
        weight.copy_(weights[name])


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file.

    Raises:
        ModelError: it is missing or damaged.
    """
    try:
        return load_file(str(path))
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from None


def library_versions() -> dict[str, str]:
    """Say which versions made a file."""
    libraries = ("torch", "numpy", "tokenizers", "safetensors", "sacrebleu")
    return {
        "dragoman": _version("dragoman"),
        "python": platform.python_version(),
        **{name: _version(name) for name in libraries},
    }


@functools.cache
def _version(name: str) -> str:
    """Look it up once; every checkpoint of a run says it."""
    return version(name)


def _describe(bundle: Bundle) -> dict[str, Any]:  # Any: as JSON holds it
    described: dict[str, Any] = {
        "format": FORMAT,
        "architecture": bundle.config.architecture,
        "model": write_record(bundle.config),
    }
    if bundle.tokenizers:
        described["special_ids"] = asdict(bundle.target_tokenizer.special)
        source = bundle.source_tokenizer
        described["normal_form"] = source.normal_form if source.lossless else "imported"
    return {**described, "versions": library_versions()}


def _read_description(file: Path) -> Table:
    try:
        described = json.loads(file.read_bytes())
    except FileNotFoundError:
        hint = ""
        if file.parent.name.startswith("step-"):
            hint = "; a checkpoint becomes one by: dragoman average CHECKPOINT --to FOLDER"
        raise ModelError(f"{file.parent}: holds no model (no {file.name}){hint}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{file}: cannot be read: {error}") from None
    found = cast("Table", described).get("format") if isinstance(described, dict) else None
    if isinstance(described, dict) and "format" not in described:
        raise ModelError(
            f"{file.parent}: is no model folder of Dragoman; a model in another format becomes one "
            f"by: dragoman import {file.parent} --to NEW"
        )
    if found != FORMAT:
        raise ModelError(
            f"{file}: format {found!r}, this release reads format {FORMAT}; "
            "use the release that wrote it"
        )
    return cast("Table", described)
