"""What the CTranslate2 format cannot hold, by name, before anything is written.

Tried with CTranslate2 4.8: what is not refused here computes the same there.
"""

from collections.abc import Iterator

from dragoman.errors import Mistake
from dragoman.models import Alibi, AnyConfig, ModelConfig, Softmax

CHANGE = "translate with engine = torch, or train with another choice"


def beyond_ctranslate2(config: AnyConfig) -> list[Mistake]:
    """List every choice that has no place in the format."""
    if not isinstance(config, ModelConfig):
        problem = f"{config.architecture} is not written as a CTranslate2 model"
        return [Mistake("architecture", problem, "only Transformers are")]
    return [
        *_attention(config),
        *_positions(config),
        *_stacks(config),
        *_frames(config),
        *_heads(config),
    ]


def _attention(config: ModelConfig) -> Iterator[Mistake]:
    if not isinstance(config.attention, Softmax):
        yield _missing("attention", f"{config.attention.kind} attention")
    if config.d_v not in (None, config.head_width):
        yield _missing("d_v", "values of another width than keys")


def _positions(config: ModelConfig) -> Iterator[Mistake]:
    if config.architecture != "decoder-only" and isinstance(config.positions, Alibi):
        yield _missing("positions", "alibi positions in an encoder")


def _stacks(config: ModelConfig) -> Iterator[Mistake]:
    if config.initialization == "deepnorm":
        yield _missing("initialization", "the factor of deepnorm on the residual path")
    if config.embedding_projection == "last":
        yield _missing("embedding_projection", "a width that changes after positions")
    narrow = config.embedding_width not in (None, config.d_model)
    if narrow and config.architecture != "decoder-only":
        yield _missing("embedding_width", "tables of another width than d_model in an encoder")


def _frames(config: ModelConfig) -> Iterator[Mistake]:
    for name in ("source_before", "source_after", "target_before"):
        ids: tuple[int, ...] | None = getattr(config, name)
        if ids is not None and len(ids) > 1:
            yield _missing(name, f"{len(ids)} symbols there")


def _heads(config: ModelConfig) -> Iterator[Mistake]:
    if config.architecture != "encoder-only":
        return
    if config.images is not None:
        yield _missing("images", "pictures")
    if config.segments and config.embedding_scale:
        yield _missing("embedding_scale", "scaled pieces beside segments that are not")
    if config.head not in ("pooled", "none"):
        yield _missing("head", f"what reads an encoder, {config.head}")


def _missing(place: str, what: str) -> Mistake:
    return Mistake(place, f"the CTranslate2 format has no place for {what}", CHANGE)
