"""The two sides of a pair whose attention is asked for: their ids, and where the pieces stand."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.errors import DragomanError
from dragoman.inspection import AttentionMaps
from dragoman.serving.desk import Desk, RefusedError
from dragoman.serving.messages import AttentionRequest, AttentionResponse
from dragoman.serving.served import Served
from dragoman.tokenization import Tokenizer
from dragoman.translator import Span, attention_note, check_ids, language_tag, piece_spans


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a pair.

    Args:
        text: that the spans are about.
        ids: as the model reads or writes them.
        spans: for each id the characters it stands for; None of symbols.
    """

    text: str
    ids: list[int]
    spans: list[Span | None]


@dataclass(frozen=True, slots=True)
class Attended:
    """A pair, ready for the queue of its model."""

    served: Served
    source: _Side
    target: _Side

    @classmethod
    def of(cls, desk: Desk, served: Served, asked: AttentionRequest) -> "Attended":
        """Read a request.

        Raises:
            RefusedError: a side is not said or said twice, too long, or no model reads or writes
                such ids.
        """
        for side, given in (
            ("source", (asked.source, asked.source_ids)),
            ("target", (asked.target, asked.target_ids)),
        ):
            if given.count(None) != 1:
                raise RefusedError(422, f"{side}: give either {side} or {side}_ids")
        if asked.source_ids is not None and asked.target_language is not None:
            problem = "goes with source; source_ids hold that of the language already"
            raise RefusedError(422, f"target_language: {problem}")
        desk.check_pairs([asked.source or ""], [asked.target or ""])
        given = len(asked.source_ids or ()) + len(asked.target_ids or ())
        if given > (most := desk.limits.pair_characters):
            raise RefusedError(413, f"{given:,} ids, attention is shown of {most:,} at most")
        try:
            pair = cls(served, _source(served, asked), _target(served, asked))
            check_ids(served.translator.bundle, pair.source.ids, pair.target.ids)
        except (DragomanError, ValueError) as error:
            raise RefusedError(422, str(error)) from None
        desk.check_attention(served, len(pair.source.ids), len(pair.target.ids) - 1)
        return pair

    def shown(self, maps: AttentionMaps) -> AttentionResponse:
        """Make the answer of the weights."""
        frame = self.served.translator.bundle.frame
        target = [span and [*span] for span in self.target.spans]
        read = target[: len(maps.target_pieces) - frame.target_added]
        before, after = len(frame.source_before), len(frame.source_after)
        source = [span and [*span] for span in self.source.spans]
        return AttentionResponse(
            model=self.served.name,
            note=attention_note(self.served.translator.engine),
            source=self.source.text,
            target=self.target.text,
            source_pieces=list(maps.source_pieces),
            target_pieces=list(maps.target_pieces),
            written_pieces=list(maps.written_pieces),
            source_spans=[*[None] * before, *source, *[None] * after],
            target_spans=[*[None] * frame.target_added, *read],
            written_spans=[*[None] * (frame.target_added - 1), *target],
            encoder=maps.encoder.tolist(),
            decoder=maps.decoder.tolist(),
            cross=maps.cross.tolist(),
        )


def _source(served: Served, asked: AttentionRequest) -> _Side:
    tokenizer = served.translator.bundle.source_tokenizer
    if asked.source is None:
        return _of_ids(tokenizer, asked.source_ids or ())
    tag = language_tag(tokenizer, asked.target_language)
    spans = [*[None] * len(tag), *tokenizer.spans(asked.source)]
    return _Side(asked.source, [*tag, *tokenizer.encode(asked.source)], spans)


def _target(served: Served, asked: AttentionRequest) -> _Side:
    tokenizer, end = served.translator.bundle.target_tokenizer, served.translator.special.end
    if asked.target is None:
        return _of_ids(tokenizer, asked.target_ids or ())
    ids = [*tokenizer.encode(asked.target), end]
    return _Side(asked.target, ids, [*tokenizer.spans(asked.target), None])


def _of_ids(tokenizer: Tokenizer, ids: Sequence[int]) -> _Side:
    text, spans = piece_spans(tokenizer, ids)
    return _Side(text, [*ids], spans)
