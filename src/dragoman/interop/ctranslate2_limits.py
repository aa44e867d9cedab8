"""What the CTranslate2 format cannot hold, by name, before anything is written.

Tried with CTranslate2 4.8: what is not refused here gives the same translations there.
"""

from collections.abc import Iterator

from dragoman.errors import Mistake
from dragoman.models import (
    AnyConfig,
    Learned,
    ModelConfig,
    NoPositions,
    Positions,
    Shaw,
    Sinusoidal,
    Softmax,
)

CHANGE = "translate with engine = torch, or train with another choice"


def beyond_ctranslate2(config: AnyConfig) -> list[Mistake]:
    """List every choice that has no place in the format."""
    if not isinstance(config, ModelConfig) or config.architecture != "encoder-decoder":
        problem = f"{config.architecture} is not written as a CTranslate2 translator"
        return [Mistake("architecture", problem, "only encoder-decoder is")]
    return [*_attention(config), *_positions(config), *_stacks(config), *_frames(config)]


def _attention(config: ModelConfig) -> Iterator[Mistake]:
    if not isinstance(config.attention, Softmax):
        yield _missing("attention", f"{config.attention.kind} attention")
    if config.kv_heads not in (None, config.heads):
        yield _missing("kv_heads", "an attention to the source whose heads share keys")
    if config.head_width * config.heads != config.d_model:
        yield _missing("d_k", "a width of heads other than d_model / heads")
    if config.d_v not in (None, config.head_width):
        yield _missing("d_v", "values of another width than keys")


def _positions(config: ModelConfig) -> Iterator[Mistake]:
    for name, positions in (
        ("positions", config.positions),
        ("decoder_positions", config.target_positions),
    ):
        if config.decoder_positions is None and name == "decoder_positions":
            return
        if not _held(positions):
            kind = positions.kind
            if isinstance(positions, Shaw):
                kind += " without values"
            yield _missing(name, f"{kind} positions")


def _held(positions: Positions) -> bool:
    match positions:
        case Sinusoidal() | Learned() | NoPositions():
            return True
        case Shaw(values=values):
            return values
        case _:
            return False


def _stacks(config: ModelConfig) -> Iterator[Mistake]:
    if config.norm_order == "post" and config.has_final_norm:
        yield _missing("final_norm", "a last norm in a post-norm stack")
    if config.initialization == "deepnorm":
        yield _missing("initialization", "the factor of deepnorm on the residual path")
    if config.embedding_width not in (None, config.d_model):
        yield _missing("embedding_width", "tables of another width than d_model")


def _frames(config: ModelConfig) -> Iterator[Mistake]:
    for name in ("source_before", "source_after", "target_before"):
        if getattr(config, name) is not None:
            yield _missing(name, "other symbols around a source or before a target than usual")


def _missing(place: str, what: str) -> Mistake:
    return Mistake(place, f"the CTranslate2 format has no place for {what}", CHANGE)
