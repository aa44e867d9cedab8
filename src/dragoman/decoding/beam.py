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
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from dragoman.decoding.banks import ByBanks
from dragoman.decoding.candidates import Candidates, Leaf, Past
from dragoman.decoding.constraints import Ban, Guide
from dragoman.decoding.final_score import FinalScore
from dragoman.decoding.growing import Choose, Step, grow
from dragoman.decoding.hypothesis import Hypothesis, Symbols, items
from dragoman.decoding.required import Demand, Needs, required_too_long
from dragoman.decoding.session import NO_COVERAGE, CoveringSession, Session, fed
from dragoman.decoding.settings import BeamSearch, prefix_too_long
from dragoman.decoding.trace import Happened, Observer, Stop
from dragoman.decoding.waiting import Asked, Waiter
from dragoman.errors import ConfigError


@torch.inference_mode()
def search(
    session: Session,
    config: BeamSearch,
    symbols: Symbols,
    limits: Sequence[int],
    *,
    prefixes: Sequence[Sequence[int]] | None = None,
    ban: Ban | None = None,
    observer: Observer | None = None,
    required: Sequence[Demand] | None = None,
    waiter: Waiter[list[Hypothesis]] | None = None,
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
        ban: phrases that come in no hypothesis.
        observer: is told of every step, and why the search of a sentence stopped; not of sentences
            whose prefix is too long.
        required: what every hypothesis of a sentence holds; a prefix may bring it.
        waiter: is given what is found of each sentence at once; one that it no longer wants is
            dropped, and has no hypotheses.

    Returns:
        For each sentence at most ``n_best`` hypotheses by falling score. Truncated ones only where
        none ended within the limit; none where ``prefix_too_long`` or ``required_too_long`` says
        why, and none where everything has probability 0 or may not come.

    Raises:
        ValueError: the limits, prefixes or what is required are not as many as the sentences, a
            limit is less than 1, a prefix holds the end symbol or an id outside the vocabulary.
        ModelError: the model gives log-probabilities that are not numbers.
        ConfigError: a coverage penalty is asked for and the session does not know what was covered.
    """
    sentences = _sentences(session.sentences, limits, prefixes, symbols.end)
    found: list[list[Hypothesis]] = [[] for _ in sentences]
    hopeless, needs = _prospects(sentences, required)
    opened = Candidates.start(len(sentences), symbols.start)
    session, sentences, opened = _drop(session, sentences, opened, hopeless, fed=len(sentences))
    session = fed(session, symbols.before) if sentences else session
    guide = Guide.start(config, symbols, ban, len(sentences), session.device, needs)
    history: list[Past] = []  # what was open after each step
    asked = Asked(waiter)
    while sentences:
        ids = opened.pieces.flatten().to(session.device)
        log_probs, session = session.step(ids)
        place = guide.step - 1
        must = [s.prefix[place] if place < len(s.prefix) else None for s in sentences]
        step = Step.start(log_probs, opened.totals, must, guide)
        opened, ended = grow(step, config, symbols.end, _chooser(guide))
        covered = _covered(session, config)
        rate = _rating(config, guide.step, covered)
        leaves = [(s, chosen.leaf(s, c, guide.step, rate(chosen, s, c))) for s, chosen, c in ended]
        for s, leaf in leaves:
            if config.groups == 1 or sentences[s].is_new(_trace(history, leaf).ids):
                sentences[s].add(leaf, config.n_best)
        if observer is not None:
            numbers, width = [s.number for s in sentences], len(ids) // len(sentences)
            what = Happened(guide.step, numbers, width, must, opened, leaves, covered)
            observer.happened(what)
        done = _done(sentences, opened, guide.step, config, asked)
        for s, stop in done.items():
            cut: list[Leaf] = []
            if stop.reason != "broken-off":
                cut = [] if sentences[s].ended else _cut_off(opened, s, guide, rate)
                found[sentences[s].number] = _best(sentences[s].ended or cut, history, config)
                if waiter is not None:
                    waiter.take(sentences[s].number, found[sentences[s].number])
            if observer is not None:
                observer.stopped(sentences[s].number, stop, cut, found[sentences[s].number])
        session, sentences, opened = _drop(
            session, sentences, opened, done, fed=ids.numel(), narrow=config.groups == 1
        )
        if sentences:
            forced = [len(s.prefix) for s in sentences]
            guide = guide.follow(opened, forced, [s.number for s in sentences])
        history.append(opened.past())
    return found


Rate = Callable[[Candidates, int, int], float]  # the score of candidate c of sentence s


def _covered(session: Session, config: BeamSearch) -> Tensor | None:
    """Give the coverage term of each row after a step of the session, (R,), if it is asked for."""
    if not config.coverage:
        return None
    if not isinstance(session, CoveringSession):
        raise ConfigError("coverage", NO_COVERAGE, "set coverage to 0")
    return session.coverage(config.coverage)


def _rating(config: BeamSearch, step: int, covered: Tensor | None) -> Rate:
    """Say how hypotheses of this length are scored."""
    final = config.final_score

    def rate(chosen: Candidates, s: int, c: int) -> float:
        score = final.of(float(chosen.totals[s, c]), step)
        return score if covered is None else score + float(covered[int(chosen.rows[s, c])])

    return rate


@dataclass(slots=True)
class _Sentence:
    """What a search knows of one sentence besides its open hypotheses."""

    number: int
    limit: int
    prefix: tuple[int, ...]
    ended: list[Leaf] = field(default_factory=list[Leaf])  # best first
    count: int = 0  # of all that have ended
    known: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])  # by several groups

    def is_new(self, ids: tuple[int, ...]) -> bool:
        """Say whether no group has found the same before, and note that one has."""
        new = ids not in self.known
        self.known.add(ids)
        return new

    def add(self, leaf: Leaf, n_best: int) -> None:
        self.count += 1
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


def _prospects(
    sentences: Sequence[_Sentence], required: Sequence[Demand] | None
) -> tuple[list[int], Needs | None]:
    """Say for which sentences there is no room within their limit, and what the others need."""
    if required is not None and len(required) != len(sentences):
        raise ValueError(f"{len(sentences)} sentences, and something required of {len(required)}")
    hopeless = [s.number for s in sentences if prefix_too_long(s.prefix, s.limit)]
    if required is None:
        return hopeless, None
    hopeless += [
        s.number
        for s in sentences
        if s.number not in hopeless and required_too_long(required[s.number], s.prefix, s.limit)
    ]
    left = [s.number for s in sentences if s.number not in hopeless]
    limits, prefixes = [s.limit for s in sentences], [s.prefix for s in sentences]
    return hopeless, Needs.start(required, limits, prefixes, left)


def _chooser(guide: Guide) -> Choose | None:
    return None if guide.needs is None else ByBanks(guide.needs)


def _done(
    sentences: Sequence[_Sentence],
    opened: Candidates,
    step: int,
    config: BeamSearch,
    asked: Asked[list[Hypothesis]],
) -> dict[int, Stop]:
    """Say which sentences cannot get better, have exhausted patience, or are not waited for."""
    bests = opened.totals.amax(dim=1) if opened.totals.size(1) else opened.totals
    done: dict[int, Stop] = {}
    final, gone = config.final_score, asked.gone(sentence.number for sentence in sentences)
    for s, (sentence, best) in enumerate(zip(sentences, items(bests), strict=True)):
        stop = _stop(sentence, best, step, config, final)
        if stop is None and sentence.number in gone:
            stop = Stop("broken-off", step, sentence.count, None)
        if stop is not None:
            done[s] = stop
    return done


def _stop(
    sentence: _Sentence, best: float, step: int, config: BeamSearch, final: FinalScore
) -> Stop | None:
    """Say why a sentence is done, if it is.

    Whatever becomes of an open hypothesis, its score will not exceed the bound of the best one.
    """
    full = len(sentence.ended) == config.n_best
    to_beat = sentence.ended[-1].score if full else None
    if step >= sentence.limit:
        return Stop("limit", step, sentence.count, to_beat)
    if config.enough(sentence.count):
        return Stop("patience", step, sentence.count, to_beat)
    if best == -math.inf:
        return Stop("nothing-open", step, sentence.count, to_beat)
    if to_beat is None:
        return None
    bound = final.bound(best, step + 1, sentence.limit)
    return (
        Stop("nothing-can-win", step, sentence.count, to_beat, bound) if bound <= to_beat else None
    )


def _cut_off(opened: Candidates, s: int, guide: Guide, rate: Rate) -> list[Leaf]:
    """Take what is open at the limit, unless it stops with what may not come."""
    alive = items((opened.totals[s] > -math.inf).nonzero())
    leaves = [
        opened.leaf(s, c, guide.step, rate(opened, s, c), truncated=True)
        for c in alive
        if guide.may_stop(int(opened.rows[s, c]), int(opened.pieces[s, c]))
    ]
    return sorted(leaves, key=lambda leaf: -leaf.score)


def _best(leaves: Sequence[Leaf], history: Sequence[Past], config: BeamSearch) -> list[Hypothesis]:
    """Trace back the best of them, each once."""
    most = config.n_best if config.groups == 1 else None  # several may hold the same
    return _distinct([_trace(history, leaf) for leaf in leaves[:most]])[: config.n_best]


def _distinct(found: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Keep the first of those with the same pieces, which several groups may have found."""
    first: dict[tuple[int, ...], Hypothesis] = {}
    for hypothesis in found:
        first.setdefault(hypothesis.ids, hypothesis)
    return list(first.values())


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
    done: Collection[int],
    *,
    fed: int,
    narrow: bool = True,
) -> tuple[Session, list[_Sentence], Candidates]:
    """Drop sentences, and of the others what is open nowhere.

    ``opened`` continues the ``fed`` rows of the session; nothing is moved when it continues each of
    them once and in order. What is open stands first, unless there are groups, which keep their
    places: then nothing is to be narrowed.
    """
    if len(done) == len(sentences):
        return session, [], opened
    kept = None
    if done:
        left = sorted(set(range(len(sentences))).difference(done))
        sentences, kept = [sentences[s] for s in left], torch.tensor(left)
        opened, kept = opened.keep(kept), kept.to(session.device)
    if narrow:
        opened = opened.first(int((opened.totals > -math.inf).any(dim=0).sum()))
    rows = opened.rows.flatten()
    if not torch.equal(rows, torch.arange(fed)):
        session = session.select(rows.to(session.device), kept)
    return session, sentences, opened
