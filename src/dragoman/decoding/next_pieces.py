"""What may come next after a beginning: the most probable pieces."""

import math
from collections.abc import Sequence

import torch

from dragoman.data import Frame
from dragoman.decoding.best_pieces import best_pieces
from dragoman.decoding.engine import check_source_lengths
from dragoman.decoding.engines import TorchEngine
from dragoman.decoding.ensemble import Ensemble
from dragoman.decoding.hypothesis import Symbols, items
from dragoman.decoding.session import Session, fed
from dragoman.models import SequenceToSequence
from dragoman.tokenization import SpecialIds


@torch.inference_mode()
def next_pieces(
    session: Session, symbols: Symbols, beginning: Sequence[int], count: int
) -> list[tuple[int, float]]:
    """Find the pieces that a model holds most probable after a beginning.

    Args:
        session: new, of one sentence; is used up.
        symbols: ids treated apart.
        beginning: ids that come first; may be empty.
        count: most pieces; fewer where others have probability 0 or are banned.

    Returns:
        Pieces, the end symbol among them, and their log-probabilities, best first; of equal ones
        the lower id first.

    Raises:
        ValueError: the session has not one sentence, or ``count`` is less than 1.
    """
    if session.sentences != 1 or count < 1:
        raise ValueError(f"{session.sentences} sentences and {count} pieces, not 1 and some")
    session = fed(session, symbols.before)
    log_probs, session = session.step(torch.tensor([symbols.start], device=session.device))
    for piece in beginning:
        log_probs, session = session.step(torch.tensor([piece], device=session.device))
    log_probs[:, list(symbols.banned)] = -math.inf
    values, pieces = best_pieces(log_probs, count)
    pairs = zip(items(pieces), items(values), strict=True)
    return [(piece, value) for piece, value in pairs if value > -math.inf]


def next_pieces_of(
    model: SequenceToSequence | Ensemble,
    source: Sequence[int],
    special: SpecialIds | Frame,
    beginning: Sequence[int],
    count: int,
) -> list[tuple[int, float]]:
    """Find what may come next in the translation of one source; see ``next_pieces``.

    Args:
        model: is run in evaluation mode.
        source: bare piece ids, without the end symbol.
        special: ids that are never text, or how they stand around a source and before a target.
        beginning: ids of the translation that come first.
        count: most pieces.

    Raises:
        ValueError: the source is longer than the positions of the model.
    """
    model.eval()
    frame = Frame.of(special)
    check_source_lengths(model, [source], frame)
    session = TorchEngine(model).start([frame.source(source)])
    return next_pieces(session, Symbols.of(frame), beginning, count)
