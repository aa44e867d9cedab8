"""What a family of models is: how its ``config.json`` reads, and how its weights are named."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from dragoman.configfile import read_record
from dragoman.errors import ConfigError, Mistake
from dragoman.interop.huggingface.names import Row
from dragoman.models import ModelConfig
from dragoman.tokenization import Tokenizer

Json = dict[str, Any]  # Any: what JSON holds is known only after looking
Symbols = dict[str, tuple[int, ...] | None]  # fields of ModelConfig
_LARGEST = 1e30  # no option is larger
CHANGE = "train with another choice, or export to another format"

# Their names of our activations, the first of which is written.
ACTIVATIONS: Mapping[str, tuple[str, ...]] = {
    "relu": ("relu",),
    "gelu": ("gelu",),
    "gelu_tanh": ("gelu_new", "gelu_pytorch_tanh", "gelu_fast"),
    "silu": ("silu", "swish"),
}


@dataclass(frozen=True)
class Languages:
    """The languages asked for at import, of a model that knows many; a pair is then fixed.

    Args:
        source: its name, as the vocabulary has it, or the part before ``_``.
        target: the same.
    """

    source: str | None = None
    target: str | None = None

    def refuse(self, why: str) -> None:
        """See that none is asked for.

        Raises:
            ConfigError: one is.
        """
        for side, named in (("source", self.source), ("target", self.target)):
            if named is not None:
                problem = f"{named[:80]!r} is asked for, and {why}"
                raise ConfigError(f"{side}_language", problem, "leave it out")


@dataclass(frozen=True)
class Family:
    """One family of ``transformers``.

    Args:
        title: what it is called in messages.
        model_type: what its ``config.json`` says.
        architectures: the classes that can be read; the first is taken when none is named.
        read: what ``config.json`` says, as our choices.
        write: our choices as its ``config.json``, ``model_type`` and ``architectures`` included.
        beyond: every choice that it cannot hold.
        rows: which weight is which.
        prefix: before the names of the bare stack where it carries a head; checkpoints made from
            one class and read as another have it or lack it.
        computed: ends of names of what is stored and needs no place, such as masks.
        idle: ends of names of parts that a checkpoint may hold for another class and the class at
            hand does not read, such as the pooled vector beside what fills in pieces.
        when: tells families with the same ``model_type`` apart by what ``config.json`` holds.
        symbols: of an encoder-decoder: what stands around its sources and before its targets.
        generation: of an encoder-decoder: its ``generation_config.json``.
    """

    title: str
    model_type: str
    architectures: tuple[str, ...]
    read: Callable[["Settings"], ModelConfig]
    write: Callable[[ModelConfig, Sequence[Tokenizer]], Json]
    beyond: Callable[[ModelConfig], list[Mistake]]
    rows: Callable[[ModelConfig], list[Row]]
    prefix: str = ""
    computed: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    when: Callable[[Json], bool] = lambda _: True
    symbols: Callable[["Settings", Sequence[Tokenizer], Languages], Symbols] | None = None
    generation: Callable[[ModelConfig, Sequence[Tokenizer]], Json] | None = None


class Settings:
    """A ``config.json`` of theirs; collects what is wrong with it, to tell all at once.

    Args:
        table: what it holds.
        path: its file, for messages.
        architecture: the class that the weights are for.
        weights: names of the weights beside it.
    """

    def __init__(
        self, table: Json, path: Path, architecture: str, weights: AbstractSet[str] = frozenset()
    ) -> None:
        self.table, self.path, self.architecture, self.weights = table, path, architecture, weights
        self._mistakes: list[Mistake] = []
        self._place = ""  # before every key, inside a table

    def whole(self, key: str, default: int | None = None) -> int:
        """Read a whole number from 0 up; without a default it must be there."""
        value = self._get(key, default)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1_000_000_000:
            return value
        self._wrong(key, value, "a whole number")
        return 1

    def real(self, key: str, default: float | None = None) -> float:
        """Read a number; without a default it must be there."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._wrong(key, value, "a number")
        elif abs(value) < _LARGEST:  # neither infinite nor NaN
            return float(value)
        else:
            self._wrong(key, value, f"a number below {_LARGEST:g}")
        return 0.5  # right for whatever it is

    def flag(self, key: str, *, default: bool) -> bool:
        """Read yes or no."""
        value = self._get(key, default)
        if isinstance(value, bool):
            return value
        self._wrong(key, value, "true or false")
        return default

    def text(self, key: str, default: str | None = None) -> str:
        """Read a word; without a default it must be there."""
        value = self._get(key, default)
        if isinstance(value, str):
            return value
        self._wrong(key, value, "a word")
        return ""

    def optional_id(self, key: str) -> int | None:
        """Read the id of a piece that there may not be; the first where there are several."""
        value: object = self.table.get(key)
        if isinstance(value, list):
            value = next(iter(cast("list[object]", value)), None)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
            return value
        self._wrong(key, value, "the id of a piece")
        return None

    def activation(self, key: str, default: str | None = None) -> str:
        """Read the name of an activation, as ours."""
        named = self.text(key, default)
        for ours, theirs in ACTIVATIONS.items():
            if named in theirs:
                return ours
        known = ", ".join(name for names in ACTIVATIONS.values() for name in names)
        self.refuse(key, f"{named!r} is no activation that Dragoman has", f"it has {known}")
        return "relu"

    def only(self, key: str, *allowed: object, default: object = None) -> None:
        """Refuse an option at any other value; one that is missing or null is at its default.

        Args:
            key: name of the option.
            allowed: what Dragoman computes.
            default: what a missing one means.
        """
        value = self._get(key, default)
        if not any(value is each or value == each for each in (default, *allowed)):
            self.refuse(key, f"{str(value)[:80]} is not supported")

    def inside(self, key: str) -> "Settings":
        """Go into a table that stands under a key; what is wrong there is told with the rest."""
        value: object = self.table.get(key)
        table = cast("Json", value) if isinstance(value, dict) else {}
        if not isinstance(value, dict):
            self._wrong(key, value, "a table")
        inner = Settings(table, self.path, self.architecture, self.weights)
        inner._mistakes, inner._place = self._mistakes, f"{self._place}{key}."
        return inner

    def refuse(self, key: str, problem: str, hint: str = "") -> None:
        """Note that an option is wrong."""
        self._mistakes.append(Mistake(self._place + key, problem, hint, str(self.path)))

    def config(self, choices: Json) -> ModelConfig:
        """End reading: make our record of what was read.

        Raises:
            ConfigError: with every mistake noted, or what the record finds impossible.
        """
        if self._mistakes:
            raise ConfigError.together(self._mistakes)
        return read_record(ModelConfig, choices, file=str(self.path))

    def _get(self, key: str, default: object) -> object:
        value = self.table.get(key)
        return default if value is None else value

    def _wrong(self, key: str, value: object, what: str) -> None:
        missing = value is None
        self.refuse(key, "is missing" if missing else f"{str(value)[:80]} is not {what}")


def not_held(title: str, config: ModelConfig, held: Iterable[tuple[str, bool]]) -> list[Mistake]:
    """List the choices that a family has no place for.

    Args:
        title: of the family.
        config: the choices.
        held: name of each field and whether its value can be held.
    """
    found: list[Mistake] = []
    for name, fits in held:
        if not fits:
            value = getattr(config, name)
            value = getattr(value, "kind", value)
            found.append(Mistake(name, f"{title} has no place for {value}", CHANGE))
    return found
