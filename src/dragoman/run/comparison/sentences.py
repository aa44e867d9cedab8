"""What variants are measured on: the test set, and the validation set for perplexity."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.data import (
    Corpus,
    Dataset,
    Files,
    HoldOut,
    Pair,
    Several,
    parts_of,
    read_aligned,
    read_pairs,
)
from dragoman.recipe import Recipe
from dragoman.run.tasks.corpora import pairs_in, training_texts


@dataclass(frozen=True, slots=True)
class Sentences:
    """Raw text, as many references as sources; it may be empty.

    Args:
        name: of the files they come from, without their folders.
        sources: one segment each.
        references: their translations.
    """

    name: str
    sources: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


def read_test(recipe: Recipe) -> Sentences:
    """Read the test set, or the validation set when there is none.

    Raises:
        DataError: a file cannot be read, or is empty.
    """
    if recipe.data.test is None:
        return read_validation(recipe)
    corpus = pairs_in(recipe.data.test)
    pairs = [pair for part in parts_of(corpus) for pair in read_aligned(part)]
    return _sentences(_short_name(corpus), pairs)


def read_validation(recipe: Recipe) -> Sentences:
    """Read the validation set, or hold out again what training held out.

    Raises:
        DataError: a file cannot be read, or is empty.
    """
    if recipe.data.validation is not None:
        corpus = pairs_in(recipe.data.validation)
        pairs = [pair for part in parts_of(corpus) for pair in read_pairs(part).pairs]
        return _sentences(_short_name(corpus), pairs)
    text = training_texts(recipe)[0]
    draw = HoldOut(recipe.data.hold_out, recipe.training.seed)
    for pair in text.all_pairs():
        draw.offer(pair)
    held_out = draw.pairs()
    return _sentences(f"{len(held_out):,} pairs held out of {_short_name(text.corpus)}", held_out)


def _short_name(corpus: Corpus | Several) -> str:
    match corpus:
        case Several(parts=parts):
            return ", ".join(map(_short_name, parts))
        case Files(source=source, target=target):
            return f"{source.name} and {target.name}"
        case Dataset(dataset=name):
            return name
        case _:
            return corpus.file.name


def _sentences(name: str, pairs: Sequence[Pair]) -> Sentences:
    return Sentences(
        name, tuple(pair.source for pair in pairs), tuple(pair.target for pair in pairs)
    )
