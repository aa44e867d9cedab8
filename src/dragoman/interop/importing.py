"""Read a model in another format, once its own program has shown that ours is the same."""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from dragoman.atomic import new_folder
from dragoman.bundle import Bundle, load_bundle, model_weights, save_bundle
from dragoman.errors import ConfigError, ModelError
from dragoman.interop.argos import certify_argos, is_package, read_argos
from dragoman.interop.certificate import Certificate, certify, certify_reader
from dragoman.interop.checkpoints import Asked, open_checkpoint, read_checkpoint
from dragoman.interop.ctranslate2 import import_ctranslate2, open_ctranslate2
from dragoman.interop.exporting import certificate_lines, refuse_occupied, write_proof
from dragoman.interop.huggingface import open_huggingface, read_huggingface

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What some sources do not say of themselves.

    Args:
        kind: what the source is, if looking does not tell: ``huggingface``, ``ctranslate2``,
            ``argos``, ``fairseq``, ``joeynmt``, ``opennmt-py``, ``pytorch-seq2seq``.
        tokenizer: files that say how text is cut: one for both sides, or one for each.
        vocabulary: files that list the pieces, one for both sides, or one for each.
        source_language: what a model of many languages reads.
        target_language: what it writes.
        heads: attention heads.
        norm_order: ``post`` or ``pre``.
    """

    kind: str | None = None
    tokenizer: tuple[Path, ...] = ()
    vocabulary: tuple[Path, ...] = ()
    source_language: str | None = None
    target_language: str | None = None
    heads: int | None = None
    norm_order: str | None = None
