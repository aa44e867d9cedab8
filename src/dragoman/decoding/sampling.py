"""Sampling: each piece is drawn from what the model holds likely, one hypothesis a sentence.

    P'(piece) ∝ P(piece)^(1 / temperature), over the pieces that the filters leave

Temperature 0 is greedy. Nucleus sampling is that of Holtzman et al. 2019 (arXiv 1904.09751, section
3.1). Everything is drawn on the CPU in float64, with random numbers of each sentence's own, so that
the device, the batch and the neighbours have no part in the luck of a sentence.

Shapes: S sentences still being drawn, one row each; R rows, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from dragoman.configfile import record
from dragoman.decoding.best_pieces import best_pieces
from dragoman.decoding.hypothesis import Hypothesis, Symbols, items
from dragoman.decoding.session import Session
from dragoman.errors import ConfigError, Mistake, ModelError

CANDIDATES = 256  # looked at first: a nucleus is seldom larger, and ranking all is slow


@record
class Sampling:
    """How pieces are drawn; the defaults draw from the model as it is.

    Args:
        temperature: below 1 favours likely pieces, above 1 unlikely ones; 0 is greedy.
        top_k: most pieces that may be drawn in a step; unset means all.
        top_p: share in (0, 1] of the probability that the nucleus has at least; unset means 1.
        min_p: least probability in [0, 1], as a share of that of the likeliest piece (Nguyen et
            al. 2024, arXiv 2407.01082); unset means 0.
        max_length: most pieces drawn, the end symbol included; unset, 50 more than the source.
        seed: of all sentences; each adds a number of its own.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    max_length: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        """Check that every filter leaves something, and the ranges."""
        mistakes: list[Mistake] = []
        if not 0 <= self.temperature < math.inf:
            problem = f"{self.temperature} is not a number from 0 up"
            mistakes.append(Mistake("temperature", problem, "set 0 for greedy, 1 for the model's"))
        if self.top_k is not None and self.top_k < 1:
            hint = "leave top_k out to allow all"
            mistakes.append(Mistake("top_k", f"{self.top_k} is less than 1", hint))
        if self.top_p is not None and not 0 < self.top_p <= 1:
            problem = f"{self.top_p} is not above 0 and at most 1"
            mistakes.append(Mistake("top_p", problem, "leave top_p out to allow all"))
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            mistakes.append(Mistake("min_p", f"{self.min_p} is not between 0 and 1"))
        if self.max_length is not None and not 1 <= self.max_length <= 1_000_000:
            mistakes.append(
                Mistake("max_length", f"{self.max_length} is not between 1 and 1000000")
            )
        if not 0 <= self.seed < 2**63:
            mistakes.append(Mistake("seed", f"{self.seed} is not between 0 and 2^63 - 1"))
        if mistakes:
            raise ConfigError.together(mistakes)

    def limit(self, source_length: int) -> int:
        """Say how many pieces may be drawn, the end symbol included: as in beam search."""
        return source_length + 50 if self.max_length is None else self.max_length


