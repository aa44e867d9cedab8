"""The CTranslate2 format: folders written for that library, and read from it."""

from dragoman.interop.ctranslate2.writing import (
    CTRANSLATE2_FOLDER,
    Quantization,
    read_ctranslate2,
    weights_digest,
    write_ctranslate2,
)

__all__ = [
    "CTRANSLATE2_FOLDER",
    "Quantization",
    "read_ctranslate2",
    "weights_digest",
    "write_ctranslate2",
]
