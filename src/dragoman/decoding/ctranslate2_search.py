"""A CTranslate2 model behind the interface of ``decode``: ids in, hypotheses out.

The library has its own search (version 4.8). What it does otherwise than ``search``:

- it stops when ``patience`` * ``beam`` hypotheses have ended, 1 * ``beam`` unless asked, even if
  an open one could still win, and keeps as many, the best by log P(y) / |y|^alpha;
- a translation that ends right after its forced prefix may be overlooked, and the prefix does not
  count when it says which to keep;
- hypotheses grow by probabilities that sum to 1 without padding, start and unknown.

The scores are ours all the same: the log-probabilities come from a second pass, which reads each
translation at once, and the formula is that of ``FinalScore``. Controls that the library has not,
or not with our meaning, are refused by name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.data import group_by_length
from dragoman.decoding.constraints import Ban
from dragoman.decoding.ctranslate2_model import CTranslate2Model
from dragoman.decoding.hypothesis import Hypothesis
from dragoman.decoding.settings import BeamSearch, PrefixTooLong, prefix_too_long
from dragoman.errors import ConfigError, Mistake
from dragoman.tokenization import SpecialIds

Ids = tuple[int, ...]
OFF = "leave it out, or use another engine"


def decode_with_ctranslate2(
    model: CTranslate2Model,
    sources: Sequence[Sequence[int]],
    config: BeamSearch,
    special: SpecialIds,
    *,
    batch_tokens: int = 4096,
    prefixes: Sequence[Sequence[int]] | None = None,
    ban: Ban | None = None,
) -> list[list[Hypothesis] | PrefixTooLong]:
    """Search for the best translations of many sources, as ``decode`` does.

    Args:
        model: runs as many batches at a time as it was loaded with.
        sources: bare piece ids, without the end symbol.
        config: how to search.
        special: ids that are never text.
        batch_tokens: most source slots in a batch.
        prefixes: ids that each translation must begin with; may be empty.
        ban: is refused.

    Returns:
        For each source at most ``n_best`` hypotheses by falling score, or why there are none.

    Raises:
        ConfigError: the search has controls that the library has not, all of them at once.
        ValueError: a source is longer than the positions of the model, or a prefix holds the end
            symbol.
    """
    mistakes = [*_beyond(config, ban)]
    if mistakes:
        raise ConfigError.together(mistakes)
    asked = [()] * len(sources) if prefixes is None else prefixes
    most = 1 << 30 if model.positions is None else model.positions
    jobs: list[_Job] = []
    found: list[list[Hypothesis] | PrefixTooLong] = [[] for _ in sources]
    for number, (source, prefix) in enumerate(zip(sources, asked, strict=True)):
        job = _Job(number, tuple(source), tuple(prefix), min(config.limit(len(source)), most))
        job.check(most, special.end)
        too_long = prefix_too_long(prefix, job.limit)
        if too_long is None:
            jobs.append(job)
        else:
            found[number] = too_long
    run = _Run(model, config, special, batch_tokens)
    for job, hypotheses in zip(jobs, run.translate(jobs), strict=True):
        found[job.number] = hypotheses
    return found


def _beyond(config: BeamSearch, ban: Ban | None) -> Iterator[Mistake]:
    """List what the library cannot do as we mean it."""
    asked: dict[str, Any] = {
        "groups": config.groups > 1 and config.groups,
        "coverage": config.coverage,
        "repetition_penalty": config.repetition_penalty != 1 and config.repetition_penalty,
    }
    for name, value in asked.items():
        if value:
            yield Mistake(name, f"{value} is not offered by the engine ctranslate2", OFF)
    for name in ("min_length", "no_repeat_ngram"):
        if (value := getattr(config, name)) and config.beam > 1:
            problem = f"{value} would change the other probabilities in the engine ctranslate2"
            yield Mistake(name, problem, "set beam to 1, or use another engine")
    if ban is not None:
        yield Mistake("banned_words", "are not offered by the engine ctranslate2", OFF)


@dataclass(frozen=True, slots=True)
class _Job:
    number: int
    source: Ids
    prefix: Ids
    limit: int  # most pieces generated, prefix and end symbol included

    def check(self, positions: int, end: int) -> None:
        if len(self.source) + 1 > positions:
            raise ValueError(
                f"source {self.number}: {len(self.source) + 1} pieces with the end symbol, the "
                f"model has {positions} positions"
            )
        if end in self.prefix:
            raise ValueError(f"prefixes: {self.prefix} in sentence {self.number} holds the end")


@dataclass(frozen=True, slots=True)
class _Found:
    ids: Ids  # without the end symbol
    ended: bool

    @property
    def length(self) -> int:
        return len(self.ids) + self.ended


class _Run:
    """One call of ``decode_with_ctranslate2``."""

    def __init__(
        self, model: CTranslate2Model, config: BeamSearch, special: SpecialIds, batch_tokens: int
    ) -> None:
        self.model, self.config, self.special = model, config, special
        self.batch_tokens = batch_tokens
        self.ids = {name: number for number, name in enumerate(model.target)}

    def translate(self, jobs: Sequence[_Job]) -> list[list[Hypothesis]]:
        """Search, and again alone for those that met a limit; then score.

        Sentences that share a batch share a limit, the largest. And at the limit the library mixes
        what is cut off with what has ended, and may keep none of the latter: twice the patience
        makes room for all. It does not run empty sources: their translation is their prefix.
        """
        found = {job.number: [_Found(job.prefix, True)] for job in jobs if not job.source}
        groups = list(self._groups([job for job in jobs if job.source]))
        found |= self._wait(groups, [self._search(group) for group in groups])
        again = [[job] for job in jobs if self._met_limit(job, found[job.number])]
        found |= self._wait(again, [self._search(group, alone=True) for group in again])
        return self._score(jobs, [found[job.number] for job in jobs])

    def _wait(
        self, groups: Sequence[Sequence[_Job]], waiting: Sequence[Sequence[Any]]
    ) -> dict[int, list[_Found]]:
        return {
            job.number: self._read(result.result())
            for group, results in zip(groups, waiting, strict=True)
            for job, result in zip(group, results, strict=True)
        }

    def _met_limit(self, job: _Job, found: Sequence[_Found]) -> bool:
        if self.config.beam == 1:
            return any(each.length > job.limit for each in found)
        return any(each.length > job.limit or not each.ended for each in found)

    def _groups(self, jobs: Sequence[_Job]) -> Iterator[list[_Job]]:
        """Put sources of like length together; prefixes apart, which change how others end."""
        for some in ([j for j in jobs if not j.prefix], [j for j in jobs if j.prefix]):
            lengths = np.array([len(job.source) + 1 for job in some], dtype=np.int64)
            for group in group_by_length(lengths, self.batch_tokens):
                yield [some[int(row)] for row in group]

    def _search(self, group: Sequence[_Job], *, alone: bool = False) -> list[Any]:
        """Begin to search; the library answers with what has a ``result``, in order."""
        config, special = self.config, self.special
        patience = 1.0 if config.patience is None or config.beam == 1 else config.patience
        if alone and config.beam > 1:
            patience *= 2
        prefixes = [self._target(job.prefix) for job in group]
        never = (special.padding, special.start, special.unknown)
        return self.model.translator.translate_batch(
            [self._source(job) for job in group],
            target_prefix=prefixes if any(prefixes) else None,
            asynchronous=True,
            beam_size=config.beam,
            patience=patience,
            num_hypotheses=max(1, int(config.beam * patience + 0.5)),
            length_penalty=0.0 if config.length_penalty == "none" else config.alpha,
            no_repeat_ngram_size=config.no_repeat_ngram,
            suppress_sequences=[[self.model.target[piece]] for piece in sorted(set(never))],
            return_end_token=True,
            max_input_length=0,
            max_decoding_length=max(job.limit for job in group),
            min_decoding_length=max(0, config.min_length - 1),
        )

    def _source(self, job: _Job) -> list[str]:
        return [self.model.source[piece] for piece in job.source]

    def _target(self, ids: Sequence[int]) -> list[str]:
        return [self.model.target[piece] for piece in ids]

    def _read(self, result: Any) -> list[_Found]:
        """Turn names into ids."""
        found: list[_Found] = []
        for names in result.hypotheses:
            ids = tuple(self.ids[name] for name in names)
            ended = bool(ids) and ids[-1] == self.special.end
            found.append(_Found(ids[:-1] if ended else ids, ended))
        return found

    def _score(
        self, jobs: Sequence[_Job], found: Sequence[Sequence[_Found]]
    ) -> list[list[Hypothesis]]:
        """Read every translation at once for the log-probabilities of its pieces."""
        rows = [(number, f) for number, each in enumerate(found) for f in _complete(each)]
        lengths = [len(jobs[number].source) + f.length for number, f in rows]
        results: list[Any] = [None] * len(rows)
        batches = group_by_length(np.array(lengths, dtype=np.int64), 2 * self.batch_tokens)
        for group in [[int(row) for row in batch] for batch in batches]:
            answers = self.model.translator.score_batch(
                [self._source(jobs[rows[row][0]]) for row in group],
                [self._target(rows[row][1].ids) for row in group],
                max_input_length=0,
                asynchronous=True,
            )
            for row, answer in zip(group, answers, strict=True):
                results[row] = answer
        hypotheses: list[list[Hypothesis]] = [[] for _ in jobs]
        for (number, f), result in zip(rows, results, strict=True):
            log_probs = tuple(map(float, result.result().log_probs))[: f.length]
            score = self.config.final_score.of(sum(log_probs), f.length)
            hypotheses[number].append(Hypothesis(f.ids, log_probs, score, not f.ended))
        for each in hypotheses:
            each.sort(key=lambda hypothesis: -hypothesis.score)
            del each[self.config.n_best :]
        return hypotheses


def _complete(found: Sequence[_Found]) -> list[_Found]:
    """Keep those that have ended, or all if none has."""
    return [each for each in found if each.ended] or list(found)
