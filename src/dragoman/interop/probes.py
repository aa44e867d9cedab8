"""What both sides of a conversion are run on: short, long, empty and unseen text as ids."""

import random
from collections.abc import Sequence

from dragoman.bundle import Bundle

TEXTS = (
    "",
    "a",
    "Hello, world.",
    "Ein Hund schläft, und zwei Katzen sehen ihm zu.",
    "12,5 % of 3.000 km²",
    "漢字 ☃ 😀 \u0627\u0644\u0633\u0644\u0627\u0645",
    "word " * 30,
)
DRAWN = 20  # sources made of pieces drawn at random, so that all kinds of pieces come
LONGEST = 60  # pieces of a drawn source


def probe_sources(bundle: Bundle, longest: int | None) -> list[list[int]]:
    """Make bare ids of sources, each of which fits into ``longest`` pieces."""
    most = LONGEST if longest is None else min(LONGEST, longest)
    tokenizer = bundle.source_tokenizer
    texts = [tokenizer.encode(text)[:most] for text in TEXTS]
    lengths = [round(1 + (most - 1) * n / (DRAWN - 1)) for n in range(DRAWN)]
    return [*texts, *draw(tokenizer.size, controls(bundle), lengths, seed=1)]


def probe_targets(
    bundle: Bundle, sources: Sequence[object], longest: int | None
) -> list[list[int]]:
    """Make bare ids of a target for each source, of other lengths."""
    most = LONGEST if longest is None else min(LONGEST, longest)
    lengths = [round(most * (1 - n / len(sources))) for n in range(len(sources))]
    return draw(bundle.target_tokenizer.size, controls(bundle), lengths, seed=2)


def controls(bundle: Bundle) -> set[int]:
    """Say which ids are no text: they stand where a model puts them, and nowhere else."""
    special = bundle.target_tokenizer.special
    return {special.padding, special.start, special.end}


def draw(size: int, taken: set[int], lengths: Sequence[int], *, seed: int) -> list[list[int]]:
    """Draw rows of ids below ``size``, none of them ``taken``."""
    rng = random.Random(seed)
    free = [piece for piece in range(size) if piece not in taken]
    return [rng.choices(free, k=length) for length in lengths]
