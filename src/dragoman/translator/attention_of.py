"""Who attends to whom when a translation is written."""

from dragoman.bundle import Bundle
from dragoman.data import pad_rows
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
        ModelError: the model is no Transformer.
    """
    model = bundle.model
    if not isinstance(model, EncoderDecoder):
        kind = bundle.config.architecture
        raise ModelError(f"attention is shown of Transformers, and this model is {kind}")
    frame, padding = bundle.frame, bundle.config.padding
    device = next(model.parameters()).device
    source_ids = frame.source([*tag, *bundle.source_tokenizer.encode(source)])
    target_ids = frame.target_in(bundle.target_tokenizer.encode(target))
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
    )
