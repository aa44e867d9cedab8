"""Beam search with length penalty (section 6.1).

    score(y) = log P(y | x) / ((5 + |y|) / 6)^alpha

|y| counts the end symbol. Every step extends the open hypotheses of a sentence by their best
pieces. Those that end wait in a list; the best others stay open. A sentence is done when no open
hypothesis can still beat the ended ones. Only the few best pieces of each row leave the model's
device; what is then decided, about some hundred numbers, is decided on the CPU in float64.

Shapes: S sentences still searched, W open hypotheses of each, R = S·W rows, C candidates of a
sentence, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from dragoman.configfile import record
from dragoman.decoding.best_pieces import best_pieces
from dragoman.decoding.candidates import Candidates, Leaf, Past, length_penalty
from dragoman.decoding.hypothesis import Hypothesis, Symbols, items
from dragoman.decoding.session import Session
from dragoman.errors import ConfigError, Mistake, ModelError


@record
class BeamSearch:
    """The ``[decoding]`` table of a recipe; the defaults are those of section 6.1.

    Args:
        beam: hypotheses kept open; 1 is greedy.
        alpha: strength of the length penalty, -10 to 10; 0 compares plain log-probabilities, more
            favours longer translations, a negative number shorter ones.
        n_best: translations returned of each sentence, at most ``beam``.
        max_length: most pieces generated, the end symbol included; unset, 50 more than the source.
    """

    beam: int = 4
    alpha: float = 0.6
    n_best: int = 1
    max_length: int | None = None

    def __post_init__(self) -> None:
        """Check what makes no search."""
        mistakes = [
            Mistake(name, f"{value} is less than 1")
            for name in ("beam", "n_best", "max_length")
            if (value := getattr(self, name)) is not None and value < 1
        ]
        mistakes += [
            Mistake(name, f"{value} is more than {most}")
            for name, most in (("beam", 10_000), ("max_length", 1_000_000))
            if (value := getattr(self, name)) is not None and value > most
        ]
        if not -10 <= self.alpha <= 10:  # far beyond use; the penalty of long outputs overflows
            mistakes.append(Mistake("alpha", f"{self.alpha} is not between -10 and 10"))
        if not mistakes and self.n_best > self.beam:
            hint = f"set beam to {self.n_best} or more"
            mistakes.append(Mistake("n_best", f"{self.n_best} is more than beam {self.beam}", hint))
        if mistakes:
            raise ConfigError.together(mistakes)

    def limit(self, source_length: int) -> int:
        """Say how many pieces a translation may have, the end symbol included."""
        return source_length + 50 if self.max_length is None else self.max_length


@dataclass(frozen=True, slots=True)
class PrefixTooLong:
    """Why a sentence has no translation: its forced prefix leaves no room for an end symbol."""

    pieces: int
    limit: int

    def __str__(self) -> str:
        return (
            f"the prefix has {self.pieces} pieces and needs one more for the end symbol, but the "
            f"limit is {self.limit}; shorten the prefix or raise max_length"
        )


def prefix_too_long(prefix: Sequence[int], limit: int) -> PrefixTooLong | None:
    """Say whether a forced prefix fits a limit that counts it and the end symbol."""
    return PrefixTooLong(len(prefix), limit) if len(prefix) > limit - 1 else None


@torch.inference_mode()
def search(
    session: Session,
    config: BeamSearch,
    symbols: Symbols,
    limits: Sequence[int],
    *,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """Find the best translations of the sentences in a session.

    What is found for a sentence does not depend on the others; its best one not on ``n_best``. Of
    equal candidates the one from the better hypothesis comes first, then the one with the lower id.

    Args:
        session: new; is used up.
        config: how to search; its ``max_length`` has gone into ``limits``.
        symbols: ids treated apart.
        limits: most pieces generated for each sentence, prefix and end symbol included.
        prefixes: ids that every hypothesis of a sentence begins with, which count in its score;
            they may be empty and differ in length.

    Returns:
        For each sentence at most ``n_best`` hypotheses by falling score. Truncated ones only where
        none ended within the limit; none where ``prefix_too_long`` says why, and none where
        everything has probability 0.

    Raises:
        ValueError: the limits or prefixes are not as many as the sentences, a limit is less than
            1, a prefix holds the end symbol or an id outside the vocabulary.
        ModelError: the model gives log-probabilities that are not numbers.
    """
    sentences = _sentences(session.sentences, limits, prefixes, symbols.end)
    found: list[list[Hypothesis]] = [[] for _ in sentences]
    banned = torch.tensor(symbols.banned, dtype=torch.int64, device=session.device)
    hopeless = [s.number for s in sentences if prefix_too_long(s.prefix, s.limit)]
    opened = Candidates.start(len(sentences), symbols.start)
    session, sentences, opened = _drop(session, sentences, opened, hopeless, fed=len(sentences))
    history: list[Past] = []  # what was open after each step
    while sentences:
        step = len(history) + 1
        ids = opened.pieces.flatten().to(session.device)
        log_probs, session = session.step(ids)
        forced = [s.prefix[step - 1] if step <= len(s.prefix) else None for s in sentences]
        chosen = _extend(log_probs, opened.totals, forced, banned, config.beam)
        opened, ended = _part(chosen, symbols.end, config.beam)
        for s, c in ended:
            sentences[s].add(chosen.leaf(s, c, step, config.alpha), config.n_best)
        done = _done(sentences, opened, step, config)
        for s in done:
            leaves = sentences[s].ended or _cut_off(opened, s, step, config)
            found[sentences[s].number] = [_trace(history, leaf) for leaf in leaves]
        session, sentences, opened = _drop(session, sentences, opened, done, fed=ids.numel())
        history.append(opened.past())
    return found


@dataclass(slots=True)
class _Sentence:
    """What a search knows of one sentence besides its open hypotheses."""

    number: int
    limit: int
    prefix: tuple[int, ...]
    ended: list[Leaf] = field(default_factory=list[Leaf])  # best first

    def add(self, leaf: Leaf, n_best: int) -> None:
        self.ended.append(leaf)
        self.ended.sort(key=lambda leaf: -leaf.score)  # stable: of equals the earlier stays first
        del self.ended[n_best:]


def _sentences(
    count: int, limits: Sequence[int], prefixes: Sequence[Sequence[int]] | None, end: int
) -> list[_Sentence]:
    prefixes = [()] * count if prefixes is None else prefixes
    if not count == len(limits) == len(prefixes):
        raise ValueError(
            f"{count} sentences need as many limits and prefixes, not {len(limits)} and "
            f"{len(prefixes)}"
        )
    for number, (limit, prefix) in enumerate(zip(limits, prefixes, strict=True)):
        if limit < 1:
            raise ValueError(f"limits: {limit} is less than 1, in sentence {number}")
        if end in prefix or min(prefix, default=0) < 0:
            raise ValueError(
                f"prefixes: {prefix} in sentence {number} holds the end symbol or no id"
            )
    return [
        _Sentence(number, limit, tuple(prefix))
        for number, (limit, prefix) in enumerate(zip(limits, prefixes, strict=True))
    ]


def _extend(
    log_probs: Tensor, totals: Tensor, forced: Sequence[int | None], banned: Tensor, beam: int
) -> Candidates:
    """Find the best continuations of each sentence: 2 x beam, as up to half of them may end.

    Greedy search takes the best one alone, be it the end or not.

    Args:
        log_probs: of the next piece in each row, (R, V); overwritten.
        totals: log-probabilities of the open hypotheses, (S, W); -inf: there is none.
        forced: the piece that must follow in each sentence, if one must.
        banned: ids never chosen unless forced.
        beam: of the search.
    """
    sentences, width = totals.shape
    count = 1 if beam == 1 else 2 * beam
    values, pieces = _best_or_forced(log_probs, forced, banned, count)  # (R, at most C) each
    grown = (totals.reshape(-1, 1) + values).view(sentences, -1)
    totals, order = (x[:, :count] for x in grown.sort(dim=1, descending=True, stable=True))
    if not (totals[:, 0] < math.inf).all():  # NaN comes first
        raise ModelError(
            "the model gives log-probabilities that are not numbers; its weights are damaged, or "
            "its training diverged: try an earlier checkpoint"
        )
    rows = order // values.size(1) + torch.arange(0, values.size(0), width)[:, None]
    values, pieces = (x.reshape(sentences, -1).gather(1, order) for x in (values, pieces))
    return Candidates(rows, pieces, values, totals)


def _best_or_forced(
    log_probs: Tensor, forced: Sequence[int | None], banned: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """Find the best pieces of each row, (R, at most ``count``), or the one that must follow.

    A forced sentence has one live row, its first.
    """
    width = log_probs.size(0) // len(forced)
    must = {s * width: piece for s, piece in enumerate(forced) if piece is not None}
    rows, wanted = list(must), list(must.values())
    if max(wanted, default=0) >= log_probs.size(1):
        raise ValueError(f"prefixes: id {max(wanted)} is outside the vocabulary")
    known = log_probs[rows, wanted].cpu() if must else None  # before any is banned
    values, pieces = best_pieces(log_probs.index_fill_(1, banned, -math.inf), count)
    values = values.double()
    if known is not None:
        values[rows] = -math.inf
        values[rows, 0], pieces[rows, 0] = known.double(), torch.tensor(wanted)
    return values, pieces


def _part(chosen: Candidates, end: int, beam: int) -> tuple[Candidates, list[tuple[int, int]]]:
    """Tell apart what stays open, ``beam`` of each sentence, and what has ended, as (s, c)."""
    ended = (chosen.pieces == end) & (chosen.totals > -math.inf)
    if not ended.any():
        return chosen.first(beam), []
    totals = chosen.totals.masked_fill(ended, -math.inf)
    order = totals.argsort(dim=1, descending=True, stable=True)[:, :beam]
    s, c = ended.nonzero(as_tuple=True)
    return replace(chosen, totals=totals).take(order), list(zip(items(s), items(c), strict=True))


def _done(
    sentences: Sequence[_Sentence], opened: Candidates, step: int, config: BeamSearch
) -> list[int]:
    """Say which sentences cannot get better.

    A log-probability can only fall. So the best open hypothesis of a sentence will at most reach
    its present one over the penalty of the length that favours it most: the longest or, when alpha
    is negative, the next.
    """
    done: list[int] = []
    for s, (sentence, best) in enumerate(zip(sentences, items(opened.totals[:, 0]), strict=True)):
        length = sentence.limit if config.alpha >= 0 else step + 1
        full = len(sentence.ended) == config.n_best
        to_beat = sentence.ended[-1].score if full else -math.inf
        if step >= sentence.limit or best / length_penalty(length, config.alpha) <= to_beat:
            done.append(s)
    return done


def _cut_off(opened: Candidates, s: int, step: int, config: BeamSearch) -> list[Leaf]:
    """Take what is open at the limit."""
    alive = int((opened.totals[s] > -math.inf).sum())  # the first ones
    best = range(min(alive, config.n_best))
    return [opened.leaf(s, c, step, config.alpha, truncated=True) for c in best]


def _trace(history: Sequence[Past], leaf: Leaf) -> Hypothesis:
    """Collect the pieces of a hypothesis, last to first."""
    pieces, log_probs, row = [leaf.piece], [leaf.log_prob], leaf.row
    for past in reversed(history[: leaf.step - 1]):
        pieces.append(past.pieces[row])
        log_probs.append(past.log_probs[row])
        row = past.rows[row]
    ids = tuple(reversed(pieces if leaf.truncated else pieces[1:]))
    return Hypothesis(ids, tuple(reversed(log_probs)), leaf.score, leaf.truncated)


def _drop(
    session: Session,
    sentences: list[_Sentence],
    opened: Candidates,
    done: Sequence[int],
    *,
    fed: int,
) -> tuple[Session, list[_Sentence], Candidates]:
    """Drop sentences, and of the others what is open nowhere.

    ``opened`` continues the ``fed`` rows of the session; nothing is moved when it continues each of
    them once and in order.
    """
    if len(done) == len(sentences):
        return session, [], opened
    kept = None
    if done:
        left = sorted(set(range(len(sentences))).difference(done))
        sentences, kept = [sentences[s] for s in left], torch.tensor(left)
        opened, kept = opened.keep(kept), kept.to(session.device)
    opened = opened.first(int((opened.totals > -math.inf).any(dim=0).sum()))
    rows = opened.rows.flatten()
    if not torch.equal(rows, torch.arange(fed)):
        session = session.select(rows.to(session.device), kept)
    return session, sentences, opened