@torch.inference_mode()
def sample(
    session: Session,
    config: Sampling,
    symbols: Symbols,
    limits: Sequence[int],
    *,
    seeds: Sequence[int],
    first: Sequence[int] | None = None,
) -> list[Hypothesis]:
    """Draw one hypothesis for each sentence in a session.

    What a sentence gets depends on the model, ``config``, its limit and its number in ``seeds``;
    not on its place in the batch or on the others. The log-probabilities are the model's, whatever
    the temperature and the filters; the score is their sum.

    Args:
        session: new, or fed with all but the last piece of a prompt in each row; is used up.
        config: how to draw; its ``max_length`` has gone into ``limits``.
        symbols: ids treated apart.
        limits: most pieces drawn for each sentence, the end symbol included, a prompt not.
        seeds: a number from 0 up for each sentence, such as that of its line; together with
            ``config.seed`` it decides the draws.
        first: what is fed first to each sentence, such as the last piece of its prompt, and not
            returned; unset, the start symbol.

    Raises:
        ValueError: the limits, seeds or first ids are not as many as the sentences, a limit is less
            than 1 or a seed less than 0.
        ModelError: the model gives log-probabilities that are not numbers, or probability 0 to
            every piece that is not banned.
    """
    count = session.sentences
    drawn = _sentences(count, limits, seeds, config.seed)
    pieces = [symbols.start] * count if first is None else list(first)
    if len(pieces) != count:
        raise ValueError(f"{count} sentences need as many first ids, not {len(pieces)}")
    banned = torch.tensor(symbols.banned, dtype=torch.int64)
    opened = list(drawn)
    while opened:
        log_probs, session = session.step(torch.tensor(pieces, device=session.device))
        pieces = _draw_step(log_probs.cpu().double(), opened, config, banned)
        going = [row for row, sentence in enumerate(opened) if not sentence.done(symbols.end)]
        if 0 < len(going) < len(opened):
            rows = torch.tensor(going, device=session.device)
            session = session.select(rows, rows)
        opened, pieces = [opened[row] for row in going], [pieces[row] for row in going]
    return [sentence.hypothesis(symbols.end) for sentence in drawn]


