"""Search; sees ids and log-probabilities, never text or files."""

from dragoman.decoding.beam import (
    BeamSearch,
    PrefixTooLong,
    prefix_too_long,
    search,
)
from dragoman.decoding.candidates import length_penalty
from dragoman.decoding.continuation import continue_texts
from dragoman.decoding.engine import ModelSession, decode
from dragoman.decoding.hypothesis import Hypothesis, Symbols
from dragoman.decoding.sampling import Sampling, draw_pieces, filter_log_probs, sample
from dragoman.decoding.session import Session
from dragoman.decoding.speculative import (
    Verdict,
    acceptance,
    acceptance_rate,
    emitted,
    expected_tokens,
    residual,
    speculative_step,
)

__all__ = [
    "BeamSearch",
    "Hypothesis",
    "ModelSession",
    "PrefixTooLong",
    "Sampling",
    "Session",
    "Symbols",
    "Verdict",
    "acceptance",
    "acceptance_rate",
    "continue_texts",
    "decode",
    "draw_pieces",
    "emitted",
    "expected_tokens",
    "filter_log_probs",
    "length_penalty",
    "prefix_too_long",
    "residual",
    "sample",
    "search",
    "speculative_step",
]
