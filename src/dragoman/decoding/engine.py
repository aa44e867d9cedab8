"""Many sources through one engine: batches by length, several at a time, answers in order."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from dragoman.data import Frame, group_by_length
from dragoman.decoding.constraints import Ban
from dragoman.decoding.covering import check_coverage
from dragoman.decoding.engines import Engine, TorchEngine, one_thread
from dragoman.decoding.ensemble import Ensemble
from dragoman.decoding.hypothesis import Hypothesis, Symbols
from dragoman.decoding.required import Demand, NoRoom, required_too_long, widened
from dragoman.decoding.settings import BeamSearch, prefix_too_long
from dragoman.decoding.tracing import Tracer
from dragoman.decoding.waiting import BrokenOff, Waiter
from dragoman.models import SequenceToSequence
from dragoman.tokenization import SpecialIds

Found = list[Hypothesis] | NoRoom

FEWEST = 2  # sources for each worker: one alone takes nearly as long as both together


def decode(
    model: SequenceToSequence | Ensemble | Engine,
    sources: Sequence[Sequence[int]],
    config: BeamSearch,
    special: SpecialIds | Frame,
    *,
    batch_tokens: int = 4096,
    prefixes: Sequence[Sequence[int]] | None = None,
    ban: Ban | None = None,
    tracer: Tracer | None = None,
    required: Sequence[Demand | None] | None = None,
    waiter: Waiter[Found] | None = None,
) -> list[Found]:
    """Search for the best translations of many sources.

    Sentences are sorted by length into batches and put back in order; what is found for one does
    not depend on the others.

    Args:
        model: is run in evaluation mode; or an engine that has one.
        sources: bare piece ids, without the end symbol.
        config: how to search.
        special: ids that are never text, or how they stand around a source and before a target.
        batch_tokens: most source slots in a batch; an engine may be faster with fewer.
        prefixes: ids that each translation must begin with; may be empty.
        ban: phrases that come in no translation.
        tracer: writes down how each source was searched, by its place in ``sources``.
        required: what every translation of a source must hold; None for nothing.
        waiter: is given what is found of each source as soon as it is; what it no longer wants is
            broken off.

    Returns:
        For each source at most ``n_best`` hypotheses by falling score, or why there are none.

    Raises:
        ValueError: a source is longer than the positions of the model.
        ConfigError: a coverage penalty is asked of a model without attention weights.
    """
    engine = TorchEngine(model) if isinstance(model, torch.nn.Module) else model
    if engine.model.training:
        engine.model.eval()
    if config.coverage:
        check_coverage(engine.model)
    frame = Frame.of(special)
    check_source_lengths(engine.model, sources, frame)
    symbols = Symbols.of(frame)
    asked = [()] * len(sources) if prefixes is None else prefixes
    demands = [None] * len(sources) if required is None else required
    most = most_written(engine.model, frame)
    found: list[Found | None] = [None for _ in sources]

    def settle(row: int, what: Found) -> None:
        if found[row] is None:
            found[row] = what
            if waiter is not None:
                waiter.take(row, what)

    def search(rows: Sequence[int]) -> None:
        if waiter is not None:
            rows = [row for row in rows if waiter.wants(row)]
        if not rows:
            return
        among = None if waiter is None else Waiter(waiter.wants, settle, waiter.gone).among(rows)
        limits = [min(config.limit(len(sources[row])), most) for row in rows]
        wanted = [asked[row] for row in rows]
        answers = engine.search(
            [frame.source(sources[row]) for row in rows],
            config,
            symbols,
            limits,
            prefixes=wanted,
            ban=ban,
            observer=None if tracer is None else tracer.among(rows),
            required=[demand for row in rows if (demand := demands[row]) is not None] or None,
            waiter=among,
        )
        for row, prefix, limit, answer in zip(rows, wanted, limits, answers, strict=True):
            too_long = required_too_long(demands[row], prefix, limit)
            if not answer and waiter is not None and not waiter.wants(row):
                continue
            settle(row, prefix_too_long(prefix, limit) or too_long or answer)

    tokens = min(batch_tokens, engine.batch_tokens or batch_tokens)
    batches = _batches(sources, demands, config.beam, tokens, engine)
    _run(search, list(batches), engine.workers)
    return [BrokenOff() if each is None else each for each in found]


def _batches(
    sources: Sequence[Sequence[int]],
    demands: Sequence[Demand | None],
    beam: int,
    tokens: int,
    engine: Engine,
) -> Iterator[list[int]]:
    """Batch sources by length; those of which something is required apart, as beams are wider.

    What fits into one batch is one if the engine is shared, whatever the lengths, and is otherwise
    cut so that each worker has some of it.
    """
    free = [row for row, demand in enumerate(demands) if demand is None]
    bound = [row for row, demand in enumerate(demands) if demand is not None]
    widest = max((widened(beam, demand) for demand in demands if demand is not None), default=beam)
    for rows, budget in ((free, tokens), (bound, tokens * beam // widest)):
        if not rows:
            continue
        lengths = np.array([len(sources[row]) + 1 for row in rows])
        if engine.shared and lengths.sum() <= budget:
            groups = [np.arange(len(rows))]
        elif len(rows) * lengths.max() <= budget:
            groups = _shares(lengths, max(1, min(engine.workers, len(rows) // FEWEST)))
        else:
            groups = group_by_length(lengths, budget)
        for group in groups:
            yield [rows[int(place)] for place in group]


def _shares(lengths: Any, parts: int) -> list[Any]:
    """Cut places into parts of neighbours in length, longest first, each with about as many pieces.

    Returns:
        Places of each part; fewer parts where a source is longer than one.
    """
    order = np.argsort(-lengths, kind="stable")
    before = lengths[order].cumsum() - lengths[order]
    share = before * parts // lengths.sum()  # from 0
    return [group for part in range(parts) if (group := order[share == part]).size]


def _run(search: Callable[[Sequence[int]], None], batches: list[list[int]], workers: int) -> None:
    """Search all batches, the longest first, so that the workers end together."""
    if workers == 1:
        for batch in batches:
            search(batch)
        return
    with one_thread():
        if len(batches) == 1:
            search(batches[0])
            return

        def alone(batch: list[int]) -> None:
            torch.set_num_threads(1)  # holds for a thread
            search(batch)

        with ThreadPoolExecutor(workers, "dragoman") as pool:
            try:
                list(pool.map(alone, batches))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def check_source_lengths(
    model: SequenceToSequence | Ensemble, sources: Sequence[Sequence[int]], frame: Frame
) -> None:
    """See that every source fits the model, before any is run.

    Raises:
        ValueError: one is longer than the positions learned.
    """
    limit = model.max_source_length
    for number, source in enumerate(sources):
        if limit is not None and len(source) + frame.source_added > limit:
            raise ValueError(
                f"source {number}: {len(source) + frame.source_added} pieces with the end symbol, "
                f"the model has {limit} positions"
            )


def most_written(model: SequenceToSequence | Ensemble, frame: Frame) -> int:
    """Say how many pieces the positions of a model allow a target, the end symbol included."""
    limit = model.max_target_length
    return 1 << 30 if limit is None else limit + 1 - frame.target_added
