"""Translate text with tags in it: the model reads the text alone, and the tags are put back.

A tag goes where the words are that come of the words it was at, as ``alignment`` finds them. Every
tag of the source stands in the result exactly once, and spans are well nested.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from dragoman.translator.alignment import Aligner, Array, Pair
from dragoman.translator.fragment import Fragment, Tag, put_together, take_apart
from dragoman.translator.placeholders import (
    Stretch,
    Translate,
    target_of,
    translate_protected,
)
from dragoman.translator.placing import Placing
from dragoman.translator.planning import gap
from dragoman.translator.portions import portions
from dragoman.translator.sentences import split_sentences, trimmed
from dragoman.translator.target_language import language_tag
from dragoman.translator.translator import Translator

__all__ = ["Fragment", "Tag", "translate_fragments", "translate_marked"]

_MOST_CELLS = 4_000_000  # of the tables held at once, 8 bytes each
Align = Callable[[Sequence[Pair]], Sequence[Array]]


def translate_fragments(
    translator: Translator,
    fragments: Sequence[Fragment],
    *,
    sentences: bool = False,
    target_language: str | None = None,
    **options: Any,
) -> list[Fragment]:
    """Translate segments with markup, their placeholders, URLs and addresses kept.

    A fragment without letters is given back as it is, and so are white space and tags at the edges
    of any. One that is longer than the model takes is translated sentence by sentence.

    Args:
        translator: of any architecture; those without cross-attention place tags less well.
        fragments: text and tags.
        sentences: translate every sentence on its own.
        target_language: what to translate into, for a model of several languages.
        options: others of ``Translator.translate``, but for ``prefix``.

    Raises:
        ConfigError: as ``Translator.translate``.
    """
    given: dict[str, Any] = {"target_language": target_language, **options}
    lead = language_tag(translator.bundle.source_tokenizer, target_language)

    def translate(texts: Sequence[str]) -> list[str]:
        return [found.text for found in translator.translate(texts, **given)]

    aligner = Aligner(translator.bundle, lead, translator.source_limit)
    split = partial(split_long, translator, len(lead), sentences=sentences)
    return translate_marked(translate, aligner.align, fragments, split=split)


def split_long(
    translator: Translator, lead: int, text: str, *, sentences: bool = False
) -> list[str]:
    """Cut a text into its sentences where it is longer than the model takes, or where asked to.

    Args:
        translator: whose model it is.
        lead: how many ids stand in front of every source, such as that of a language tag.
        text: nothing of it is lost.
        sentences: cut in any case.
    """
    length = len(translator.bundle.source_tokenizer.encode(text)) + lead + 1
    return split_sentences(text) if sentences or length > translator.source_limit else [text]


def translate_marked(
    translate: Translate,
    align: Align,
    fragments: Sequence[Fragment],
    *,
    split: Callable[[str], Sequence[str]] = lambda text: [text],
) -> list[Fragment]:
    """Translate segments with markup by any translator.

    Args:
        translate: turns texts without markup into as many translations.
        align: weighs the words of pairs, (target words, source words) each.
        fragments: text and tags.
        split: cuts a text into what is translated at once, without loss.
    """
    cut = [
        portions(fragment) if any(isinstance(item, Tag) for item in fragment) else [fragment]
        for fragment in fragments
    ]
    flat = [portion for each in cut for portion in each]
    found = iter(_translate_portions(translate, align, flat, split))
    return [_in_one([next(found) for _ in each]) for each in cut]


def _in_one(translated: Sequence[Fragment]) -> Fragment:
    """Put the translations of portions together."""
    if len(translated) == 1:
        return translated[0]
    items: list[str | Tag] = []
    for portion in translated:
        if items and portion and isinstance(items[-1], str) and isinstance(portion[0], str):
            items.append(gap(items[-1], portion[0]))
        items += portion
    return put_together(items)


def _translate_portions(
    translate: Translate,
    align: Align,
    fragments: Sequence[Fragment],
    split: Callable[[str], Sequence[str]],
) -> list[Fragment]:
    marked = [take_apart(fragment) for fragment in fragments]
    texts = _translate_texts(translate, [each.text for each in marked], split)
    placed = [
        Placing(each, stretches) if each.tags else None
        for each, stretches in zip(marked, texts, strict=True)
    ]
    weights = _weights(align, [pair for each in placed if each for pair in each.pairs])
    found: list[Fragment] = []
    for fragment, each, stretches, placing in zip(fragments, marked, texts, placed, strict=True):
        inside: list[str | int] = [target_of(stretches)]
        if placing is not None:
            inside = placing.write([next(weights) for _ in placing.pairs])
        items = [*each.left, *inside, *each.right]
        same = all(stretch.source == stretch.target for stretch in stretches)
        told = put_together(item if isinstance(item, str) else fragment[item] for item in items)
        found.append(fragment if same else told)
    return found


def _weights(align: Align, pairs: Sequence[Pair]) -> Iterator[Array]:
    """Align some pairs at a time: the tables of a whole document would fill the memory."""
    waiting: list[Pair] = []
    cells = 0
    for pair in pairs:
        waiting.append(pair)
        cells += len(pair.target_words) * len(pair.source_words)
        if cells > _MOST_CELLS:
            yield from align(waiting)
            waiting, cells = [], 0
    if waiting:
        yield from align(waiting)


def _translate_texts(
    translate: Translate, texts: Sequence[str], split: Callable[[str], Sequence[str]]
) -> list[list[Stretch]]:
    """Translate texts in one go, and say for each what became of its stretches."""

    def stripped(asked: Sequence[str]) -> list[str]:
        return [text.strip() for text in translate(asked)]

    parts = [[trimmed(part) for part in split(text)] for text in texts]
    found = iter(translate_protected(stripped, [core for each in parts for _, core, _ in each]))
    whole: list[list[Stretch]] = []
    for each in parts:
        stretches: list[Stretch] = []
        for before, _, after in each:
            translated = next(found)
            written, coming = target_of(stretches), target_of(translated)
            space = before if before or not stretches else gap(written, coming)
            stretches += [Stretch(before, space, True), *translated, Stretch(after, after, True)]
        whole.append(stretches)
    return whole
