"""The CTranslate2 format: folders written for that library, and read from it."""

from dragoman.interop.ctranslate2.binary import Binary, Variable, read_binary
from dragoman.interop.ctranslate2.client import (
    CTranslate2Reader,
    CTranslate2Side,
    open_ctranslate2,
)
from dragoman.interop.ctranslate2.importing import import_ctranslate2
from dragoman.interop.ctranslate2.limits import beyond_ctranslate2
from dragoman.interop.ctranslate2.writing import (
    CTRANSLATE2_FOLDER,
    Quantization,
    read_ctranslate2,
    weights_digest,
    write_ctranslate2,
)

__all__ = [
    "CTRANSLATE2_FOLDER",
    "Binary",
    "CTranslate2Reader",
    "CTranslate2Side",
    "Quantization",
    "Variable",
    "beyond_ctranslate2",
    "import_ctranslate2",
    "open_ctranslate2",
    "read_binary",
    "read_ctranslate2",
    "weights_digest",
    "write_ctranslate2",
]
