"""Translations drawn at random from what a model holds likely, several of each source."""

from collections.abc import Sequence

import numpy as np
import torch

from dragoman.data import Frame, group_by_length, pad_rows
from dragoman.decoding.engine import check_source_lengths, most_written
from dragoman.decoding.ensemble import Ensemble, begin_session
from dragoman.decoding.hypothesis import Hypothesis, Symbols
from dragoman.decoding.model_session import ModelSession
from dragoman.decoding.sampling import Sampling, sample
from dragoman.decoding.session import Session, fed
from dragoman.models import SequenceToSequence
from dragoman.tokenization import SpecialIds


def draw_translations(
    model: SequenceToSequence | Ensemble,
    sources: Sequence[Sequence[int]],
    sampling: Sampling,
    special: SpecialIds | Frame,
    *,
    seeds: Sequence[Sequence[int]],
    batch_tokens: int = 4096,
) -> list[list[Hypothesis]]:
    """Draw translations of many sources.

    What is drawn depends on the model, ``sampling``, the source and the number of the draw in
    ``seeds``; not on the other sources and draws. In each batch a source is encoded once.

    Args:
        model: is run in evaluation mode.
        sources: bare piece ids, without the end symbol.
        sampling: how to draw.
        special: ids that are never text, or how they stand around a source and before a target.
        seeds: for each source, numbers from 0 up, one for each translation that is drawn of it.
        batch_tokens: most source slots in a batch; a source counts once for each translation.

    Returns:
        For each source its translations in the order of their numbers; their score is log P.

    Raises:
        ValueError: a source is longer than the positions of the model, or the seeds are not for
            as many sources.
        ModelError: what ``sample`` raises.
    """
    if len(seeds) != len(sources):
        raise ValueError(f"{len(sources)} sources need as many lists of seeds, not {len(seeds)}")
    model.eval()
    frame = Frame.of(special)
    check_source_lengths(model, sources, frame)
    symbols, most = Symbols.of(frame), most_written(model, frame)
    limits = [min(sampling.limit(len(source)), most) for source in sources]
    draws = [(row, place) for row, each in enumerate(seeds) for place in range(len(each))]
    found: dict[tuple[int, int], Hypothesis] = {}
    lengths = np.array([len(sources[row]) + frame.source_added for row, _ in draws], np.int64)
    for group in group_by_length(lengths, batch_tokens):
        chosen = [draws[int(number)] for number in group]
        rows = [row for row, _ in chosen]
        answers = sample(
            _begin(model, sources, rows, frame),
            sampling,
            symbols,
            [limits[row] for row in rows],
            seeds=[seeds[row][place] for row, place in chosen],
        )
        found |= dict(zip(chosen, answers, strict=True))
    return [[found[row, place] for place in range(len(each))] for row, each in enumerate(seeds)]


@torch.inference_mode()
def _begin(
    model: SequenceToSequence | Ensemble,
    sources: Sequence[Sequence[int]],
    rows: Sequence[int],
    frame: Frame,
) -> Session:
    """Encode each source that ``rows`` names once, and repeat it as often as it is named."""
    named = sorted(set(rows))
    ids = [frame.source(sources[row]) for row in named]
    source = pad_rows(ids, model.padding).to(next(model.parameters()).device)
    session = fed(begin_session(model, source, ModelSession.start), frame.target_before[:-1])
    places = {row: place for place, row in enumerate(named)}
    chosen = torch.tensor([places[row] for row in rows], device=session.device)
    return session.select(chosen, chosen)
