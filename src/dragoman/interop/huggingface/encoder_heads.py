"""The heads of BERT and ALBERT, which differ in the names of their parts."""

from collections.abc import Iterator

from dragoman.interop.huggingface.names import Row, linear, norm
from dragoman.models import ModelConfig


def encoder_head(
    config: ModelConfig, *, prefix: str, stack: str, pooler: str, predictions: str, transform: str
) -> Iterator[Row]:
    """Say which weights of a head are which.

    Args:
        config: says which head there is.
        prefix: of the stack, as the class has it that is read or written.
        stack: its prefix beside a head that chooses classes.
        pooler: the layer before classes.
        predictions: what chooses pieces.
        transform: the layer before that.
    """
    width = config.d_model
    match config.head:
        case "pieces":
            yield from _pieces(config, predictions, transform)
        case "class":
            yield from linear("head.pooler", f"{stack}{pooler}")
            yield from linear("head.output", "classifier")
        case "tags":
            yield from linear("head.output", "classifier")
        case "pooled":
            yield from linear("head.pooler", f"{prefix}{pooler}")
        case "none":  # the bare class always has one; what nobody reads may be zeros
            yield Row("head.pooler.weight", (f"{pooler}.weight",), absent=(width, width))
            yield Row("head.pooler.bias", (f"{pooler}.bias",), absent=(width,))


def _pieces(config: ModelConfig, predictions: str, transform: str) -> Iterator[Row]:
    yield from linear("head.layer", f"{transform}.dense")
    yield from norm("head.norm", f"{transform}.LayerNorm")
    assert config.vocabulary is not None
    bias, decoder = (f"{predictions}.bias",), f"{predictions}.decoder"
    yield Row("head.generator.bias", bias, absent=(config.vocabulary,))
    yield Row("head.generator.bias", (f"{decoder}.bias",), absent=(config.vocabulary,), tied=True)
    yield Row("input.embedding.table", (f"{decoder}.weight",), tied=True)
