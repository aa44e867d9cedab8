"""TOML tables into frozen records, through pydantic; every mistake located, with a suggestion.

A choice is a class under ``@record``. ``read_record`` turns a plain table into such a record and
reports all mistakes together: unknown keys, wrong types, values out of range, and what a record's
own ``__post_init__`` finds impossible.
"""

import copy
import difflib
import functools
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, cast, dataclass_transform, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from dragoman.errors import ConfigError, Mistake

T = TypeVar("T")
Table = dict[str, Any]  # Any: what TOML and JSON hold is known only after validation


@dataclass_transform(frozen_default=True, kw_only_default=True)
def record(cls: type[T]) -> type[T]:
    """Make ``cls`` a frozen keyword-only dataclass; unknown keys and wrong types are errors."""
    made = dataclass(frozen=True, kw_only=True)(cls)
    made.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)  # type: ignore[attr-defined]  # for pydantic
    return made


def read_toml(path: Path) -> Table:
    """Read a TOML file.

    Raises:
        ConfigError: the file is missing, unreadable, not UTF-8 or not TOML.
    """
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError("", "no such file", similar_file(path)).inside(file=str(path)) from None
    except OSError as error:
        within = path / "recipe.toml"
        hint = f"the recipe in it is {within}" if within.is_file() else ""
        raise ConfigError("", error.strerror or str(error), hint).inside(file=str(path)) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            "",
            f"not UTF-8 (byte 0x{error.object[error.start]:02x} at {error.start})",
            "re-save it as UTF-8",
        ).inside(file=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError("", f"not TOML: {error}").inside(file=str(path)) from None
    except RecursionError:
        raise ConfigError("", "nested too deeply").inside(file=str(path)) from None


def read_record(kind: type[T], table: Mapping[str, Any], *, file: str = "") -> T:
    """Turn a table into a record.

    Args:
        kind: a class made with ``@record``.
        table: what TOML or JSON held.
        file: name for messages.

    Raises:
        ConfigError: with every mistake, each at its dotted place.
    """
    try:
        # Through JSON, so that arrays may become tuples and strings paths while types stay strict.
        return _adapter(kind).validate_json(json.dumps(table, default=str))
    except ValidationError as error:
        details = error.errors(include_url=False)
    found = [mistake for one in details for mistake in _mistakes(kind, one)]
    # What is impossible between values shows only once every value by itself is right.
    rest = _without(table, [one["loc"] for one in details])
    if rest != table:
        try:
            read_record(kind, rest)
        except ConfigError as error:
            found += [mistake for mistake in error.mistakes if mistake.problem != "is missing"]
    raise ConfigError.together(dict.fromkeys(found)).inside(file=file)


@functools.cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    """Make what reads and writes a class; once, as a run writes many records."""
    return TypeAdapter(kind)


def _without(table: Mapping[str, Any], places: Sequence[tuple[int | str, ...]]) -> Table:
    """Copy a table and leave out what stands at some pydantic locations."""
    copied = copy.deepcopy(dict(table))
    for place in filter(None, places):  # a mistake of the whole table has no place in it
        inner: Any = copied
        for part in place[:-1]:
            if isinstance(inner, dict) and part in inner:
                inner = cast("Table", inner)[str(part)]
            elif isinstance(inner, list) and isinstance(part, int):
                inner = cast("list[Any]", inner)[part]
        if isinstance(inner, dict):
            cast("Table", inner).pop(str(place[-1]), None)
    return copied


def write_record(value: object) -> Table:
    """Turn a record back into a table that ``read_record`` accepts; keys at None are left out."""
    table = cast("Table", _adapter(type(value)).dump_python(value, mode="json"))
    return _without_none(table)


def override(table: Table, setting: str) -> None:
    """Apply ``key.path=value`` to a table in place; the value is TOML, or else a plain string.

    Raises:
        ConfigError: the setting has no ``=``, no key, or goes through a value that is no table.
    """
    key, equals, text = setting.partition("=")
    path = key.strip().split(".")
    if not equals or not all(path):
        raise ConfigError(
            "--set", f"{setting!r} is not a setting", "write it as training.steps=100"
        )
    try:
        value: Any = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    for depth, part in enumerate(path[:-1]):
        inner = table.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"--set {key}", f"{'.'.join(path[: depth + 1])} is not a table")
        table = cast("Table", inner)
    table[path[-1]] = value


def suggest(word: str, choices: Sequence[str]) -> str:
    """Propose the choice that was probably meant, or list all when none is near."""
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    return f"choose from {', '.join(choices)}" if choices else ""