def filter_log_probs(
    log_probs: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> Tensor:
    """Reshape the distribution of the next piece and strike out the unlikely.

    In this order, each over what the one before has left, made to sum to 1 again: the temperature;
    ``top_k``, the k likeliest; ``top_p``, of these the smallest number of likeliest whose
    probability together is at least p; ``min_p``, those with at least this share of the likeliest
    one's probability. Of equal pieces at an edge of the first two, those with the lower ids stay.
    The likeliest piece always stays; with temperature 0 it alone.

    Args:
        log_probs: natural, they need not be normalized, (R, V); -inf stays.
        temperature: from 0 up.
        top_k: at least 1; None or more than V means all.
        top_p: in (0, 1]; None or 1 means all.
        min_p: in [0, 1]; None or 0 means all.

    Returns:
        Normalized log-probabilities, -inf where nothing is left, (R, V), in the dtype of
        ``log_probs``.

    Raises:
        ValueError: a row holds NaN or inf, or nothing but -inf.
    """
    best = log_probs.amax(dim=1, keepdim=True)
    if not best.isfinite().all():
        raise ValueError("log_probs: a row holds NaN or inf, or no piece that is possible")
    kept = (log_probs - best) / (temperature or 1.0)  # best is 0, and remains it
    if temperature == 0:
        top_k = 1
    if top_k is not None:
        kept = _keep(kept, best_pieces(log_probs, top_k)[1])
    if top_p is not None and top_p < 1:
        kept = _keep_nucleus(kept, top_p, min(top_k or CANDIDATES, CANDIDATES))
    if min_p:
        kept = kept.masked_fill(kept < math.log(min_p), -math.inf)
    return kept.log_softmax(dim=1)


def draw_pieces(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """Draw a piece of each row by inverse transform.

    It is the first piece at which the probabilities, added up by id, exceed the uniform number; so
    one with probability 0 never comes.

    Args:
        log_probs: natural, (R, V), with something possible in every row.
        uniform: in [0, 1), (R,).

    Returns:
        Ids, (R,).
    """
    cumulative = log_probs.exp().cumsum(dim=1)
    place = uniform[:, None] * cumulative[:, -1:]  # the sum is 1 but for rounding
    return torch.searchsorted(cumulative, place, right=True)[:, 0]


@dataclass(slots=True)
class _Sentence:
    """What has been drawn for one sentence, the end symbol included."""

    number: int
    limit: int
    luck: np.random.Generator
    pieces: list[int] = field(default_factory=list[int])
    log_probs: list[float] = field(default_factory=list[float])

    def done(self, end: int) -> bool:
        return self.pieces[-1] == end or len(self.pieces) == self.limit

    def hypothesis(self, end: int) -> Hypothesis:
        ended = self.pieces[-1] == end
        ids = tuple(self.pieces[:-1] if ended else self.pieces)
        return Hypothesis(ids, tuple(self.log_probs), math.fsum(self.log_probs), not ended)


def _sentences(
    count: int, limits: Sequence[int], seeds: Sequence[int], seed: int
) -> list[_Sentence]:
    """Give every sentence a generator of its own, the same wherever it stands."""
    if not count == len(limits) == len(seeds):
        raise ValueError(
            f"{count} sentences need as many limits and seeds, not {len(limits)} and {len(seeds)}"
        )
    for name, values, least in (("limits", limits, 1), ("seeds", seeds, 0)):
        for number, value in enumerate(values):
            if value < least:
                raise ValueError(f"{name}: {value} is less than {least}, in sentence {number}")
    luck = [np.random.SeedSequence(seed, spawn_key=(number,)) for number in seeds]
    return [
        _Sentence(number, limit, np.random.Generator(np.random.PCG64(sequence)))
        for number, (limit, sequence) in enumerate(zip(limits, luck, strict=True))
    ]


def _draw_step(
    log_probs: Tensor, sentences: Sequence[_Sentence], config: Sampling, banned: Tensor
) -> list[int]:
    """Draw the next piece of each sentence from log-probabilities (S, V) and write it down."""
    allowed = log_probs.index_fill(1, banned, -math.inf)
    _refuse(allowed.amax(dim=1), sentences)
    kept = filter_log_probs(
        allowed,
        temperature=config.temperature,
        top_k=config.top_k,
        top_p=config.top_p,
        min_p=config.min_p,
    )
    uniform = torch.tensor([s.luck.random() for s in sentences], dtype=torch.float64)
    pieces = draw_pieces(kept, uniform)
    known = log_probs.gather(1, pieces[:, None])
    for sentence, piece, log_prob in zip(sentences, items(pieces), items(known), strict=True):
        sentence.pieces.append(piece)
        sentence.log_probs.append(log_prob)
    return items(pieces)


def _refuse(best: Tensor, sentences: Sequence[_Sentence]) -> None:
    """See that each sentence has a piece that may follow, from the best log-probabilities (S,)."""
    for sentence, log_prob in zip(sentences, items(best), strict=True):
        if log_prob == -math.inf:
            raise ModelError(
                f"sentence {sentence.number} of the batch: every piece that may follow has "
                "probability 0"
            )
        if not log_prob < math.inf:  # NaN
            raise ModelError(
                "the model gives log-probabilities that are not numbers; its weights are damaged, "
                "or its training diverged: try an earlier checkpoint"
            )


def _keep(log_probs: Tensor, pieces: Tensor) -> Tensor:
    """Strike out all but some pieces of each row, (R, C)."""
    pieces = pieces.to(log_probs.device)
    kept = torch.full_like(log_probs, -math.inf)
    return kept.scatter(1, pieces, log_probs.gather(1, pieces))


def _keep_nucleus(log_probs: Tensor, top_p: float, count: int) -> Tensor:
    """Keep the smallest number of likeliest pieces that have ``top_p`` of the probability.

    The best ``count`` are ranked, and everything only where they have too little.
    """
    normalized = log_probs.log_softmax(dim=1)
    values, pieces = best_pieces(normalized, count)  # (R, C)
    cumulative = values.exp().cumsum(dim=1)
    if (cumulative[:, -1] < top_p).any():
        values, pieces = normalized.sort(dim=1, descending=True, stable=True)
        cumulative = values.cpu().exp().cumsum(dim=1)
    before = pad(cumulative[:, :-1], (1, 0))  # nothing comes before the best one
    outside = (before >= top_p).to(log_probs.device)
    pieces = pieces.to(log_probs.device)
    found = log_probs.gather(1, pieces).masked_fill(outside, -math.inf)
    return torch.full_like(log_probs, -math.inf).scatter(1, pieces, found)
