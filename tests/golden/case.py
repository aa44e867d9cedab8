"""What a golden case is, and when computed values agree with it."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.nn import AttentionKernel, blockwise_attention, fused_attention, reference_attention

Raw = Mapping[str, Any]  # Any: a case as JSON holds it
PRECISIONS = {"float64": torch.float64, "float32": torch.float32}
KERNELS: dict[str, AttentionKernel] = {
    "fused": fused_attention,
    "reference": reference_attention,
    "blockwise": partial(blockwise_attention, block=2),  # the cases are short
}
_NUMBERS = {"-inf": -math.inf, "inf": math.inf, "nan": math.nan}


@dataclass(frozen=True)
class Case:
    """One case, to be computed in one precision with one attention kernel.

    Args:
        raw: as the file holds it.
        topic: of its file.
        neighbours: all cases of its file by id, for a case that points at another.
    """

    raw: Raw
    topic: str
    neighbours: Mapping[str, Raw]
    dtype: torch.dtype = torch.float64
    kernel: AttentionKernel = fused_attention

    @property
    def kind(self) -> str:
        return self.raw["kind"]

    @property
    def inputs(self) -> Raw:
        return self.raw["inputs"]

    @property
    def precisions(self) -> list[str]:
        """Name the precisions in which the case means something."""
        named = [name for name in PRECISIONS if name in self.raw["tolerance"]]
        return named or ["float64"]

    @property
    def kernels(self) -> list[str]:
        """Name the attention kernels that must agree; exact cases do not attend."""
        return list(KERNELS) if "float64" in self.raw["tolerance"] else ["fused"]

    def tensor(self, name: str) -> Tensor:
        """Give an input as a tensor in the precision of this run."""
        return self.real(self.inputs[name])

    def ids(self, name: str) -> Tensor:
        """Give an input as integers."""
        return torch.tensor(self.inputs[name], dtype=torch.int64)

    def mask(self, name: str = "visible") -> Tensor | None:
        """Give an input as a boolean mask; None when the case has none."""
        given = self.inputs.get(name)
        return None if given is None else torch.tensor(given, dtype=torch.bool)

    def real(self, numbers: Any) -> Tensor:
        """Turn nested numbers into a tensor in the precision of this run."""
        return torch.tensor(read_numbers(numbers), dtype=self.dtype)

    def reals(self, table: Raw) -> dict[str, Tensor]:
        """Turn a table of nested numbers into tensors."""
        return {name: self.real(numbers) for name, numbers in table.items()}

    def neighbour(self, name: str) -> "Case":
        """Find another case of the same file."""
        return replace(self, raw=self.neighbours[name])


def read_cases(folder: Path) -> list[Case]:
    """Read every case of every JSON file of a folder.

    Raises:
        ValueError: there are none, or a file has another format.
    """
    cases = [case for path in sorted(folder.glob("*.json")) for case in _read_file(path)]
    if not cases:
        raise ValueError(f"{folder}: holds no golden cases (*.json)")
    return cases


def _read_file(path: Path) -> list[Case]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: is not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != 1 or "cases" not in content:
        raise ValueError(f"{path}: is not a file of golden cases in format 1")
    neighbours = {raw["id"]: raw for raw in content["cases"]}
    topic = content.get("topic", path.stem)
    return [Case(raw, topic, neighbours) for raw in content["cases"]]


def read_numbers(value: Any, *, nested: bool = True) -> Any:
    """Read ``"-inf"``, ``"inf"`` and ``"nan"``, which strict JSON lacks."""
    if isinstance(value, list):
        return [read_numbers(item) for item in value] if nested else value
    return _NUMBERS.get(value, value) if isinstance(value, str) else value


def disagreements(
    expected: Any, got: Any, tolerance: Raw, precision: str, *, place: str = ""
) -> Iterator[str]:
    """Say where computed values miss the expected ones, by the rules of the format.

    Args:
        expected: numbers, booleans, strings, nested in lists and tables.
        got: the same as Python values or tensors; it may hold more keys.
        tolerance: of the case.
        precision: in which ``got`` was computed.
        place: key so far, for messages.
    """
    got = got.tolist() if isinstance(got, Tensor) else got
    if not isinstance(got, str):  # "inf" may also be a piece of a word
        expected = read_numbers(expected, nested=False)
    if isinstance(expected, dict):
        for key, value in expected.items():
            inner = f"{place}.{key}" if place else key
            if inner in tolerance.get("float64_only", ()) and precision != "float64":
                continue
            if not isinstance(got, Mapping) or key not in got:
                yield f"{inner}: not computed"
                continue
            yield from disagreements(value, got[key], tolerance, precision, place=inner)
    elif isinstance(expected, list):
        if not isinstance(got, list | tuple) or len(got) != len(expected):
            yield f"{place}: shapes differ: expected {expected}, got {got}"
            return
        for index, (value, other) in enumerate(zip(expected, got, strict=True)):
            inner = f"{place}[{index}]"
            yield from disagreements(value, other, tolerance, precision, place=inner)
    elif not agrees(expected, got, tolerance, precision, field=place):
        yield f"{place}: expected {expected!r}, got {got!r}"


def agrees(expected: Any, got: Any, tolerance: Raw, precision: str, *, field: str = "") -> bool:
    """Compare two single values."""
    got = got.item() if isinstance(got, Tensor) else got
    if isinstance(expected, bool | str) or expected is None:
        return type(got) is type(expected) and got == expected
    if isinstance(got, bool) or not isinstance(got, int | float):
        return False
    if math.isnan(expected) or math.isinf(expected):
        return got == expected or (math.isnan(expected) and math.isnan(got))
    if field in tolerance and field not in PRECISIONS:  # a tolerance for one field
        return abs(got - expected) <= tolerance[field] * max(1, abs(expected))
    if "exact" in tolerance and isinstance(expected, float):  # whose last digits are not exact
        return math.isclose(got, expected, rel_tol=1e-12, abs_tol=1e-12)
    if isinstance(expected, int) and ("exact" in tolerance or "exact_integers" in tolerance):
        return got == expected
    return _is_near(expected, got, tolerance, precision)


def _is_near(expected: float, got: float, tolerance: Raw, precision: str) -> bool:
    gap = abs(got - expected)
    limits = {
        precision: max(1, abs(expected)),
        "relative": abs(expected),
        "absolute": 1.0,
    }
    named = [name for name in limits if name in tolerance]
    if not named:
        raise ValueError(f"no tolerance for {precision} in {dict(tolerance)}")
    return all(gap <= tolerance[name] * limits[name] for name in named)
