"""What becomes of the hypotheses of all sentences after a step, in one pass.

Shapes: S sentences, W open hypotheses of each, C candidates of a row, B beam.
"""

from typing import Any

import numpy as np

from dragoman.decoding.fused.compiling import compiled


@compiled
def reorder(slots: Any, rows: Any, time: Any, out: Any) -> None:
    """Copy rows of a table, as far as it is written."""
    for r in range(rows.size):
        for t in range(time):
            out[r, t] = slots[rows[r], t]


@compiled
def advance(
    values: Any,
    pieces: Any,
    totals: Any,
    most: Any,
    may_end: Any,
    end: Any,
    parents: Any,
    chosen: Any,
    growth: Any,
    grown: Any,
    ended: Any,
    ended_totals: Any,
    ended_growth: Any,
) -> Any:
    """Extend the hypotheses of each sentence by their best pieces.

    Args:
        values: log-probabilities, (S W, C), best first.
        pieces: their ids.
        totals: of the open hypotheses, float64, (S, W); -inf: there is none.
        most: candidates that are looked at in a sentence.
        may_end: how many of them, from the best on, may end; others that would are dropped.
        end: the piece that ends a hypothesis.
        parents: which row each one that stays open continues, (S, B), to be written.
        chosen: its piece, (S, B).
        growth: the log-probability of that, float64, (S, B).
        grown: its total, float64, (S, B); -inf: there is none.
        ended: sentence and row of each one that ends, (at least S most, 2).
        ended_totals: its total.
        ended_growth: the log-probability of the end symbol.

    Returns:
        How many end; -1 where a log-probability is not a number.
    """
    sentences, width = totals.shape
    count, beam = values.shape[1], parents.shape[1]
    best_totals, best_rows = np.empty(most, np.float64), np.empty(most, np.int64)
    best_places = np.empty(most, np.int64)
    over = 0
    for s in range(sentences):
        found = 0
        for w in range(width):
            if totals[s, w] == -np.inf:
                continue
            row = s * width + w
            for c in range(count):
                total = totals[s, w] + np.float64(values[row, c])
                if np.isnan(total):
                    return -1
                if total == -np.inf or (found == most and not total > best_totals[most - 1]):
                    break  # those that follow are no better
                place = min(found, most - 1)
                while place > 0 and total > best_totals[place - 1]:
                    best_totals[place] = best_totals[place - 1]
                    best_rows[place] = best_rows[place - 1]
                    best_places[place] = best_places[place - 1]
                    place -= 1
                best_totals[place], best_rows[place], best_places[place] = total, row, c
                found = min(found + 1, most)
        opened = 0
        for i in range(found):
            row, c = best_rows[i], best_places[i]
            if pieces[row, c] == end:
                if i >= may_end:
                    continue
                ended[over, 0], ended[over, 1] = s, row
                ended_totals[over], ended_growth[over] = best_totals[i], values[row, c]
                over += 1
            elif opened < beam:
                parents[s, opened], chosen[s, opened] = row, pieces[row, c]
                growth[s, opened], grown[s, opened] = values[row, c], best_totals[i]
                opened += 1
        for w in range(opened, beam):
            parents[s, w], chosen[s, w], growth[s, w] = s * width, end, 0.0
            grown[s, w] = -np.inf
    return over
