"""Search; sees ids and log-probabilities, never text or files."""

from dragoman.decoding.beam import search
from dragoman.decoding.choosing_engine import choose_engine
from dragoman.decoding.constraints import Ban, BannedPhrases
from dragoman.decoding.continuation import continue_texts
from dragoman.decoding.engine import decode
from dragoman.decoding.engines import Engine, FusedEngine, TorchEngine
from dragoman.decoding.final_score import FinalScore, LengthForm, coverage_penalty, length_penalty
from dragoman.decoding.hypothesis import Hypothesis, Symbols
from dragoman.decoding.model_session import ModelSession
from dragoman.decoding.next_pieces import next_pieces, next_pieces_of
from dragoman.decoding.required import (
    NEVER,
    Demand,
    NoRoom,
    RequiredPhrases,
    RequiredTooLong,
    required_too_long,
)
from dragoman.decoding.sampling import Sampling, draw_pieces, filter_log_probs, sample
from dragoman.decoding.session import CoveringSession, Session
from dragoman.decoding.settings import BeamSearch, PrefixTooLong, prefix_too_long
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
    "NEVER",
    "Ban",
    "BannedPhrases",
    "BeamSearch",
    "CoveringSession",
    "Demand",
    "Engine",
    "FinalScore",
    "FusedEngine",
    "Hypothesis",
    "LengthForm",
    "ModelSession",
    "NoRoom",
    "PrefixTooLong",
    "RequiredPhrases",
    "RequiredTooLong",
    "Sampling",
    "Session",
    "Symbols",
    "TorchEngine",
    "Verdict",
    "acceptance",
    "acceptance_rate",
    "choose_engine",
    "continue_texts",
    "coverage_penalty",
    "decode",
    "draw_pieces",
    "emitted",
    "expected_tokens",
    "filter_log_probs",
    "length_penalty",
    "next_pieces",
    "next_pieces_of",
    "prefix_too_long",
    "required_too_long",
    "residual",
    "sample",
    "search",
    "speculative_step",
]
