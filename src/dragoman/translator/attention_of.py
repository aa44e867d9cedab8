"""Who attends to whom when a translation is written."""

from collections.abc import Sequence

from dragoman.bundle import Bundle
from dragoman.data import pad_rows
from dragoman.decoding import (
    BeamSearch,
    CTranslate2Engine,
    Engine,
    Ensemble,
    FusedEngine,
    decode,
)
from dragoman.errors import ModelError
from dragoman.inspection import AttentionMaps, attention_maps
from dragoman.nn import EncoderDecoder
from dragoman.translator.translation import Translation


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


def attention_of_ids(
    bundle: Bundle, source: Sequence[int], written: Sequence[int]
) -> AttentionMaps:
    """Note all attention of what a search read and wrote, piece for piece.

    Args:
        bundle: as for ``attention_of``.
        source: ids, a language tag included, other symbols around them not.
        written: ids, the end symbol included unless the search was cut off.

    Raises:
        ModelError: as for ``attention_of``.
        ValueError: no search reads or writes such ids, or they are more than the model takes.
    """
    check_ids(bundle, source, written)
    ended = written[-1] == bundle.frame.special.end
    return _attention(bundle, source, written[:-1] if ended else written, ended=ended)


def check_ids(bundle: Bundle, source: Sequence[int], written: Sequence[int]) -> None:
    """See that ids are a source and what could be written of it; arguments and errors as above."""
    model, frame, padding = _transformer(bundle), bundle.frame, bundle.config.padding
    if not source:
        raise ValueError("source: no ids, so nothing was read")
    if not written:
        raise ValueError("target: no ids, so nothing was written")
    target = written[:-1]  # the last is not read
    last = written[-1:] if written[-1] != frame.special.end else ()
    never = (padding, frame.special.start, frame.special.end, *frame.target_before)
    _check_pieces("source", source, bundle.source_tokenizer.size, (padding,))
    _check_pieces("target", [*target, *last], bundle.target_tokenizer.size, never)
    for side, count, most in (
        ("source", len(frame.source(source)), model.max_source_length),
        ("target", len(frame.target_in(target)), model.max_target_length),
    ):
        if most is not None and count > most:
            raise ValueError(f"{side}: {count} pieces, the model has {most} positions")


def attention_as_written(
    bundle: Bundle, translation: Translation, number: int = 0
) -> list[AttentionMaps]:
    """Say who attended to whom when a translation was written, piece for piece.

    Whatever steered the search, a glossary or a forced prefix, these are the ids that it read and
    wrote, so nothing is tokenized again.

    Args:
        bundle: of the translator that made it; see ``attention_note`` for its engine.
        translation: whose attention is shown.
        number: which of its hypotheses, from 0.

    Returns:
        Of each part that was translated on its own, in order; none where text was copied.

    Raises:
        ModelError: as for ``attention_of``.
        ValueError: there is no such hypothesis, or the ids are not those of this model.
    """
    if not 0 <= number < len(translation.hypotheses):
        raise ValueError(f"hypothesis {number} of {len(translation.hypotheses)}")
    written = translation.hypotheses[number].written
    pairs = zip(translation.read, written, strict=True)
    return [attention_of_ids(bundle, source, target) for source, target in pairs]


def attention_note(engine: Engine) -> str:
    """Say in what the model whose attention is shown differs from what translates; "" if nothing.

    The weights are formed by the modules of the model, in its own precision. An engine that has
    rounded the same parameters writes by weights that are a little different. In float32 only the
    order of sums is another, and nothing is said of that.
    """
    if isinstance(engine.model, Ensemble):
        count = len(engine.model.models)
        return f"{count} models translate together, and the attention is that of the first alone"
    match engine:
        case FusedEngine():
            name, kind = "fused", engine.packed.packed.kind
        case CTranslate2Engine():
            name, kind = "ctranslate2", engine.loaded.translator.compute_type
        case _:
            return ""
    if kind == "float32":
        return ""
    return (
        f"the engine {name} translates in {kind}; the attention is that of the same parameters "
        "before they were rounded, and may differ a little"
    )


def _check_pieces(side: str, ids: Sequence[int], size: int, never: Sequence[int]) -> None:
    for place, number in enumerate(ids):
        if not 0 <= number < size or number in never:
            raise ValueError(f"{side}: id {number}, at {place}, is no piece of a {side}")


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
