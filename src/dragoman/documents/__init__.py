"""Documents whose targets are filled in place; knows no model, and writes no file."""

from dragoman.documents.encoded import Change
from dragoman.documents.fill import (
    DOCUMENT_FORMATS,
    DocumentFormat,
    Filled,
    Remark,
    Translate,
    fill_document,
    fill_documents,
)
from dragoman.documents.unit import FillOptions

__all__ = [
    "DOCUMENT_FORMATS",
    "Change",
    "DocumentFormat",
    "FillOptions",
    "Filled",
    "Remark",
    "Translate",
    "fill_document",
    "fill_documents",
]
