"""The files of a tokenizer in a folder of Hugging Face's."""

from pathlib import Path

from dragoman.errors import ModelError
from dragoman.models import ModelConfig
from dragoman.tokenization import Tokenizer


def read_vocabulary(folder: Path, config: ModelConfig) -> tuple[Tokenizer, ...]:
    """Read the tokenizers of a folder.

    Raises:
        ModelError: there is none.
    """
    raise ModelError(f"{folder}: tokenizers are not read yet")
