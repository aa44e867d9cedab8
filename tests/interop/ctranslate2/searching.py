"""Our own search over a bundle, framed as it says."""

from collections.abc import Sequence

import torch

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch, Hypothesis, ModelSession, Symbols, search
from dragoman.nn import EncoderDecoder


def translate(bundle: Bundle, source: Sequence[int], config: BeamSearch) -> list[Hypothesis]:
    """Search with nothing banned, as other libraries do unless told."""
    assert isinstance(bundle.model, EncoderDecoder)
    frame = bundle.frame
    *before, start = frame.target_before
    symbols = Symbols(start, frame.special.end, before=tuple(before))
    with torch.inference_mode():
        session = ModelSession.start(bundle.model, torch.tensor([frame.source(source)]))
    return search(session, config, symbols, [256])[0]
