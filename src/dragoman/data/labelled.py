"""Text with a class, or with a tag for each word, for encoders that classify.

Shapes: B sequences, S positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from dragoman.data.batching import Batches, pad_rows
from dragoman.data.corpora import Corpus
from dragoman.data.corpus import PairReport, open_corpus, read_pairs
from dragoman.data.corpus_files import corpus_name
from dragoman.data.lines import is_blank
from dragoman.data.masking import FRAME, frame
from dragoman.data.planning import BatchPlan, Integers
from dragoman.data.sharing import real_width
from dragoman.data.store import IdStore
from dragoman.errors import DataError
from dragoman.tokenization import SpecialIds, Tokenizer

NONE = -1  # the class of positions that have none


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassBatch:
    """Sequences and what they, or their positions, are."""

    examples: Integers  # which sequences, (B,)
    inputs: Tensor  # int64, (B, S)
    classes: Tensor  # int64, (B,) or (B, S); -1 is none
    target_tokens: int  # classes that are asked for
    padding: int  # id of the padding of inputs

    def rows(self, index: Integers) -> "ClassBatch":
        """Choose rows, in the order of ``index``, without the columns that only others fill."""
        inputs, classes = self.inputs[torch.as_tensor(index)], self.classes[torch.as_tensor(index)]
        width = real_width(inputs, self.padding)
        return ClassBatch(
            examples=self.examples[index],
            inputs=inputs[:, :width],
            classes=classes if classes.dim() == 1 else classes[:, :width],
            target_tokens=int((classes != NONE).sum()),
            padding=self.padding,
        )

    def unasked(self) -> "ClassBatch":
        """Give the same rows without classes."""
        return replace(self, classes=torch.full_like(self.classes, NONE), target_tokens=0)


def class_batches(
    sequences: IdStore,
    classes: Sequence[Sequence[int]],
    *,
    tags: bool,
    budget: int,
    special: SpecialIds,
    seed: int,
    shuffle: bool = True,
) -> Batches[ClassBatch]:
    """Make batches of sequences with their classes.

    Args:
        sequences: bare pieces, (N,).
        classes: one for each sequence, or one for each piece, -1 where a piece has none.
        tags: whether pieces have classes, not sequences.
        budget: most rows x longest row, added symbols included.
        special: ids of the symbols.
        seed: 0 or more.
        shuffle: off for validation.
    """
    ones = np.ones(len(sequences), dtype=np.int64)
    plan = BatchPlan.of(sequences.lengths + FRAME, ones, budget=budget)

    def collate(examples: Integers, rng: np.random.Generator) -> ClassBatch:
        rows = [frame(sequences[int(example)].tolist(), special) for example in examples]
        asked = [classes[int(example)] for example in examples]
        if tags:
            padded = pad_rows([[NONE, *row, NONE] for row in asked], NONE)
        else:
            padded = torch.tensor([row[0] for row in asked])
        inputs = pad_rows(rows, special.padding)
        count = int((padded != NONE).sum())
        return ClassBatch(
            examples=examples,
            inputs=inputs,
            classes=padded,
            target_tokens=count,
            padding=special.padding,
        )

    return Batches(plan, collate, seed=seed, shuffle=shuffle)


def read_labelled(corpus: Corpus) -> PairReport:
    """Read all texts with their labels; lines that are blank on both sides are left out.

    Raises:
        DataError: a text has no label or a label no text, or what ``read_pairs`` raises.
    """
    report = read_pairs(corpus)
    for pair in open_corpus(corpus) if report.blank else ():
        if is_blank(pair.source) != is_blank(pair.target):
            missing = "label" if is_blank(pair.target) else "text"
            problem = f"the {missing} is blank"
            hint = "give every text a label, or drop the line"
            raise DataError(corpus_name(corpus), problem, hint, line=pair.number)
    return report


def tag_pieces(tokenizer: Tokenizer, text: str, tags: Sequence[int]) -> tuple[list[int], list[int]]:
    """Cut words into pieces; the first piece of a word has its tag, the others have none.

    Args:
        tokenizer: cuts.
        text: words with white space between.
        tags: one for each word.

    Returns:
        Piece ids, and as many tags.

    Raises:
        ValueError: there are not as many tags as words.
    """
    words = text.split()
    if len(words) != len(tags):
        raise ValueError(f"{len(words)} words, but {len(tags)} tags")
    ids: list[int] = []
    given: list[int] = []
    for word, tag in zip(words, tags, strict=True):
        pieces = tokenizer.encode(word)
        ids += pieces
        given += [tag, *[NONE] * (len(pieces) - 1)]
    return ids, given


def list_classes(labels: Sequence[str], where: str) -> tuple[str, ...]:
    """List the classes that occur, sorted.

    Raises:
        DataError: there are fewer than two.
    """
    found = tuple(sorted(set(labels)))
    if len(found) < 2:
        problem = f"has the single class {found[0]!r}" if found else "has no classes"
        raise DataError(where, problem, "there is nothing to tell apart")
    return found
