"""The tables of pieces in a checkpoint: which of them are one, and what they are of ours."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dragoman.interop.huggingface.names import Row

State = Mapping[str, Tensor]
Tied = Literal["all", "output", "input", "none"]


@dataclass(frozen=True, slots=True)
class Tables:
    """What a family calls its tables.

    Args:
        source: of the pieces of sources.
        target: of the pieces of targets.
        output: of the scores.
    """

    source: str
    target: str
    output: str

    def tied_in(self, state: State) -> Tied:
        """Say which of them are one: those with the same numbers, and those that are left out.

        A table of targets that is missing is that of sources, one of scores that of targets.
        """
        target = state.get(self.target, state.get(self.source))
        inputs = _same(target, state.get(self.source))
        outputs = _same(target, state.get(self.output, target))
        if inputs and outputs:
            return "all"
        return "input" if inputs else "output" if outputs else "none"

    def rows(self, tied: Tied) -> Iterator[Row]:
        """Name the tables that a model has of its own, and the other names of each."""
        source, target = "source_input.embedding.table", "target_input.embedding.table"
        joint = tied in ("all", "input")
        yield Row(source, (self.source,))
        yield Row(source if joint else target, (self.target,), tied=joint)
        match tied:
            case "all":
                yield Row(source, (self.output,), tied=True)
            case "output":
                yield Row(target, (self.output,), tied=True)
            case "input" | "none":
                yield Row("generator.table", (self.output,))


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return one is other or (one.shape == other.shape and torch.equal(one, other))
