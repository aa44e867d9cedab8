"""What happens in a comparison, beside what happens in each training."""

from dataclasses import dataclass
from pathlib import Path

from dragoman.run.comparison.measured import Measured
from dragoman.run.comparison.table import Compared
from dragoman.training import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantStarted:
    """A variant is about to be trained, or to go on."""

    name: str
    seed: int
    number: int  # of the run, from 1
    runs: int  # in the comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantDone:
    """A variant is trained and measured."""

    name: str
    seed: int
    measured: Measured
    earlier: bool  # it was finished before


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonDone:
    """All variants are measured, and the folder holds table, numbers and picture."""

    folder: Path
    compared: Compared


CompareEvent = Event | VariantStarted | VariantDone | ComparisonDone
