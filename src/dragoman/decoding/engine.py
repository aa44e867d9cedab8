"""Many sources through one model: batches by length, one encoder pass each, answers in order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from dragoman.data import group_by_length, pad_rows
from dragoman.decoding.beam import search
from dragoman.decoding.constraints import Ban
from dragoman.decoding.covering import CoveringModelSession, check_coverage
from dragoman.decoding.hypothesis import Hypothesis, Symbols
from dragoman.decoding.required import Demand, NoRoom, required_too_long, widened
from dragoman.decoding.session import Session
from dragoman.decoding.settings import BeamSearch, prefix_too_long
from dragoman.models import SequenceToSequence
from dragoman.nn import CausalLM
from dragoman.tokenization import SpecialIds


class Cache(Protocol):
    """What a model keeps between two steps: of hypotheses (rows), and of their sources."""

    @property
    def memory_visible(self) -> Tensor:
        """Which source positions are real, boolean, (sources, 1, 1, S)."""
        ...

    def select(self, rows: Tensor | None, sources: Tensor | None) -> Self:
        """Keep some of both; None keeps all as they are."""
        ...


@dataclass(frozen=True, slots=True)
class ModelSession:
    """Sources being decoded by a model; see ``Session``.

    Args:
        model: in evaluation mode.
        cache: what it keeps of the sources and of what was fed so far.
    """

    model: SequenceToSequence | CausalLM
    cache: Cache

    @classmethod
    def start(cls, model: SequenceToSequence, source: Tensor) -> "ModelSession":
        """Encode source ids (S, L), once."""
        memory: Any = model.encode(source)  # Any: each model has its own kind
        return cls(model, model.start(memory))

    @property
    def sentences(self) -> int:
        """How many sentences S are being decoded."""
        return self.cache.memory_visible.size(0)

    @property
    def device(self) -> torch.device:
        """Where ids and indices are expected."""
        return self.cache.memory_visible.device

    def step(self, ids: Tensor) -> tuple[Tensor, "ModelSession"]:
        """Feed ids (R,), get log-probabilities (R, V) in float32 and the session after."""
        kept: Any = self.cache  # Any: the model's own kind
        logits, cache = self.model.step(ids[:, None], kept)
        return logits[:, 0].float().log_softmax(-1), ModelSession(self.model, cache)

    def select(self, rows: Tensor, sentences: Tensor | None) -> "ModelSession":
        """Keep rows and sentences."""
        return ModelSession(self.model, self.cache.select(rows, sentences))


def decode(
    model: SequenceToSequence,
    sources: Sequence[Sequence[int]],
    config: BeamSearch,
    special: SpecialIds,
    *,
    batch_tokens: int = 4096,
    prefixes: Sequence[Sequence[int]] | None = None,
    ban: Ban | None = None,
    required: Sequence[Demand | None] | None = None,
) -> list[list[Hypothesis] | NoRoom]:
    """Search for the best translations of many sources.

    Sentences are sorted by length into batches and put back in order; what is found for one does
    not depend on the others.

    Args:
        model: is run in evaluation mode.
        sources: bare piece ids, without the end symbol.
        config: how to search.
        special: ids that are never text.
        batch_tokens: most source slots in a batch.
        prefixes: ids that each translation must begin with; may be empty.
        ban: phrases that come in no translation.
        required: what every translation of a source must hold; None for nothing.

    Returns:
        For each source at most ``n_best`` hypotheses by falling score, or why there are none.

    Raises:
        ValueError: a source is longer than the positions of the model.
        ConfigError: a coverage penalty is asked of a model without attention weights.
    """
    model.eval()
    if config.coverage:
        check_coverage(model)
    check_source_lengths(model, sources)
    device = next(model.parameters()).device
    symbols = Symbols(special.start, special.end, (special.padding, special.start, special.unknown))
    asked = [()] * len(sources) if prefixes is None else prefixes
    most = model.max_target_length
    demands = [None] * len(sources) if required is None else required
    found: list[list[Hypothesis] | NoRoom] = [[] for _ in sources]
    for rows in _groups(sources, demands, config.beam, batch_tokens):
        limits = [min(config.limit(len(sources[row])), most or 1 << 30) for row in rows]
        with torch.inference_mode():
            source = pad_rows([[*sources[row], special.end] for row in rows], model.padding)
            session = _begin(model, source.to(device), config)
        wanted = [asked[row] for row in rows]
        needed = [demand for row in rows if (demand := demands[row]) is not None] or None
        answers = search(
            session, config, symbols, limits, prefixes=wanted, ban=ban, required=needed
        )
        for row, prefix, limit, answer in zip(rows, wanted, limits, answers, strict=True):
            too_long = required_too_long(demands[row], prefix, limit)
            found[row] = prefix_too_long(prefix, limit) or too_long or answer
    return found


def _groups(
    sources: Sequence[Sequence[int]],
    demands: Sequence[Demand | None],
    beam: int,
    batch_tokens: int,
) -> Iterator[list[int]]:
    """Batch sources by length; those of which something is required apart, as beams are wider."""
    free = [row for row, demand in enumerate(demands) if demand is None]
    bound = [row for row, demand in enumerate(demands) if demand is not None]
    widest = max((widened(beam, demand) for demand in demands if demand is not None), default=beam)
    for rows, budget in ((free, batch_tokens), (bound, batch_tokens * beam // widest)):
        lengths = np.array([len(sources[row]) + 1 for row in rows])
        for group in group_by_length(lengths, budget):
            yield [rows[int(place)] for place in group]


def _begin(model: SequenceToSequence, source: Tensor, config: BeamSearch) -> Session:
    """Encode source ids (S, L), in a session that knows what the search asks it."""
    if config.coverage:
        return CoveringModelSession.start(check_coverage(model), source, ModelSession.start)
    return ModelSession.start(model, source)


def check_source_lengths(model: SequenceToSequence, sources: Sequence[Sequence[int]]) -> None:
    """See that every source fits the model, before any is run.

    Raises:
        ValueError: one is longer than the positions learned.
    """
    limit = model.max_source_length
    for number, source in enumerate(sources):
        if limit is not None and len(source) + 1 > limit:
            raise ValueError(
                f"source {number}: {len(source) + 1} pieces with the end symbol, the model has "
                f"{limit} positions"
            )
