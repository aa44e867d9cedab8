"""Two small models that the SentencePiece library itself learns, and what it says of them."""

import io
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

NAMES = ("unigram", "bpe")
_LINES = (
    "The old man walks along the river and reads a book.",
    "A young woman is talking to the dog by the house.",
    "The dogs are walking and barking in the park.",
    "Many books lie in the old house by the river.",
    "She reads the book and walks the dog along the road.",
    "Old men talk and young men walk, day by day.",
)


@cache
def model_bytes(name: str) -> bytes:
    """Learn a model of a kind; the one of merges spells what it does not know in bytes."""
    library = pytest.importorskip("sentencepiece", reason="needs sentencepiece, which tests have")
    out = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(_LINES * 5),
        model_writer=out,
        model_type=name,
        vocab_size=340 if name == "bpe" else 70,
        user_defined_symbols=["<b>", "</b>"],
        byte_fallback=name == "bpe",
        normalization_rule_name="identity",
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
    )
    return out.getvalue()


@cache
def model_file(name: str) -> Path:
    """Put the model into a file."""
    path = Path(tempfile.mkdtemp(prefix="dragoman-tests-")) / f"{name}.model"
    path.write_bytes(model_bytes(name))
    return path


@cache
def processor(name: str) -> Any:  # Any: the library has no types
    """Open the model with the library."""
    library = pytest.importorskip("sentencepiece", reason="needs sentencepiece, which tests have")
    return library.SentencePieceProcessor(model_proto=model_bytes(name))
