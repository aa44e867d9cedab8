"""What variants are measured on: the test set, and the validation set for perplexity."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.data import Corpus, Files, Pair, read_aligned, read_pairs
from dragoman.recipe import Recipe
from dragoman.run.tasks.pairs import hold_out, parallel


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
    corpus = parallel(recipe.data.test)
    return _sentences(_short_name(corpus), read_aligned(corpus))


def read_validation(recipe: Recipe) -> Sentences:
    """Read the validation set, or hold out again what training held out.

    Raises:
        DataError: a file cannot be read, or is empty.
    """
    if recipe.data.validation is not None:
        corpus = parallel(recipe.data.validation)
        return _sentences(_short_name(corpus), read_pairs(corpus).pairs)
    corpus = parallel(recipe.data.train)
    _, held_out = hold_out(read_pairs(corpus).pairs, recipe)
    return _sentences(f"{len(held_out):,} pairs held out of {_short_name(corpus)}", held_out)


def _short_name(corpus: Corpus) -> str:
    paths = (corpus.source, corpus.target) if isinstance(corpus, Files) else (corpus.file,)
    return " and ".join(path.name for path in paths)


def _sentences(name: str, pairs: Sequence[Pair]) -> Sentences:
    return Sentences(
        name, tuple(pair.source for pair in pairs), tuple(pair.target for pair in pairs)
    )
