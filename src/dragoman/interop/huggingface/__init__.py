"""Models of ``transformers``; nothing outside this folder knows how they name their weights."""

from dragoman.interop.huggingface.clients import open_huggingface
from dragoman.interop.huggingface.reading import read_huggingface
from dragoman.interop.huggingface.writing import beyond_huggingface, write_huggingface

__all__ = [
    "beyond_huggingface",
    "open_huggingface",
    "read_huggingface",
    "write_huggingface",
]
