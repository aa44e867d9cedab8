"""A CTranslate2 model as an engine: ids in, hypotheses out.

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
from typing import Any, Unpack

from dragoman.decoding.constraints import Ban
from dragoman.decoding.ctranslate2_model import CTranslate2Model
from dragoman.decoding.engines import Wishes
from dragoman.decoding.ensemble import Ensemble
from dragoman.decoding.hypothesis import Hypothesis, Symbols
from dragoman.decoding.settings import BeamSearch, prefix_too_long
from dragoman.errors import ConfigError, Mistake
from dragoman.models import SequenceToSequence

Ids = tuple[int, ...]
_SCORED = 64  # translations read at a time
OFF = "leave it out, or use another engine"


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


@dataclass(frozen=True, slots=True)
class _Found:
    ids: Ids  # without the end symbol
    ended: bool

    @property
    def length(self) -> int:
        return len(self.ids) + self.ended


class CTranslate2Engine:
    """The library's own search; see ``Engine``, and the head of this file.

    Args:
        model: ours, of the same weights; says what the ids are.
        loaded: the library's form of it.
        added: how many symbols stand before and behind each source; the library adds them itself.
    """

    shared = False  # it pads

    def __init__(
        self, model: SequenceToSequence, loaded: CTranslate2Model, added: tuple[int, int] = (0, 1)
    ) -> None:
        self.model: SequenceToSequence | Ensemble = model
        self.loaded, self.added, self._padding = loaded, added, model.padding
        self.workers = loaded.workers
        self.batch_tokens: int | None = 1024

    def search(
        self,
        sources: Sequence[Sequence[int]],
        config: BeamSearch,
        symbols: Symbols,
        limits: Sequence[int],
        **wishes: Unpack[Wishes],
    ) -> list[list[Hypothesis]]:
        """Search a batch; arguments and result are those of ``dragoman.decoding.search``.

        Raises:
            ConfigError: the search has controls that the library has not, all of them at once.
            ValueError: a source is longer than the positions of the model, or a prefix holds the
                end symbol.
        """
        prefixes, ban = wishes.get("prefixes"), wishes.get("ban")
        unheard = {"trace": wishes.get("observer"), "required": wishes.get("required")}
        problem, hint = "CTranslate2 has nothing like it", "set engine to torch or fused"
        mistakes = [*_beyond(config, ban)]
        mistakes += [Mistake(n, problem, hint) for n, asked in unheard.items() if asked is not None]
        if mistakes:
            raise ConfigError.together(mistakes)
        asked = [()] * len(sources) if prefixes is None else prefixes
        most = 1 << 30 if self.loaded.positions is None else self.loaded.positions
        if (longest := max(map(len, sources), default=0)) > most:
            raise ValueError(
                f"a source has {longest} pieces with the end symbol, the CTranslate2 model "
                f"{most} positions"
            )
        if any(symbols.end in prefix for prefix in asked):
            raise ValueError("prefixes: one holds the end symbol")
        bare = [self._bare(source) for source in sources]
        jobs = [
            _Job(number, source, tuple(prefix), min(limit, most))
            for number, (source, prefix, limit) in enumerate(zip(bare, asked, limits, strict=True))
            if prefix_too_long(prefix, min(limit, most)) is None
        ]
        found: list[list[Hypothesis]] = [[] for _ in sources]
        answers = _Run(self.loaded, config, symbols).translate(jobs)
        for job, hypotheses in zip(jobs, answers, strict=True):
            found[job.number] = hypotheses
        return found

    def _bare(self, source: Sequence[int]) -> Ids:
        """Take off the symbols around a source; one that is empty without them is padding."""
        before, after = self.added
        nothing = not before + after and [*source] == [self._padding]
        return () if nothing else tuple(source[before : len(source) - after])


class _Run:
    """The search of one batch."""

    def __init__(self, model: CTranslate2Model, config: BeamSearch, symbols: Symbols) -> None:
        self.model, self.config, self.symbols = model, config, symbols
        self.ids = {name: number for number, name in enumerate(model.target)}

    def translate(self, jobs: Sequence[_Job]) -> list[list[Hypothesis]]:
        """Search, and again alone for those that met a limit; then score.

        Sentences that share a batch share a limit, the largest. And at the limit the library mixes
        what is cut off with what has ended, and may keep none of the latter: twice the patience
        makes room for all. It does not run empty sources: their translation is their prefix.
        """
        found = {job.number: [_Found(job.prefix, True)] for job in jobs if not job.source}
        whole = [job for job in jobs if job.source]
        for group in ([j for j in whole if not j.prefix], [j for j in whole if j.prefix]):
            found |= self._search(group)  # prefixes apart: they change how others end
        for job in jobs:
            if self._met_limit(job, found[job.number]):
                found |= self._search([job], alone=True)
        return self._score(jobs, [found[job.number] for job in jobs])

    def _met_limit(self, job: _Job, found: Sequence[_Found]) -> bool:
        if self.config.beam == 1:
            return any(each.length > job.limit for each in found)
        return any(each.length > job.limit or not each.ended for each in found)

    def _search(self, group: Sequence[_Job], *, alone: bool = False) -> dict[int, list[_Found]]:
        """Give by number of the job what the library finds."""
        if not group:
            return {}
        config, names = self.config, self.model.target
        patience = 1.0 if config.patience is None or config.beam == 1 else config.patience
        if alone and config.beam > 1:
            patience *= 2
        prefixes = [self._target(job.prefix) for job in group]
        results = self.model.translator.translate_batch(
            [self._source(job) for job in group],
            target_prefix=prefixes if any(prefixes) else None,
            beam_size=config.beam,
            patience=patience,
            num_hypotheses=max(1, int(config.beam * patience + 0.5)),
            length_penalty=0.0 if config.length_penalty == "none" else config.alpha,
            no_repeat_ngram_size=config.no_repeat_ngram,
            suppress_sequences=[[names[piece]] for piece in sorted(set(self.symbols.banned))],
            return_end_token=True,
            max_input_length=0,
            max_decoding_length=max(job.limit for job in group),
            min_decoding_length=max(0, config.min_length - 1),
        )
        return {job.number: self._read(result) for job, result in zip(group, results, strict=True)}

    def _source(self, job: _Job) -> list[str]:
        return [self.model.source[piece] for piece in job.source]

    def _target(self, ids: Sequence[int]) -> list[str]:
        return [self.model.target[piece] for piece in ids]

    def _read(self, result: Any) -> list[_Found]:
        """Turn names into ids."""
        found: list[_Found] = []
        for names in result.hypotheses:
            ids = tuple(self.ids[name] for name in names)
            ended = bool(ids) and ids[-1] == self.symbols.end
            found.append(_Found(ids[:-1] if ended else ids, ended))
        return found

    def _score(
        self, jobs: Sequence[_Job], found: Sequence[Sequence[_Found]]
    ) -> list[list[Hypothesis]]:
        """Read every translation at once for the log-probabilities of its pieces."""
        rows = [(number, f) for number, each in enumerate(found) for f in _complete(each)]
        results: list[Any] = self.model.translator.score_batch(
            [self._source(jobs[number]) for number, _ in rows],
            [self._target(f.ids) for _, f in rows],
            max_batch_size=_SCORED,
            max_input_length=0,
        )
        hypotheses: list[list[Hypothesis]] = [[] for _ in jobs]
        for (number, f), result in zip(rows, results, strict=True):
            log_probs = tuple(map(float, result.log_probs))[: f.length]
            score = self.config.final_score.of(sum(log_probs), f.length)
            hypotheses[number].append(Hypothesis(f.ids, log_probs, score, not f.ended))
        for each in hypotheses:
            each.sort(key=lambda hypothesis: -hypothesis.score)
            del each[self.config.n_best :]
        return hypotheses


def _complete(found: Sequence[_Found]) -> list[_Found]:
    """Keep those that have ended, or all if none has."""
    return [each for each in found if each.ended] or list(found)
