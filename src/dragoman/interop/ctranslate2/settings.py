"""What a CTranslate2 folder says beside its weights: ``config.json``, or old variables."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from dragoman.errors import ModelError
from dragoman.interop.ctranslate2.variables import Variables

T = TypeVar("T")
Json = dict[str, Any]  # Any: what JSON holds is known only after looking


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Symbols and numbers that are no weights.

    Args:
        unknown: name of the piece that stands for what has none.
        start: name of the symbol that begins a text.
        end: name of the symbol that ends one.
        target_start: name of the symbol that a target begins with; None leaves it to the user.
        source_start: whether ``start`` is put before every source.
        source_end: whether ``end`` is put behind every source.
        eps: of every norm; None is what the library takes.
        ours: what ``write_ctranslate2`` added; empty when another program wrote the folder.
    """

    unknown: str
    start: str
    end: str
    target_start: str | None
    source_start: bool
    source_end: bool
    eps: float | None
    ours: Json = field(default_factory=dict[str, Any])


def read_settings(folder: Path, version: int, variables: Variables) -> Settings:
    """Read them from where a file of this version has them.

    Raises:
        ModelError: they are missing, damaged, or of the wrong types.
    """
    return _from_variables(variables) if version < 6 else _from_json(folder / "config.json")


def _from_variables(variables: Variables) -> Settings:
    """Read what was in the model file up to version 5; the library has the same defaults."""
    start, end = variables.text("bos_token", "<s>"), variables.text("eos_token", "</s>")
    by_user = variables.number("user_decoder_start_tokens", 0)
    from_start = variables.number("with_target_bos", 1)
    return Settings(
        unknown=variables.text("unk_token", "<unk>"),
        start=start,
        end=end,
        target_start=None if by_user else start if from_start else end,
        source_start=bool(variables.number("with_source_bos", 0)),
        source_end=bool(variables.number("with_source_eos", 0)),
        eps=None,
    )


def _from_json(path: Path) -> Settings:
    table = read_json(path, dict)
    if table.get("quantization_type"):
        raise ModelError(
            f"{path}: quantization_type: weights are packed as AWQ does; "
            "take the model as it was before it was packed"
        )
    eps = _typed(path, table, "layer_norm_epsilon", float, None)
    if eps is not None and not 0 < eps <= 1:
        raise ModelError(f"{path}: layer_norm_epsilon: {eps} is no small number above 0")
    return Settings(
        unknown=_typed(path, table, "unk_token", str, "<unk>"),
        start=_typed(path, table, "bos_token", str, "<s>"),
        end=_typed(path, table, "eos_token", str, "</s>"),
        target_start=_typed(path, table, "decoder_start_token", str, None),
        source_start=_typed(path, table, "add_source_bos", bool, False),
        source_end=_typed(path, table, "add_source_eos", bool, False),
        eps=eps,
        ours=_typed(path, table, "dragoman", dict, {}),
    )


def read_json(path: Path, kind: type[T]) -> Any:
    """Read a JSON file that holds an object or a list.

    Raises:
        ModelError: it is missing, is no JSON, or holds something else.
    """
    try:
        found = json.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file; copy the whole folder") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: is no JSON ({error}); copy it again") from None
    if not isinstance(found, kind):
        raise ModelError(f"{path}: holds no {'table' if kind is dict else 'list'}; copy it again")
    return found


def _typed(path: Path, table: Json, key: str, kind: type[T], default: Any) -> Any:
    """Give the value of a key, whose type is checked; null is the default."""
    value = table.get(key)
    if value is None:
        return default
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is float and whole and abs(value) < 1 << 53:
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, float) and not math.isfinite(value)):
        raise ModelError(f"{path}: {key}: {value!r} is no {kind.__name__}; copy the file again")
    return cast("T", value)
