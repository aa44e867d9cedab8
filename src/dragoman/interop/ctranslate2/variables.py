"""The variables of a model file under today's names, as numbers, each to be asked for once.

Older files say the same in other words: names of OpenNMT-tf (revision 1), one flag for both stacks
(up to revision 4), names without the number of the first table. Quantized weights become float32
as the library makes them.
"""

import math
from pathlib import Path

import numpy as np

from dragoman.errors import ModelError
from dragoman.interop.ctranslate2.binary import Binary, Variable
from dragoman.interop.named_weights import Array

_OPENNMT_TF = (  # each replaced once in a name, in this order
    ("transformer/", ""),
    (":0", ""),
    ("w_embs", "embeddings/weight"),
    ("kernel", "weight"),
    ("LayerNorm", "layer_norm"),
    ("dense", "projection"),
    ("conv1d_", "linear_"),
    ("conv1d", "linear_0"),
)
_OLD_SCALE = 1000.0  # of weights in 16 bits that come without one
_NO_WEIGHTS = ("num_source_embeddings", "with_relative_position", "vocabulary_size")


class Variables:
    """Hands out variables by name; knows which nobody has asked for.

    Args:
        path: of the file, for messages.
        binary: what it holds.

    Raises:
        ModelError: two variables have one name today.
    """

    def __init__(self, path: Path, binary: Binary) -> None:
        self.path = path
        rename = _from_opennmt_tf if binary.revision == 1 and _is_old(binary) else _numbered
        self._variables: dict[str, Variable] = {}
        self._meant: dict[str, str] = {}
        for name, variable in binary.variables.items():
            self._add(rename(name), rename(name))
            self._variables[rename(name)] = variable
        for alias, meant in binary.aliases.items():
            self._add(rename(alias), rename(meant))
        self._left = set(self._meant)

    def _add(self, name: str, meant: str) -> None:
        if name in self._meant:
            raise ModelError(f"{self.path}: has two variables {name}; convert the model again")
        self._meant[name] = meant

    def __contains__(self, name: str) -> bool:
        return name in self._meant

    def same(self, one: str, other: str) -> bool:
        """Whether two names are of one variable, or of two with the same items."""
        if self._meant[one] == self._meant[other]:
            return True
        mine, others = self._find(one), self._find(other)
        return mine == others and self._scale(one) == self._scale(other)

    def shape(self, name: str) -> tuple[int, ...]:
        """Give the shape of a variable.

        Raises:
            ModelError: there is none of this name.
        """
        return self._find(name).shape

    def layers(self, stack: str) -> int:
        """Count the layers of an encoder or decoder."""
        count = 0
        while any(name.startswith(f"{stack}/layer_{count}/") for name in self._meant):
            count += 1
        return count

    def any(self, begins: str, holds: str, ends: str) -> bool:
        """Whether a name begins so, holds this and ends so."""
        return any(
            name.startswith(begins) and holds in name and name.endswith(ends)
            for name in self._meant
        )

    def number(self, name: str, default: float) -> float:
        """Read a single number, and take it as asked for.

        Raises:
            ModelError: it is an array, or not finite.
        """
        if name not in self._meant:
            return default
        self._left.discard(name)
        variable = self._find(name)
        value = math.nan if math.prod(variable.shape) != 1 else float(variable.items().reshape(()))
        if not math.isfinite(value):
            raise ModelError(f"{self.path}: {name} is no number; convert the model again")
        return value

    def is_flag(self, name: str) -> bool:
        """Whether a single number is kept as a flag, in one byte."""
        return name in self._meant and self._find(name).kind == "int8"

    def text(self, name: str, default: str) -> str:
        """Read a string, as files before version 6 keep some.

        Raises:
            ModelError: it is none.
        """
        if name not in self._meant:
            return default
        self._left.discard(name)
        try:
            return self._find(name).data.decode()
        except UnicodeDecodeError:
            raise ModelError(f"{self.path}: {name} is no text; convert the model again") from None

    def weight(self, name: str) -> Array:
        """Give a weight in float32, and take it as asked for.

        Raises:
            ModelError: it is missing, packed, lacks its scale, or holds what is no number.
        """
        variable, meant = self._find(name), self._meant[name]
        self._left -= {name, f"{name}_scale", f"{meant}_scale"}
        items = variable.items()
        if not variable.shape or variable.kind == "int32":
            raise ModelError(
                f"{self.path}: {name} is {variable.kind} {variable.shape}, as AWQ packs weights; "
                "take the model as it was before it was packed"
            )
        if variable.kind in ("int8", "int16"):
            items = self._widened(name, items)
        weight = np.array(items, dtype=np.float32)
        bad = np.isnan(weight) if name.endswith("/bias") else ~np.isfinite(weight)
        if bad.any():  # a bias may forbid a piece
            raise ModelError(f"{self.path}: {name} holds what is no number; copy it again")
        return weight

    def left(self) -> list[str]:
        """List what nobody has asked for; what says nothing about the computation is left out."""
        return sorted(name for name in self._left if name not in _NO_WEIGHTS)

    def _find(self, name: str) -> Variable:
        if name not in self._meant:
            raise ModelError(f"{self.path}: has no {name}; convert the model again")
        return self._variables[self._meant[name]]

    def _scale(self, name: str) -> Variable | None:
        """Find the scale of a weight: beside it, or beside the variable that it is an alias of."""
        for scale in (f"{name}_scale", f"{self._meant[name]}_scale"):
            if scale in self._meant:
                return self._find(scale)
        return None

    def _widened(self, name: str, items: np.ndarray) -> Array:
        """Divide by the scale of each row, or of all, by its inverse as the library does."""
        scale = self._scale(name)
        if scale is None and items.dtype == np.int8:
            raise ModelError(f"{self.path}: has no {name}_scale; convert the model again")
        scales = np.float32(_OLD_SCALE) if scale is None else scale.items().astype(np.float32)
        rows = (scales.size, *[1] * (items.ndim - 1))
        if scales.size not in (1, items.shape[0]):
            raise ModelError(
                f"{self.path}: {name}_scale has {scales.size} numbers for the rows of "
                f"{items.shape}; convert the model again"
            )
        with np.errstate(all="ignore"):  # what comes out is looked at
            return items.astype(np.float32) * (np.float32(1) / scales.reshape(rows))


def _is_old(binary: Binary) -> bool:
    return binary.specification in ("", "TransformerBase", "TransformerBig")


def _numbered(name: str) -> str:
    """Number the first table of an encoder, as files with several do."""
    return name.replace("encoder/embeddings/", "encoder/embeddings_0/", 1)


def _from_opennmt_tf(name: str) -> str:
    """Say in today's words what revision 1 called as OpenNMT-tf did."""
    for old, new in _OPENNMT_TF:
        name = name.replace(old, new, 1)
    if "encoder" in name:
        name = name.replace("multi_head", "self_attention", 1)
    else:
        name = name.replace("masked_multi_head", "self_attention", 1)
        name = name.replace("multi_head", "attention", 1)
    return _numbered(name)
