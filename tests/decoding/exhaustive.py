"""Slow twins of the searches, written from their definitions; they share no code with them."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from dragoman.decoding import BeamSearch
from tests.fakes import Ids, Table

START, END = 0, 1
Found = list[tuple[float, Ids]]


def sequences(vocabulary: int, limit: int) -> Iterator[Ids]:
    """Give every sequence that may end within the limit, without its end."""
    for length in range(limit):
        yield from itertools.product(range(2, vocabulary), repeat=length)


def ranked(
    table: Table,
    vocabulary: int,
    limit: int,
    score: Callable[[list[float], Ids], float | None],
) -> Found:
    """Score every sequence by its log-probabilities, end included; None leaves it out."""
    found: Found = []
    for ids in sequences(vocabulary, limit):
        pieces = (*ids, END)
        chances = [table((START, *pieces[:n]))[piece] for n, piece in enumerate(pieces)]
        if all(chances) and (value := score([math.log(p) for p in chances], ids)) is not None:
            found.append((value, ids))
    return sorted(found, reverse=True)


def beam_by_hand(
    table: Table,
    vocabulary: int,
    limit: int,
    *,
    width: int,
    groups: int = 1,
    diversity: float = 0.0,
    enough: float = math.inf,
) -> Found:
    """Search with G beams of one width in lockstep, to the limit or until enough have ended.

    Where a number is enough, only the best ``width`` candidates of a step can end.

    Gives what has ended by falling log-probability, each once, else what is open at the limit.
    """
    beams: list[Found] = [[(0.0, ())] for _ in range(groups)]
    ended: dict[Ids, float] = {}
    for _ in range(limit):
        chosen: dict[int, int] = {}
        for group, beam in enumerate(beams):
            grown = [
                (total + math.log(p), ids, piece)
                for total, ids in beam
                for piece, p in enumerate(table((START, *ids)))
                if piece != START and p > 0
            ]
            grown.sort(key=lambda g: g[0] - diversity * chosen.get(g[2], 0), reverse=True)
            best = grown[: 1 if width == 1 else 2 * width]
            may_end = best if enough == math.inf else best[:width]
            ended |= {ids: total for total, ids, piece in may_end if piece == END}
            beams[group] = [(t, (*ids, piece)) for t, ids, piece in best if piece != END][:width]
            for _, ids in beams[group]:
                chosen[ids[-1]] = chosen.get(ids[-1], 0) + 1
        if len(ended) >= enough:
            break
    open_still = {ids: total for beam in beams for total, ids in beam}
    return sorted(((total, ids) for ids, total in (ended or open_still).items()), reverse=True)


def allowed(ids: Ids, config: BeamSearch, prefix: Ids = (), phrases: Sequence[Ids] = ()) -> bool:
    """Whether a translation may come at all; its forced prefix may be what it likes."""
    if ids[: len(prefix)] != prefix or len(ids) + 1 < config.min_length:
        return False
    free = ids[len(prefix) :]
    if any(free[k : k + len(p)] == p for p in phrases for k in range(len(free))):
        return False
    n = config.no_repeat_ngram
    for end in range(max(len(prefix), n - 1), len(ids)) if n else ():
        if ids[end - n + 1 : end + 1] in {ids[k : k + n] for k in range(end - n + 1)}:
            return False
    return True


def defined_score(
    ids: Ids,
    config: BeamSearch,
    log_probs: Callable[[Ids], Sequence[float]],
    looks: Callable[[Ids], Sequence[float]],
    prefix: Ids = (),
) -> float:
    """Add up the terms of a score as they are defined, from what follows what was written so far.

    Args:
        ids: a translation that ends.
        config: of the search.
        log_probs: of every piece that may come next.
        looks: attention to every source position while the next piece is written.
        prefix: was forced, so that repetitions in it count once.
    """
    pieces = (*ids, END)
    again = [n >= len(prefix) and piece in ids[:n] for n, piece in enumerate(pieces)]
    total = sum(
        float(log_probs(ids[:n])[piece]) * (config.repetition_penalty if again[n] else 1)
        for n, piece in enumerate(pieces)
    )
    covered = [
        sum(each) for each in zip(*(looks(ids[:n]) for n in range(len(pieces))), strict=True)
    ]
    term = sum(math.log(min(1.0, each)) for each in covered)
    length = len(pieces)
    base = {"paper": (5 + length) / 6, "average": length, "none": 1}[config.length_penalty]
    return total / base**config.alpha + config.word_reward * length + config.coverage * term
