"""Any number of translations aligned with their sources, as they come."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from dragoman.translator.alignment import Head
from dragoman.translator.translation import Translation
from dragoman.translator.translator import Translator
from dragoman.translator.word_alignment import WordAlignment, align_copy, check_heads


def align_translations(
    translator: Translator,
    translations: Iterable[Translation],
    *,
    heads: Sequence[Head] = (),
    target_language: str | None = None,
    at_once: int = 256,
) -> Iterator[tuple[Translation, WordAlignment]]:
    """Align the best translation of each segment with its source.

    The words of a copied segment belong to themselves, and where there is no translation there are
    no links.

    Args:
        translator: what made them.
        translations: any number; memory does not grow with it.
        heads: as of ``Translator.align``.
        target_language: as of ``Translator.align``.
        at_once: how many are taken before the first is aligned.

    Raises:
        ModelError: as ``Translator.align``, at once.
        ConfigError: as ``Translator.align``, at once.
    """
    check_heads(translator.bundle, heads)
    return _align(translator, iter(translations), heads, target_language, at_once)


def _align(
    translator: Translator,
    supply: Iterator[Translation],
    heads: Sequence[Head],
    target_language: str | None,
    at_once: int,
) -> Iterator[tuple[Translation, WordAlignment]]:
    while group := list(islice(supply, at_once)):
        asked = [each for each in group if not each.copied and each.hypotheses]
        sources, targets = [each.source for each in asked], [each.text for each in asked]
        aligned = iter(
            translator.align(sources, targets, heads=heads, target_language=target_language)
        )
        for each in group:
            copied = each.copied or not each.hypotheses
            yield each, align_copy(each.source, each.text) if copied else next(aligned)