def similar_file(path: Path) -> str:
    """Propose the file that was probably meant where ``path`` is missing."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {path.parent}"
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {path.parent / near[0]}?" if near else ""


def to_toml(table: Mapping[str, Any]) -> str:
    """Write tables of plain values as TOML; nested records become inline tables."""
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines = [f"{_toml_key(key)} = {_toml_value(value)}" for key, value in plain.items()]
    for key, value in table.items():
        if isinstance(value, dict):
            lines += ["", f"[{_toml_key(key)}]"]
            inner = cast("Table", value)
            lines += [f"{_toml_key(name)} = {_toml_value(item)}" for name, item in inner.items()]
    return "\n".join(lines).strip() + "\n"


def _toml_key(key: str) -> str:
    bare = key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key)
    return key if bare else _toml_text(key)


def _toml_text(text: str) -> str:
    # JSON escapes what TOML must have escaped, but for one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float() if math.isinf(value) or math.isnan(value):
            return str(value)
        case int() | float():
            return repr(value)
        case str():
            return _toml_text(value)
        case dict():
            inner = cast("Table", value)
            return (
                "{ "
                + ", ".join(f"{_toml_key(k)} = {_toml_value(v)}" for k, v in inner.items())
                + " }"
            )
        case list() | tuple():
            return "[" + ", ".join(_toml_value(item) for item in cast("list[Any]", value)) + "]"
        case _:
            raise TypeError(f"TOML cannot hold {type(value).__name__}")


def _without_none(value: Any) -> Any:
    match value:
        case dict():
            items = cast("Table", value).items()
            return {key: _without_none(item) for key, item in items if item is not None}
        case list():
            return [_without_none(item) for item in cast("list[Any]", value)]
        case _:
            return value


def _mistakes(kind: type, details: ErrorDetails) -> Iterator[Mistake]:
    """Say what pydantic found, at its place, in this project's words."""
    place, owner = _follow(kind, details["loc"])
    key, context = str(details["loc"][-1]) if details["loc"] else "", details.get("ctx", {})
    original = context.get("error")
    if isinstance(original, ConfigError):
        yield from original.inside(place).mistakes
    elif details["type"] == "unexpected_keyword_argument":
        yield Mistake(place, "unknown key", suggest(key, [field.name for field in fields(owner)]))
    elif details["type"].startswith("missing"):
        yield Mistake(place, "is missing")
    elif details["type"] == "literal_error":
        choices = str(context["expected"]).replace(" or ", ", ").replace("'", "").split(", ")
        got = str(details["input"])
        yield Mistake(place, f"{got!r} is not a choice", suggest(got, choices))
    elif details["type"] == "union_tag_invalid":
        choices = str(context["expected_tags"]).replace("'", "").split(", ")
        got, key = str(context["tag"]), str(context["discriminator"]).strip("'")
        yield Mistake(f"{place}.{key}", f"{got!r} is not a choice", suggest(got, choices))
    elif details["type"] == "union_tag_not_found":
        key = str(context["discriminator"]).strip("'")
        yield Mistake(place, f"says no {key}", f'write it as {{ {key} = "...", ... }}')
    else:
        message = details["msg"].removeprefix("Value error, ").removeprefix("Input ")
        message = message.replace("an object", "a table")  # what TOML calls it
        shown = "" if isinstance(details["input"], dict) else f"{details['input']!r} "
        yield Mistake(place, f"{shown}{message}")


def _follow(kind: type, location: tuple[int | str, ...]) -> tuple[str, type]:
    """Follow a pydantic location; give the place as users write it and the innermost record.

    A location names the chosen kind of a union between two keys; a file does not.
    """
    shown: list[str] = []
    owner: type = kind
    options: Sequence[type] = ()  # the records a union offers, until the location names one
    for part in location:
        chosen = [option for option in options if part in _tags_of(option)]
        if chosen:
            owner, options = chosen[0], ()
            continue
        shown.append(str(part + 1) if isinstance(part, int) else part)
        if isinstance(part, str):
            records = _records_of(get_type_hints(owner).get(part))
            owner, options = (records[0], ()) if len(records) == 1 else (owner, records)
    return ".".join(shown), owner


def _tags_of(option: type) -> tuple[object, ...]:
    """List what tells a record apart from the others of its union."""
    hints = get_type_hints(option)
    return get_args(hints.get("kind") or hints.get("architecture"))


def _records_of(hint: Any) -> list[type]:
    """List the records in a type such as ``Files | None`` or ``tuple[Files, ...]``."""
    if isinstance(hint, type) and is_dataclass(hint):
        return [hint]
    return [option for part in get_args(hint) for option in _records_of(part)]
