"""Placeholders that a program fills in: which of a source its translation has lost."""

from collections import Counter

from dragoman.translator import Fragment, Tag
from dragoman.translator.placeholders import placeholders_of


def lost_placeholders(source: Fragment, target: Fragment) -> list[str]:
    """Give the placeholders of a source that its translation lacks, each as often as it does."""
    found, kept = (
        Counter(placeholders_of(" ".join(p for p in side if not isinstance(p, Tag))))
        for side in (source, target)
    )
    return sorted((found - kept).elements())
