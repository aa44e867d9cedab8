"""Beam search without special wishes, on a packed model: what ``search`` finds, with less to do.

Shapes: S sentences still searched, B beam, R = S·B rows (S before the first step).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dragoman.decoding.fused.selecting import advance
from dragoman.decoding.fused.session import FusedSession
from dragoman.decoding.hypothesis import Hypothesis, Symbols
from dragoman.decoding.settings import BeamSearch
from dragoman.decoding.waiting import Asked, Waiter
from dragoman.errors import ModelError


def is_plain(config: BeamSearch) -> bool:
    """Say whether a search needs nothing but the best pieces of each row."""
    return (
        config.groups == 1
        and not config.coverage
        and not config.no_repeat_ngram
        and config.repetition_penalty == 1
    )


@dataclass(slots=True)
class _Leaf:
    score: float
    step: int  # from 1
    row: int  # of those fed in this step
    piece: int | None  # None: it ended
    growth: float


@dataclass(slots=True)
class _Sentence:
    number: int
    limit: int
    ended: list[_Leaf] = field(default_factory=list[_Leaf])
    count: int = 0

    def add(self, leaf: _Leaf, n_best: int) -> None:
        self.count += 1
        self.ended.append(leaf)
        self.ended.sort(key=lambda leaf: -leaf.score)
        del self.ended[n_best:]


def fused_search(
    session: FusedSession,
    config: BeamSearch,
    symbols: Symbols,
    limits: Sequence[int],
    waiter: Waiter[list[Hypothesis]] | None = None,
) -> list[list[Hypothesis]]:
    """Find the best translations of the sentences in a session; see ``search``.

    Args:
        session: new; is used up.
        config: plain.
        symbols: ids treated apart.
        limits: most pieces generated for each sentence, the end symbol included.
        waiter: as for ``search``.

    Raises:
        ModelError: the model gives log-probabilities that are not numbers.
        ValueError: the limits are not as many as the sentences, or one is less than 1.
    """
    if len(limits) != session.sentences or min(limits, default=1) < 1:
        raise ValueError(f"limits: {session.sentences} sentences need a limit from 1 up each")
    return _Search(session, config, symbols, waiter).run(limits)


class _Search:
    def __init__(
        self,
        session: FusedSession,
        config: BeamSearch,
        symbols: Symbols,
        waiter: Waiter[list[Hypothesis]] | None,
    ) -> None:
        self.session, self.config, self.symbols = session, config, symbols
        self.waiter, self.asked = waiter, Asked(waiter)
        self.final = config.final_score
        self.most = 1 if config.beam == 1 else 2 * config.beam
        self.step = 0
        self.history: list[tuple[Any, Any, Any]] = []  # of rows: parents, pieces, growth

    def run(self, limits: Sequence[int]) -> list[list[Hypothesis]]:
        sentences = [_Sentence(number, limit) for number, limit in enumerate(limits)]
        found: list[list[Hypothesis]] = [[] for _ in sentences]
        ids = np.full(len(sentences), self.symbols.start)
        totals = np.zeros((len(sentences), 1))
        never = np.array(self.symbols.banned, np.int64)
        too_early = np.array((*self.symbols.banned, self.symbols.end), np.int64)
        while sentences:
            self.step += 1
            early = self.step < self.config.min_length
            values, pieces = self.session.best(ids, self.most, too_early if early else never)
            opened = self._advance(values, pieces, totals, sentences)
            done = self._done(sentences, opened[3])
            for s in done:
                sentence = sentences[s]
                leaves = sentence.ended or self._cut_off(opened, s)
                traced = [self._trace(leaf) for leaf in leaves[: self.config.n_best]]
                found[sentence.number] = traced
                if self.waiter is not None:
                    self.waiter.take(sentence.number, traced)
            if gone := self.asked.gone(sentence.number for sentence in sentences):
                done += [
                    s
                    for s, sentence in enumerate(sentences)
                    if s not in done and sentence.number in gone
                ]
            if done:
                kept = np.ones(len(sentences), bool)
                kept[done] = False
                opened = [each[kept] for each in opened]
                sentences = [s for s, stays in zip(sentences, kept.tolist(), strict=True) if stays]
            parents, chosen, growth, totals = opened
            rows, ids = parents.reshape(-1), chosen.reshape(-1)
            self.history.append((rows, ids, growth.reshape(-1)))
            if sentences and (done or self.config.beam > 1):  # or each row goes on as itself
                self.session.keep(rows)
        return found

    def _advance(
        self, values: Any, pieces: Any, totals: Any, sentences: list[_Sentence]
    ) -> list[Any]:
        """Give parents, pieces, growth and totals of what stays open; note what has ended."""
        count, beam = len(sentences), self.config.beam
        opened: list[Any] = [np.empty((count, beam), np.int64) for _ in range(2)]
        opened += [np.empty((count, beam)) for _ in range(2)]
        ended = np.empty((count * self.most, 2), np.int64)
        ended_totals, ended_growth = np.empty(len(ended)), np.empty(len(ended))
        over: int = advance(
            values,
            pieces,
            totals,
            self.most,
            self.most if self.config.patience is None else beam,
            self.symbols.end,
            opened[0],
            opened[1],
            opened[2],
            opened[3],
            ended,
            ended_totals,
            ended_growth,
        )
        if over < 0:
            raise ModelError(
                "the model gives log-probabilities that are not numbers; its weights are damaged, "
                "or its training diverged: try an earlier checkpoint"
            )
        for i in range(over):
            sentence, row = sentences[int(ended[i, 0])], int(ended[i, 1])
            score = self.final.of(float(ended_totals[i]), self.step)
            leaf = _Leaf(score, self.step, row, None, float(ended_growth[i]))
            sentence.add(leaf, self.config.n_best)
        return opened

    def _done(self, sentences: list[_Sentence], totals: Any) -> list[int]:
        """Say which sentences cannot get better, or have exhausted the patience of the search."""
        done: list[int] = []
        for s, (sentence, best) in enumerate(zip(sentences, totals[:, 0].tolist(), strict=True)):
            if (
                best == -math.inf
                or self.step >= sentence.limit
                or (
                    sentence.count
                    and (
                        self.config.enough(sentence.count) or self._cannot_be_beaten(sentence, best)
                    )
                )
            ):
                done.append(s)
        return done

    def _cannot_be_beaten(self, sentence: _Sentence, best: float) -> bool:
        if len(sentence.ended) < self.config.n_best:
            return False
        bound = self.final.bound(best, self.step + 1, sentence.limit)
        return bound <= sentence.ended[-1].score

    def _cut_off(self, opened: list[Any], s: int) -> list[_Leaf]:
        """Take what is open at the limit."""
        leaves = [
            _Leaf(self.final.of(total, self.step), self.step, parent, piece, growth)
            for parent, piece, growth, total in zip(
                *(each[s].tolist() for each in opened), strict=True
            )
            if total > -math.inf
        ]
        return sorted(leaves, key=lambda leaf: -leaf.score)

    def _trace(self, leaf: _Leaf) -> Hypothesis:
        """Collect the pieces of a hypothesis, last to first."""
        ids = [] if leaf.piece is None else [leaf.piece]
        log_probs, row = [leaf.growth], leaf.row
        for parents, pieces, growth in reversed(self.history[: leaf.step - 1]):
            ids.append(int(pieces[row]))
            log_probs.append(float(growth[row]))
            row = int(parents[row])
        truncated = leaf.piece is not None
        return Hypothesis(tuple(reversed(ids)), tuple(reversed(log_probs)), leaf.score, truncated)
