"""Slow twins of the searches, written from their definitions; they share no code with them."""

import itertools
import math
from collections.abc import Callable, Iterator

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
