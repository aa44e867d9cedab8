"""Texts far longer than the rest, and pairs of implausibly different lengths."""

import numpy as np

from dragoman.data.check.chunk import Chunk
from dragoman.data.check.finding import Collector, Side
from dragoman.data.check.profile import Profile, log_ratios


def find_odd_lengths(chunk: Chunk, profile: Profile, found: Collector) -> None:
    """Note what lies far from the corpus's own medians; blank sides have kinds of their own."""
    long: dict[int, tuple[Side, str]] = {}
    for side, view in chunk.sides():
        longest = (profile.source if side == "source" else profile.target).longest
        for at in np.flatnonzero(view.lengths > longest).tolist():
            detail = f"{view.lengths[at]:,} characters; more than {longest:,.0f} are unusual"
            long.setdefault(at, (side, detail))
    chunk.note("length", long, found)
    ratios = log_ratios(chunk.source.lengths, chunk.target.lengths)
    odd = (ratios < profile.lowest) | (ratios > profile.highest)
    odd &= ~chunk.blank()
    for at in np.flatnonzero(odd).tolist():
        lengths = int(chunk.source.lengths[at]), int(chunk.target.lengths[at])
        usual = float(np.exp(profile.ratio))
        detail = f"{lengths[0]:,} and {lengths[1]:,} characters; usual is 1 to {usual:.2f}"
        texts = chunk.source.texts[at], chunk.target.texts[at]
        found.add("length-ratio", chunk.numbers[at], "", detail, *texts)
