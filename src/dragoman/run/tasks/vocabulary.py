"""Where the tokenizers of a run come from: learned, its own of before, or those of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.bundle import load_tokenizers, save_tokenizers
from dragoman.errors import ConfigError, DataError
from dragoman.tokenization import (
    Tokenizer,
    TokenizerConfig,
    extend_tokenizers,
    learn_tokenizer,
    learn_tokenizers,
)
from dragoman.tokenization.tokenizer import BYTE_PIECES, SPECIAL_PIECES

SAMPLE = 1_000  # lines by which a tokenizer is judged


@dataclass(frozen=True, slots=True)
class Given:
    """What the data of a run takes from the model that the run starts from.

    Args:
        tokenizers: one for each vocabulary; none when the model reads images.
        classes: what it chooses from, if it classifies.
    """

    tokenizers: tuple[Tokenizer, ...]
    classes: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokenizers of a run.

    Args:
        tokenizers: one when there is one vocabulary, otherwise of source and target.
        fit: how well they fit text that they were not learned from, in lines.
    """

    tokenizers: tuple[Tokenizer, ...]
    fit: tuple[str, ...] = ()


def prepare_tokenizers(
    config: TokenizerConfig,
    folder: Path,
    texts: Sequence[Sequence[str]],
    *,
    reuse: bool,
    given: Given | None,
) -> Vocabulary:
    """Learn tokenizers, or take those that are there.

    Args:
        config: what to learn.
        folder: of the run.
        texts: lines to learn from: of source and target, or of one side.
        reuse: take those in ``folder``, to go on with its run.
        given: take those of a model, extended if ``config.extend`` says so.

    Raises:
        ConfigError: the vocabulary of the model cannot be extended.
        DataError: there is no text to learn from.
        ModelError: the tokenizers of the run are damaged.
    """
    if reuse:
        return Vocabulary(load_tokenizers(folder))
    if given is not None:
        return _take(given.tokenizers, texts, config.extend)
    if len(texts) == 1:
        return Vocabulary((learn_tokenizer(texts[0], config),))
    source, target = learn_tokenizers(texts[0], texts[1], config)
    return Vocabulary((source,) if source is target else (source, target))


def keep_tokenizers(folder: Path, tokenizers: Sequence[Tokenizer], *, reuse: bool) -> None:
    """Write new tokenizers; only now, so that text which cannot be used leaves nothing behind."""
    if not reuse:
        folder.mkdir(parents=True, exist_ok=True)
        save_tokenizers(folder, tokenizers)


def given_classes(given: Given | None, found: tuple[str, ...], where: str) -> tuple[str, ...]:
    """Give the classes of the model that a run starts from, or those found in the data.

    Raises:
        DataError: the data has a class that the model does not know.
    """
    if given is None or given.classes is None:
        return found
    for name in found:
        if name not in given.classes:
            problem = f"{name!r} is not a class of the model to start from"
            raise DataError(where, problem, f"it has {', '.join(given.classes[:10])}")
    return given.classes


def pieces_per_word(tokenizer: Tokenizer, lines: Sequence[str]) -> tuple[float, float]:
    """Measure how a tokenizer cuts text.

    Args:
        tokenizer: to judge.
        lines: some text.

    Returns:
        Pieces for each word between spaces, and the share in [0, 1] of the pieces that are single
        bytes or unknown; zeros for text without words.
    """
    ids = [number for row in tokenizer.encode_many(lines) for number in row]
    spelled = {*BYTE_PIECES, SPECIAL_PIECES[tokenizer.special.unknown]}
    count = sum(piece in spelled for piece in tokenizer.pieces(ids))
    words = sum(len(line.split()) for line in lines)
    return (len(ids) / words, count / len(ids)) if words else (0.0, 0.0)


def _take(olds: tuple[Tokenizer, ...], texts: Sequence[Sequence[str]], extend: int) -> Vocabulary:
    """Take the tokenizers of a model, extended by the text if asked; say how well they fit it."""
    tokenizers = olds
    if extend:
        try:
            tokenizers = extend_tokenizers(olds, texts, extend)
        except ConfigError as error:
            raise error.inside("tokenizer") from None
    sides = ("source", "target") if len(texts) == 2 else ("text",)
    lines: list[str] = []
    for index, (side, text) in enumerate(zip(sides, texts, strict=True)):
        which = min(index, len(olds) - 1)
        sample = text[:: max(1, len(text) // SAMPLE)][:SAMPLE]
        per_word, share = pieces_per_word(olds[which], sample)
        lines.append(
            f"{side}: the tokenizer makes {per_word:.2f} pieces a word, {share:.1%} of them single "
            f"bytes or unknown (in {len(sample):,} lines)"
        )
        if extend:
            added = tokenizers[which].size - olds[which].size
            per_word, share = pieces_per_word(tokenizers[which], sample)
            lines.append(f"{side}: with {added:,} new pieces {per_word:.2f}, and {share:.1%}")
    return Vocabulary(tokenizers, tuple(lines))
