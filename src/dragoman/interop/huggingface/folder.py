"""What a folder of Hugging Face's holds: ``config.json`` and weights; nothing in it is run.

Weights lie in ``model.safetensors`` or, older, in ``pytorch_model.bin``; either may be in shards
that an index lists. Of a ``.bin`` only tensors are read.
"""

import json
import pickle
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dragoman.errors import ModelError
from dragoman.interop.huggingface.names import Shape

Json = dict[str, Any]  # Any: what JSON holds is known only after looking

_MOST_JSON = 64 << 20  # bytes; an index of shards is the largest
_DEEPEST = 32
_MOST_SHARDS = 1_000
_SAFE, _OLD = "model.safetensors", "pytorch_model.bin"


def read_json(path: Path) -> Json:
    """Read a table from a JSON file.

    Raises:
        ModelError: it is missing, too large, nested too deeply, or no table in JSON.
    """
    try:
        size = path.stat().st_size
        if not path.is_file():  # a pipe would never end
            raise ModelError(f"{path}: is no file")
        if size > _MOST_JSON:
            raise ModelError(
                f"{path}: {size:,} bytes are more than the {_MOST_JSON:,} of any table"
            )
        table = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file; name a folder with a Hugging Face model") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: is not JSON: {str(error)[:100]}") from None
    if not isinstance(table, dict):
        raise ModelError(f"{path}: holds no table")
    if _deep(cast("Json", table)) > _DEEPEST:
        raise ModelError(f"{path}: is nested more than {_DEEPEST} deep")
    return cast("Json", table)


class Weights:
    """The weights in a folder: names and shapes at once, numbers when asked.

    Args:
        folder: of the model.

    Raises:
        ModelError: there are none, a file is damaged or holds more than tensors, an index names a
            file outside the folder, or two files have a weight of one name.
    """

    def __init__(self, folder: Path) -> None:
        self.files = _files(folder)
        self.shapes: dict[str, Shape] = {}
        self._holder: dict[str, Path] = {}
        self._old: dict[Path, dict[str, Tensor]] = {}
        for path in self.files:
            for name, shape in self._shapes(path):
                if name in self._holder:
                    raise ModelError(f"{path}: {name} is in {self._holder[name].name} too")
                self._holder[name], self.shapes[name] = path, shape

    def _shapes(self, path: Path) -> Iterator[tuple[str, Shape]]:
        if path.suffix == ".safetensors":
            with _opened(path) as file:
                for name in file.keys():  # noqa: SIM118  # is no mapping
                    yield name, tuple(file.get_slice(name).get_shape())
            return
        self._old[path] = _read_old(path)
        for name, weight in self._old[path].items():
            yield name, tuple(weight.shape)

    def read(self) -> dict[str, Tensor]:
        """Give all of them by name.

        Raises:
            ModelError: one is of a type that PyTorch lacks.
        """
        read: dict[str, Tensor] = {}
        for path in self.files:
            if path in self._old:
                read |= self._old[path]
                continue
            with _opened(path) as file:
                for name in file.keys():  # noqa: SIM118  # is no mapping
                    try:
                        read[name] = file.get_tensor(name)
                    except SafetensorError as error:  # of a type that torch lacks
                        raise ModelError(f"{path}: {name}: cannot be read: {error}") from None
        return read


def _files(folder: Path) -> list[Path]:
    """Choose the files to read: safetensors before others, one before shards."""
    for name in (_SAFE, _OLD):
        index = folder / f"{name}.index.json"
        if (folder / name).is_file():
            return [folder / name]
        if index.is_file():
            return _shards(index)
    raise ModelError(f"{folder}: holds no weights: neither {_SAFE} nor {_OLD}, nor shards of them")


def _shards(index: Path) -> list[Path]:
    listed = read_json(index).get("weight_map")
    if not isinstance(listed, dict) or not listed:
        raise ModelError(f"{index}: weight_map: is no table of weights and files")
    names = {str(name) for name in cast("Mapping[str, object]", listed).values()}
    if len(names) > _MOST_SHARDS:
        raise ModelError(f"{index}: {len(names):,} files are more than any model has")
    suffix = Path(index.name.removesuffix(".index.json")).suffix
    for name in sorted(names):
        plain = Path(name).name == name and "\\" not in name and ":" not in name
        if not plain or not name.endswith(suffix):
            raise ModelError(f"{index}: {name!r} is not the name of a file of weights beside it")
        if not (index.parent / name).is_file():
            raise ModelError(f"{index.parent / name}: no such file, and {index.name} lists it")
    return [index.parent / name for name in sorted(names)]


def _opened(path: Path) -> Any:  # Any: the library's type has no parameters
    try:
        return safe_open(str(path), framework="pt", device="cpu")
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: holds no weights in safetensors: {str(error)[:100]}") from None


def _read_old(path: Path) -> dict[str, Tensor]:
    """Read the tensors that ``torch.save`` wrote, by the reader that can make nothing else."""
    _refuse_packed(path)
    try:
        read: object = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        problem = str(error).split("\n")[0][:150]
        raise ModelError(
            f"{path}: holds more than tensors, and was not run: {problem}; "
            "save it as safetensors where it was made"
        ) from None
    except Exception as error:  # whatever a damaged file makes the reader stumble over
        raise ModelError(f"{path}: cannot be read: {str(error)[:150]}") from None
    if not isinstance(read, dict):
        raise ModelError(f"{path}: holds no table of weights")
    for name, weight in cast("dict[object, object]", read).items():
        if not isinstance(name, str) or not isinstance(weight, Tensor):
            raise ModelError(
                f"{path}: {name!r:.60}: is no weight; save the state of the model alone"
            )
        if not _plain(weight):
            raise ModelError(f"{path}: {name}: is no plain tensor")
    return {name: weight.detach() for name, weight in cast("dict[str, Tensor]", read).items()}


def _refuse_packed(path: Path) -> None:
    """Refuse an archive that would unpack to more than it is: ``torch.save`` compresses nothing."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError):  # an older form, or none
        return
    size = sum(member.file_size for member in members)
    packed = any(member.compress_type != zipfile.ZIP_STORED for member in members)
    if packed or size > path.stat().st_size:
        raise ModelError(f"{path}: is packed, to {size:,} bytes; torch.save writes none like it")


def _plain(weight: Tensor) -> bool:
    """Say whether every number has a place of its own: one repeated may claim any size."""
    if weight.layout != torch.strided or weight.is_quantized or weight.device.type != "cpu":
        return False
    return weight.numel() * weight.element_size() <= weight.untyped_storage().nbytes()


def _deep(value: object) -> int:
    """Say how deeply tables and lists stand in one another."""
    depth, level = 0, [value]
    while level and depth <= _DEEPEST:
        inner: list[object] = []
        for each in level:
            if isinstance(each, dict):
                inner += cast("Json", each).values()
            elif isinstance(each, list):
                inner += cast("list[object]", each)
        depth, level = depth + 1, inner
    return depth
