"""The file ``model.bin`` of a CTranslate2 folder, read without that library and without trust.

All numbers are little-endian; a string is its length with the zero that ends it (2 bytes), then
its UTF-8 bytes and the zero.

```
binary version (4)
name of the specification (string), its revision (4)                     from version 2 on
number of variables (4), for each:
    name (string), number of dimensions (1), each of them (4)
    width of an item (1), number of items (4)                            up to version 3
    type (1), number of bytes (4)                                        from version 4 on
    the items, row by row
number of aliases (4), for each: name (string), name of a variable (string)   from version 3 on
```
"""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import ModelError
from dragoman.interop.named_weights import Array

Kind = Literal["float32", "int8", "int16", "int32", "float16", "bfloat16"]

NEWEST = 6  # binary version; 4.8 of the library writes it
_KINDS: tuple[Kind, ...] = ("float32", "int8", "int16", "int32", "float16", "bfloat16")  # by number
_WIDTHS = {"float32": 4, "int8": 1, "int16": 2, "int32": 4, "float16": 2, "bfloat16": 2}
_BY_WIDTH: dict[int, Kind] = {4: "float32", 2: "int16", 1: "int8"}  # up to version 3
_DIMENSIONS = 8  # more is no weight of a Transformer
_OTHERS = {  # what else may lie under this name, by its first bytes
    b"\x80": "a pickle, which could run code",
    b"PK": "an archive, as torch.save makes them, with a pickle inside",
    b"GGUF": "a GGUF file",
}


@dataclass(frozen=True, slots=True)
class Variable:
    """One array as it lies in the file.

    Args:
        shape: its dimensions; none for a single number.
        kind: how each item is kept.
        data: the items, row by row, little-endian.
    """

    shape: tuple[int, ...]
    kind: Kind
    data: bytes

    def items(self) -> Array | NDArray[np.integer]:
        """Give the items as kept, half precision in float32; read-only unless widened."""
        if self.kind == "bfloat16":
            halves = np.frombuffer(self.data, "<u2").astype(np.uint32)
            return (halves << 16).view(np.float32).reshape(self.shape)
        letter = {"float32": "<f4", "float16": "<f2", "int8": "<i1", "int16": "<i2"}
        found = np.frombuffer(self.data, letter.get(self.kind, "<i4")).reshape(self.shape)
        return found.astype(np.float32) if self.kind == "float16" else found


@dataclass(frozen=True, slots=True)
class Binary:
    """All that the file holds.

    Args:
        version: of the layout of the file.
        specification: what kind of model it is; empty in version 1.
        revision: of the specification.
        variables: by name.
        aliases: other names of variables; each leads to one directly.
    """

    version: int
    specification: str
    revision: int
    variables: dict[str, Variable]
    aliases: dict[str, str]


def read_binary(path: Path) -> Binary:
    """Read ``model.bin``; every size is held against the file before anything is made for it.

    Raises:
        ModelError: it is missing, no such file, of a later version, cut off, longer than it says,
            or says something twice or in a circle.
    """
    try:
        if not path.is_file():
            raise ModelError(f"{path}: no such file")
        with path.open("rb") as file:
            return _Reader(path, file, path.stat().st_size).read()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None


class _Reader:
    """Reads forward, and knows how much of the file is left."""

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self.path, self.file, self.left = path, file, size

    def read(self) -> Binary:
        version = self._version()
        name, revision = (self._string("its name"), self._number(4)) if version > 1 else ("", 1)
        variables: dict[str, Variable] = {}
        for _ in range(self._number(4)):
            variable = self._string("the name of a variable")
            if variable in variables:
                self._refuse(f"has two variables {variable}")
            variables[variable] = self._variable(variable, version)
        aliases: dict[str, str] = {}
        for _ in range(self._number(4) if version >= 3 else 0):
            alias, meant = self._string("an alias"), self._string("an alias")
            if alias in aliases or alias in variables:
                self._refuse(f"has two variables {alias}")
            aliases[alias] = meant
        if self.left:
            self._refuse(f"goes on for {self.left:,} bytes after its end")
        return Binary(version, name, revision, variables, dict(self._resolved(variables, aliases)))

    def _version(self) -> int:
        """Read the first number; tell what else the file may be."""
        head = self._take(4, "its version")
        version = int.from_bytes(head, "little")
        if 1 <= version <= NEWEST:
            return version
        for begins, what in _OTHERS.items():
            if head.startswith(begins):
                self._refuse(f"is {what}, and no CTranslate2 model")
        problem = f"is no CTranslate2 model of the versions 1 to {NEWEST} (it says {version})"
        raise ModelError(f"{self.path}: {problem}; convert the original model again")

    def _variable(self, name: str, version: int) -> Variable:
        dimensions = self._number(1)
        if dimensions > _DIMENSIONS:
            self._refuse(f"{name} has {dimensions} dimensions")
        shape = tuple(self._number(4) for _ in range(dimensions))
        number, count = self._number(1), self._number(4)
        kind = _BY_WIDTH.get(number) if version < 4 else dict(enumerate(_KINDS)).get(number)
        if kind is None:
            self._refuse(f"{name} is of a type that is not known, {number}")
        width = _WIDTHS[kind]
        size = count * width if version < 4 else count
        if size != math.prod(shape) * width:
            self._refuse(f"{name} is {shape} of {kind}, and has {size:,} bytes")
        return Variable(shape, kind, self._take(size, name))

    def _resolved(
        self, variables: dict[str, Variable], aliases: dict[str, str]
    ) -> Iterator[tuple[str, str]]:
        """Follow each alias to its variable."""
        for alias, meant in aliases.items():
            passed = {alias}
            while meant in aliases:
                if meant in passed:
                    self._refuse(f"{alias} is an alias that leads to itself")
                passed.add(meant)
                meant = aliases[meant]
            if meant not in variables:
                self._refuse(f"{alias} is an alias of {meant}, which is not there")
            yield alias, meant

    def _string(self, what: str) -> str:
        length = self._number(2)
        data = self._take(length, what)
        if not length or data[-1] or 0 in data[:-1]:
            self._refuse(f"{what} does not end as it should")
        try:
            return data[:-1].decode()
        except UnicodeDecodeError:
            self._refuse(f"{what} is not UTF-8")

    def _number(self, width: int) -> int:
        data = self._take(width, "a number")
        return int(struct.unpack({1: "<B", 2: "<H", 4: "<I"}[width], data)[0])

    def _take(self, size: int, what: str) -> bytes:
        """Read so many bytes, if the file has them."""
        data = self.file.read(size) if size <= self.left else b""
        if len(data) != size:
            problem = f"is cut off: {what} takes {size:,} bytes, and {self.left:,} are left"
            raise ModelError(f"{self.path}: {problem}; copy it again")
        self.left -= size
        return data

    def _refuse(self, problem: str) -> NoReturn:
        raise ModelError(f"{self.path}: {problem}; copy it again")
