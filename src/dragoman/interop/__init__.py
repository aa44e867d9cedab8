"""Other formats; nothing outside this folder knows how they name or lay out weights."""

from dragoman.interop.certificate import Certificate, Layered, Reader, Side, certify, certify_reader
from dragoman.interop.ctranslate2 import (
    CTRANSLATE2_FOLDER,
    Quantization,
    import_ctranslate2,
    open_ctranslate2,
    read_ctranslate2,
    write_ctranslate2,
)
from dragoman.interop.exporting import PROOF, export_bundle, refuse_occupied
from dragoman.interop.formats import FORMATS, ExportOptions
from dragoman.interop.huggingface.marian_model import to_marian
from dragoman.interop.importing import KINDS, ImportOptions, import_model
from dragoman.interop.onnx import beyond_onnx, open_onnx, write_onnx

__all__ = [
    "CTRANSLATE2_FOLDER",
    "FORMATS",
    "KINDS",
    "PROOF",
    "Certificate",
    "ExportOptions",
    "ImportOptions",
    "Layered",
    "Quantization",
    "Reader",
    "Side",
    "beyond_onnx",
    "certify",
    "certify_reader",
    "export_bundle",
    "import_ctranslate2",
    "import_model",
    "open_ctranslate2",
    "open_onnx",
    "read_ctranslate2",
    "refuse_occupied",
    "to_marian",
    "write_ctranslate2",
    "write_onnx",
]
