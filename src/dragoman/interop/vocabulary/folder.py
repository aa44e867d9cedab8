"""What a Hugging Face folder says of its vocabulary, beside the pieces."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from dragoman.errors import ModelError
from dragoman.interop.vocabulary.files import read_optional
from dragoman.tokenization import Json

CONFIG, GENERATION = "config.json", "generation_config.json"
TOKENIZER_CONFIG, SPECIAL_MAP = "tokenizer_config.json", "special_tokens_map.json"
TARGET_FOLDER = "target"  # inside a folder of ours, where source and target are cut in two ways
LOSSLESS: Json = {"lossless": True}  # what marks a tokenizer of ours in its file
_ENCODER_DECODERS = frozenset(
    ("t5", "mt5", "umt5", "marian", "bart", "mbart", "m2m_100", "pegasus", "blenderbot")
)


@dataclass(frozen=True, slots=True)
class Folder:
    """The tables of a folder; one that is missing is empty.

    Args:
        path: of the folder.
        config: of the model.
        generation: how it is run.
        tokenizer: settings of the tokenizer.
        special: names of special pieces.
    """

    path: Path
    config: Json
    generation: Json
    tokenizer: Json
    special: Json

    @classmethod
    def read(cls, path: Path) -> "Folder":
        """Read the tables.

        Raises:
            ModelError: one is no JSON object, or cannot be read.
        """
        names = (CONFIG, GENERATION, TOKENIZER_CONFIG, SPECIAL_MAP)
        return cls(path, *(read_optional(path / name) for name in names))

    @property
    def model_type(self) -> str:
        """The family, such as ``marian``."""
        return str(self.config.get("model_type", ""))

    @property
    def tokenizer_class(self) -> str:
        """The class that reads the vocabulary, without ``Fast``; empty when it is not said."""
        named = self.tokenizer.get("tokenizer_class") or self.config.get("tokenizer_class") or ""
        return str(named).removesuffix("Fast")

    @property
    def translates(self) -> bool:
        """Whether the model has an encoder and a decoder."""
        return bool(self.config.get("is_encoder_decoder")) or self.model_type in _ENCODER_DECODERS

    def named(self, role: str) -> list[tuple[str, str]]:
        """Give what files call a special piece: where it stands, and its name.

        Args:
            role: such as ``pad_token``.

        Raises:
            ModelError: a name is no text.
        """
        found: list[tuple[str, str]] = []
        for file, table in ((TOKENIZER_CONFIG, self.tokenizer), (SPECIAL_MAP, self.special)):
            value = table.get(role)
            if isinstance(value, dict):
                value = cast("Json", value).get("content")
            if value is None:
                continue
            if not isinstance(value, str):
                raise ModelError(f"{self.path / file}: {role}: {value!r} is no piece")
            found.append((f"{file}, {role}", value))
        return found

    def additional(self) -> Iterator[str]:
        """Give the names of further special pieces."""
        for table in (self.tokenizer, self.special):
            for key in ("additional_special_tokens", "extra_special_tokens"):
                listed = table.get(key)
                values = cast("Json", listed).values() if isinstance(listed, dict) else listed
                for each in values or ():
                    value = cast("Json", each).get("content") if isinstance(each, dict) else each
                    if isinstance(value, str):
                        yield value

    def stated(self, role: str) -> list[tuple[str, tuple[int, ...]]]:
        """Give the ids that files give a special piece: where they stand, and those allowed.

        Negative ones mean none.

        Args:
            role: such as ``pad_token_id``.

        Raises:
            ModelError: something is no id.
        """
        found: list[tuple[str, tuple[int, ...]]] = []
        for file, table in ((CONFIG, self.config), (GENERATION, self.generation)):
            value = table.get(role)
            if value is None:
                continue
            listed = cast("list[object]", value) if isinstance(value, list) else [value]
            ids = tuple(each for each in listed if isinstance(each, int) and each >= 0)
            if any(not isinstance(each, int) or isinstance(each, bool) for each in listed):
                raise ModelError(f"{self.path / file}: {role}: {value!r} is no id")
            if ids:
                found.append((f"{file}, {role}", ids))
        return found

    def size(self, key: str = "vocab_size") -> int | None:
        """Give the number of ids of the model.

        Raises:
            ModelError: it is no number.
        """
        value = self.config.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise ModelError(f"{self.path / CONFIG}: {key}: {value!r} is no number")
        return value
