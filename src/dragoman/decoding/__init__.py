"""Search; sees ids and log-probabilities, never text or files."""

from dragoman.decoding.beam import (
    BeamSearch,
    Hypothesis,
    PrefixTooLong,
    Symbols,
    length_penalty,
    prefix_too_long,
    search,
)
from dragoman.decoding.engine import ModelSession, decode
from dragoman.decoding.session import Session

__all__ = [
    "BeamSearch",
    "Hypothesis",
    "ModelSession",
    "PrefixTooLong",
    "Session",
    "Symbols",
    "decode",
    "length_penalty",
    "prefix_too_long",
    "search",
]
