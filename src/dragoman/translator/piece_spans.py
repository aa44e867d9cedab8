"""Which characters of a text each piece stands for, however a search has cut it."""

import codecs
from collections.abc import Sequence
from itertools import pairwise

from dragoman.tokenization import Tokenizer

Span = tuple[int, int]


def piece_spans(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, list[Span | None]]:
    """Decode ids, and say which characters of the text each of them stands for: first, one past.

    Pieces that share a character, as its bytes do, name it each. A search may cut words otherwise
    than ``Tokenizer.encode`` does; for ids that it gives, these are ``Tokenizer.spans``.

    Args:
        tokenizer: of the ids.
        ids: control symbols and what leaves no trace in the text have no span.

    Raises:
        ValueError: an id is outside the vocabulary.
    """
    text = tokenizer.decode(ids)
    spelled = _by_bytes(tokenizer, ids, text)
    return text, _by_prefixes(tokenizer, ids, text) if spelled is None else spelled


def _by_bytes(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> list[Span | None] | None:
    """Add up what the pieces spell; None where the text is more than their sum."""
    spelled = tokenizer.piece_bytes()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    done, whole = 0, ""
    spans: list[Span | None] = []
    for number in ids:
        whole += decoder.decode(spelled[number])
        end = len(whole) + bool(decoder.getstate()[0])  # a character that is begun counts
        spans.append((done, end) if spelled[number] else None)
        done = len(whole)
    whole += decoder.decode(b"", final=True)
    lead = len(whole) - len(whole.removeprefix(tokenizer.lead))
    if whole[lead:] != text:
        return None
    # A space that was put before the text stands with its first character.
    least = min(1, len(text))
    return [span and (max(0, span[0] - lead), max(least, span[1] - lead)) for span in spans]


def _by_prefixes(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> list[Span | None]:
    """See how far the text comes with each piece more, for vocabularies that do not just add up."""
    ends = [0]
    for count in range(1, len(ids) + 1):
        begun = tokenizer.decode(ids[:count])
        common = next((n for n, (a, b) in enumerate(zip(begun, text, strict=False)) if a != b), -1)
        end = min(len(begun), len(text)) if common < 0 else common
        ends.append(max(end, ends[-1]))
    return [(start, end) if start < end else None for start, end in pairwise(ends)]
