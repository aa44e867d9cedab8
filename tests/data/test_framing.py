"""What stands around a source and before a target, put there by one class."""

import numpy as np
import pytest
import torch

from dragoman.data import Frame, IdStore, pair_batches
from dragoman.data.batching import collate
from dragoman.data.store import PairLengths
from dragoman.errors import ConfigError
from dragoman.models import ModelConfig
from dragoman.tokenization import SpecialIds

SPECIAL = SpecialIds(padding=1, start=2, end=2, unknown=3)
BART = Frame(SPECIAL, (0,), (2,), (2, 0))
MBART = Frame(SPECIAL, (), (2, 90), (91,))
SOURCES = IdStore.from_sequences([[10, 11], [12]])
TARGETS = IdStore.from_sequences([[20], [21, 22, 23]])


def test_special_ids_alone_stand_as_in_the_paper() -> None:
    frame = Frame.of(SpecialIds())
    assert frame.source([7, 8]) == [7, 8, 2]
    assert (frame.target_in([7]), frame.target_out([7])) == ([1, 7], [7, 2])
    assert (frame.source_added, frame.target_added) == (1, 1)
    assert frame.never_written == (0, 1, 3)
    assert Frame.of(frame) is frame


def test_models_with_more_symbols_read_them_and_are_asked_for_text_alone() -> None:
    assert BART.source([7]) == [0, 7, 2]
    assert (BART.target_in([7]), BART.target_out([7])) == ([2, 0, 7], [1, 7, 2])
    assert (MBART.source([7]), MBART.target_in([7])) == ([7, 2, 90], [91, 7])
    assert (BART.source_added, MBART.source_added) == (2, 2)
    assert (BART.target_added, MBART.target_added) == (2, 1)


def test_what_begins_a_target_is_never_written_but_for_the_end_symbol() -> None:
    assert {*BART.never_written} == {0, 1, 3}
    assert {*MBART.never_written} == {1, 3, 91}


def test_an_empty_source_without_symbols_is_one_piece_of_padding() -> None:
    assert Frame(SPECIAL, (), (), (2,)).source([]) == [1]


def test_a_batch_holds_the_symbols_and_counts_what_is_asked() -> None:
    batch = collate(np.array([0, 1]), SOURCES, TARGETS, BART)
    assert batch.source.tolist() == [[0, 10, 11, 2], [0, 12, 2, 1]]
    assert batch.target_in.tolist() == [[2, 0, 20, 1, 1], [2, 0, 21, 22, 23]]
    assert batch.target_out.tolist() == [[1, 20, 2, 1, 1], [1, 21, 22, 23, 2]]
    assert batch.target_tokens == 6
    one = batch.rows(np.array([0]))
    assert one.target_in.tolist() == [[2, 0, 20]]
    assert (one.target_out.tolist(), one.target_tokens) == ([[1, 20, 2]], 2)


def test_a_target_that_begins_with_padding_and_is_empty_keeps_its_place() -> None:
    t5 = Frame.of(SpecialIds(padding=0, start=0, end=1, unknown=2))
    batch = collate(np.array([0]), SOURCES, IdStore.from_sequences([[]]), t5)
    one = batch.rows(np.array([0]))
    assert (one.target_in.tolist(), one.target_out.tolist()) == ([[0]], [[1]])


def test_the_budget_of_a_batch_counts_all_symbols() -> None:
    added = np.array([[BART.source_added], [BART.target_added]])
    assert PairLengths(SOURCES, TARGETS, added=added).block(0, 2).tolist() == [[4, 3], [3, 5]]
    made = pair_batches(SOURCES, TARGETS, budget=5, special=BART, seed=1)
    sizes = [batch.target_in.shape for batch in made.whole_epoch()]
    assert sorted(sizes) == [torch.Size([1, 3]), torch.Size([1, 5])]  # together they had 2 x 5


def test_ids_outside_the_vocabulary_and_frames_of_other_models_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"target_before: 50 is no id of a vocabulary of 40"):
        ModelConfig(vocabulary=60, target_vocabulary=40, target_before=(50,))
    with pytest.raises(ConfigError, match="source_after: is for encoder-decoder"):
        ModelConfig(architecture="decoder-only", source_after=())
