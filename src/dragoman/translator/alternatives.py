"""What else could stand at a place in a translation, and how it would go on from there.

A translation is cut before the word at the place. The model says how probable each piece is after
what is left of it, and each of the most probable ones is completed by a search with a forced
prefix. Pieces that come to the same word are one alternative, that of the most probable.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch, Engine, Found, NoRoom, Waiter, decode, next_pieces_of
from dragoman.errors import DragomanError
from dragoman.tokenization import Tokenizer
from dragoman.translator.whole_words import is_letter
from dragoman.translator.words import word_spans

_TRIES = 3  # times as many pieces as alternatives are tried, since several may begin one word


@dataclass(frozen=True, slots=True)
class Alternative:
    """What could stand at a place.

    Args:
        word: empty if the translation would end there.
        probability: of its first piece after what stands before, 0 to 1.
        text: the whole translation with it.
        place: where the word begins in ``text``, in characters.
        ids: of the pieces of the whole translation, the end symbol included unless it was cut off.
    """

    word: str
    probability: float
    text: str
    place: int
    ids: tuple[int, ...]


def word_place(text: str, number: int) -> int:
    """Say where a word of a text begins, counted from 1; behind all words if it has fewer.

    Signs are words of their own, and so are the letters of scripts of square signs.
    """
    spans = word_spans(text)
    return spans[number - 1][0] if number <= len(spans) else len(text)


def pieces_before(tokenizer: Tokenizer, text: str, place: int) -> tuple[int, ...]:
    """Give the pieces of a text that stand before the word at a place.

    Args:
        tokenizer: of the text.
        text: in the normal form of the tokenizer.
        place: a character of the word, or of the white space before it; behind all words from the
            last of them on.
    """
    ids, spans = tokenizer.encode(text), tokenizer.spans(text)
    while place < len(text) and text[place].isspace():
        place += 1
    here = next((number for number, (_, end) in enumerate(spans) if end > place), len(ids))
    while 0 < here < len(ids) and not _begins_word(text, *spans[here]):
        here -= 1
    if 0 < here < len(ids) and text[slice(*spans[here - 1])] == " ":
        here -= 1  # a space on its own belongs to the word behind it
    return tuple(ids[:here])


def _begins_word(text: str, start: int, end: int) -> bool:
    """Whether a piece does: with a space, or because no word goes on over its beginning."""
    first = text[start:end][:1]
    return first.isspace() or not (start and is_letter(text[start - 1]) and is_letter(first))


def find_alternatives(
    engine: Engine,
    bundle: Bundle,
    source: Sequence[int],
    beginning: Sequence[int],
    search: BeamSearch,
    count: int,
    wanted: Callable[[], bool] = lambda: True,
) -> list[Alternative]:
    """Find the most probable words after the beginning of a translation.

    Args:
        engine: finds the rest; its model says what may come next.
        bundle: whose tokenizer wrote the ids.
        source: ids, a language tag included.
        beginning: target ids; may be empty.
        search: how the rest is found.
        count: most words, at least 1.
        wanted: whether they are still waited for; asked before every step.

    Returns:
        By falling probability, each word once.

    Raises:
        DragomanError: the beginning is longer than the model or ``search`` allows, or nobody waits
            any more.
        ValueError: the source is longer than the positions of the model.
    """
    tokenizer, frame = bundle.target_tokenizer, bundle.frame
    end = frame.special.end
    pieces = next_pieces_of(engine.model, source, frame, beginning, _TRIES * count)
    found: dict[tuple[int, str], Alternative] = {}
    waiter: Waiter[Found] = Waiter(lambda _: wanted(), lambda _, __: None)
    while pieces and len(found) < count:
        some, pieces = pieces[:count], pieces[count:]
        prefixes = [(*beginning, piece) for piece, _ in some if piece != end]
        sources = [source] * len(prefixes)
        answers = iter(decode(engine, sources, search, frame, prefixes=prefixes, waiter=waiter))
        for piece, log_prob in some:
            ids, written = beginning, (*beginning, end)
            if piece != end:
                answer = next(answers)
                if isinstance(answer, NoRoom):
                    raise DragomanError(str(answer))
                if not answer:
                    continue  # everything that could follow has probability 0
                ids = answer[0].ids
                written = ids if answer[0].truncated else (*ids, end)
            text, before = tokenizer.decode(ids), tokenizer.decode(beginning)
            place, word = _word_at(text, len(before))
            each = Alternative(word, math.exp(log_prob), text, place, written)
            found.setdefault((place, word), each)
    return list(found.values())[:count]


def _word_at(text: str, place: int) -> tuple[int, str]:
    """Give where the word at a place begins and what it is; the end of the text if none is."""
    for start, end in word_spans(text):
        if end > place:
            return start, text[start:end]
    return len(text), ""
