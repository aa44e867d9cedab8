"""Who attends to whom when a translation is written."""

from collections.abc import Sequence

from dragoman.bundle import Bundle
from dragoman.data import pad_rows
from dragoman.decoding import BeamSearch, Engine, decode
from dragoman.errors import ModelError
from dragoman.inspection import AttentionMaps, attention_maps
from dragoman.nn import EncoderDecoder


def attention_of(bundle: Bundle, source: str, target: str, tag: tuple[int, ...]) -> AttentionMaps:
    """Read a pair of texts and note all attention.

    Args:
        bundle: model and tokenizers; of an ensemble the first.
        source: raw text.
        target: raw text.
        tag: ids that lead the source, such as the language of the target.

    Raises:
        ModelError: the model is no Transformer, or forms no weights.
    """
    written = bundle.target_tokenizer.encode(target)
    return _attention(bundle, [*tag, *bundle.source_tokenizer.encode(source)], written, ended=True)


def attention_of_own(
    bundle: Bundle, engine: Engine, source: str, search: BeamSearch, tag: tuple[int, ...]
) -> AttentionMaps:
    """Translate a text and note all attention, piece for piece as it was written.

    Text that is written anew may be cut in another way, so nothing is tokenized twice.

    Args:
        bundle: as for ``attention_of``.
        engine: searches.
        source: raw text, read as one segment.
        search: how to search.
        tag: as for ``attention_of``.

    Raises:
        ModelError: as for ``attention_of``.
        ValueError: the source is longer than the model takes.
    """
    _transformer(bundle)
    ids = [*tag, *bundle.source_tokenizer.encode(source)]
    (found,) = decode(engine, [ids], search, bundle.frame)
    assert isinstance(found, list), "nothing is forced or required"
    best = found[0]
    return _attention(bundle, ids, best.ids, ended=not best.truncated)


def _attention(
    bundle: Bundle, source: Sequence[int], target: Sequence[int], *, ended: bool
) -> AttentionMaps:
    model = _transformer(bundle)
    frame, padding = bundle.frame, bundle.config.padding
    device = next(model.parameters()).device
    source_ids = frame.source(source)
    # Of a translation that was cut off, the last piece was written and never read.
    target_ids = frame.target_in(target if ended else target[:-1])
    written_ids = frame.target_out(target if ended else target[:-1])
    if not ended and target:
        written_ids[-1] = target[-1]
    encoder, decoder, cross = attention_maps(
        model,
        pad_rows([source_ids], padding).to(device),
        pad_rows([target_ids], padding).to(device),
    )
    return AttentionMaps(
        encoder,
        decoder,
        cross,
        tuple(bundle.source_tokenizer.pieces(source_ids)),
        tuple(bundle.target_tokenizer.pieces(target_ids)),
        tuple(bundle.target_tokenizer.pieces(written_ids)),
    )


def _transformer(bundle: Bundle) -> EncoderDecoder:
    model = bundle.model
    if not isinstance(model, EncoderDecoder):
        kind = bundle.config.architecture
        raise ModelError(f"attention is shown of Transformers, and this model is {kind}")
    return model
