"""Errors a user can mend: each says where, what, and what to do.

DragomanError
├── ConfigError       a recipe, a config file or an option is wrong; carries every mistake found
├── DataError         a corpus or an input cannot be read or used
├── ModelError        a model folder is missing, damaged or does not fit
├── CheckpointError   a run cannot be continued or averaged as asked
├── TrainingError     a run cannot go on: its loss is no number, or a batch does not fit in memory
└── MissingExtraError an optional library is needed and not installed

Misuse of the library from Python raises ``ValueError`` or ``TypeError`` instead.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path


class DragomanError(Exception):
    """Anything the user can mend; the command line prints it and exits with status 2."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One wrong setting: where it stands, what is wrong, what to do."""

    place: str  # dotted key, such as "model.heads"; the file is added by whoever read it
    problem: str
    hint: str = ""
    file: str = ""

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.file, self.place) if part)
        what = f"{where}: {self.problem}" if where else self.problem
        return f"{what}; {self.hint}" if self.hint else what


class ConfigError(DragomanError, ValueError):
    """One or more settings are wrong.

    A record raises it with the bare key (``ConfigError("heads", ...)``); whoever read the file adds
    the table and the file name. It is a ``ValueError`` too, so that records made in Python behave.
    """

    def __init__(self, place: str, problem: str, hint: str = "") -> None:
        self.mistakes: tuple[Mistake, ...] = (Mistake(place, problem, hint),)
        super().__init__(str(self))

    @classmethod
    def together(cls, mistakes: Iterable[Mistake]) -> "ConfigError":
        """Make one error of several mistakes, so that all are reported at once."""
        error = cls("", "")
        error.mistakes = tuple(mistakes)
        error.args = (str(error),)
        return error

    def inside(self, table: str = "", file: str = "") -> "ConfigError":
        """Say in which table and file the mistakes stand."""
        return ConfigError.together(
            replace(
                mistake,
                place=".".join(part for part in (table, mistake.place) if part),
                file=mistake.file or file,
            )
            for mistake in self.mistakes
        )

    def __str__(self) -> str:
        return "\n".join(str(mistake) for mistake in self.mistakes)


class DataError(DragomanError):
    """A corpus or an input is wrong at a place: ``corpus.de: line 4018: not UTF-8; re-save it``."""

    def __init__(
        self, path: str | Path, problem: str, hint: str = "", *, line: int | None = None
    ) -> None:
        self.path, self.line, self.problem, self.hint = str(path), line, problem, hint
        where = f"{path}: line {line}" if line is not None else str(path)
        super().__init__(f"{where}: {problem}; {hint}" if hint else f"{where}: {problem}")


class ModelError(DragomanError):
    """A model folder is missing, damaged, or does not fit what is asked of it."""


class CheckpointError(DragomanError):
    """A run cannot be continued, or checkpoints cannot be averaged, as asked."""


class TrainingError(DragomanError):
    """A run cannot go on as it is: no finite loss, or not enough memory."""


class MissingExtraError(DragomanError):
    """An optional library is missing."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs an extra; install it with: pip install 'dragoman[{extra}]'"
        )
