"""Search; sees ids and log-probabilities, never text or files."""

from dragoman.decoding.beam import search
from dragoman.decoding.choosing_engine import choose_engine
from dragoman.decoding.constraints import Ban, BannedPhrases
from dragoman.decoding.continuation import continue_texts
from dragoman.decoding.ctranslate2_model import CTranslate2Model, load_ctranslate2
from dragoman.decoding.ctranslate2_search import CTranslate2Engine
from dragoman.decoding.drafted import Speculation, continue_drafted, decode_drafted, reader_of
from dragoman.decoding.drafting import (
    CopyDrafts,
    Drafter,
    Drafts,
    ModelDrafter,
    ModelDrafts,
    Proposal,
)
from dragoman.decoding.drawing import draw_translations
from dragoman.decoding.engine import Found, decode
from dragoman.decoding.engines import Engine, FusedEngine, TorchEngine
from dragoman.decoding.engines_here import engines_here
from dragoman.decoding.ensemble import Ensemble, EnsembleMean, EnsembleSession, mean_log_probs
from dragoman.decoding.final_score import (
    FinalScore,
    LengthForm,
    Terms,
    coverage_penalty,
    length_penalty,
)
from dragoman.decoding.hypothesis import Hypothesis, Symbols
from dragoman.decoding.judging import Drawing, Greedy
from dragoman.decoding.model_session import ModelSession
from dragoman.decoding.next_pieces import next_pieces, next_pieces_of
from dragoman.decoding.reading import ModelReading, Reader, Reading, TorchReader, check_reading
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
from dragoman.decoding.speculation import DraftCounts, Draftwise, Task, write
from dragoman.decoding.speculative import (
    Verdict,
    acceptance,
    acceptance_rate,
    emitted,
    expected_tokens,
    residual,
    speculative_step,
)
from dragoman.decoding.trace import Ended, Happened, Observer, Opened, Stop, Trace, TraceStep
from dragoman.decoding.tracing import Tracer
from dragoman.decoding.waiting import BrokenOff, Waiter

__all__ = [
    "NEVER",
    "Ban",
    "BannedPhrases",
    "BeamSearch",
    "BrokenOff",
    "CTranslate2Engine",
    "CTranslate2Model",
    "CopyDrafts",
    "CoveringSession",
    "Demand",
    "DraftCounts",
    "Drafter",
    "Drafts",
    "Draftwise",
    "Drawing",
    "Ended",
    "Engine",
    "Ensemble",
    "EnsembleMean",
    "EnsembleSession",
    "FinalScore",
    "Found",
    "FusedEngine",
    "Greedy",
    "Happened",
    "Hypothesis",
    "LengthForm",
    "ModelDrafter",
    "ModelDrafts",
    "ModelReading",
    "ModelSession",
    "NoRoom",
    "Observer",
    "Opened",
    "PrefixTooLong",
    "Proposal",
    "Reader",
    "Reading",
    "RequiredPhrases",
    "RequiredTooLong",
    "Sampling",
    "Session",
    "Speculation",
    "Stop",
    "Symbols",
    "Task",
    "Terms",
    "TorchEngine",
    "TorchReader",
    "Trace",
    "TraceStep",
    "Tracer",
    "Verdict",
    "Waiter",
    "acceptance",
    "acceptance_rate",
    "check_reading",
    "choose_engine",
    "continue_drafted",
    "continue_texts",
    "coverage_penalty",
    "decode",
    "decode_drafted",
    "draw_pieces",
    "draw_translations",
    "emitted",
    "engines_here",
    "expected_tokens",
    "filter_log_probs",
    "length_penalty",
    "load_ctranslate2",
    "mean_log_probs",
    "next_pieces",
    "next_pieces_of",
    "prefix_too_long",
    "reader_of",
    "required_too_long",
    "residual",
    "sample",
    "search",
    "speculative_step",
    "write",
]
