from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data import (
    Batch,
    Batches,
    IdStore,
    class_batches,
    image_batches,
    masked_batches,
    pair_batches,
    placeholder,
    share,
    stream_batches,
)
from dragoman.data.batching import collate
from dragoman.data.sharing import real_width
from dragoman.data.stream import WindowPlan, cut_windows
from dragoman.tokenization import SpecialIds
from tests.data.test_batching import SPECIAL, integers, stores, token_batches

PADDING = 61  # as models of another origin have it, so that nothing takes 0 for granted
OTHER = SpecialIds(padding=PADDING, start=1, end=2)
SEQUENCES, TARGETS = stores(30)


def pairs_() -> Batches[Any]:
    return pair_batches(SEQUENCES, TARGETS, budget=60, special=OTHER, seed=1)


def windows() -> Batches[Any]:
    return stream_batches(SEQUENCES.ids, context=7, budget=30, special=OTHER, seed=1)


def gaps() -> Batches[Any]:
    options = {"budget": 60, "special": OTHER, "seed": 1}
    return masked_batches(SEQUENCES, share=0.3, vocabulary=60, **options)


def labels() -> Batches[Any]:
    classes = [[number % 3] for number in range(len(SEQUENCES))]
    return class_batches(SEQUENCES, classes, tags=False, budget=60, special=OTHER, seed=1)


def tags() -> Batches[Any]:
    classes = [(row % 4 - 1).tolist() for row in map(np.array, SEQUENCES.rows())]
    return class_batches(SEQUENCES, classes, tags=True, budget=60, special=OTHER, seed=1)


def images() -> Batches[Any]:
    pixels = np.random.default_rng(1).random((30, 3, 2, 1), dtype=np.float32)
    return image_batches(pixels, np.arange(30) % 4, rows=7, seed=1)


KINDS = [pairs_, windows, gaps, labels, tags, images]
every_kind = pytest.mark.parametrize("make", KINDS)


def rows_of(batch: Any) -> list[tuple[int, ...]]:
    """All there is of each row, without the padding at its end, its example in front."""
    names = ("source", "target_in", "target_out", "inputs", "targets", "classes")
    tensors = [getattr(batch, name) for name in names if hasattr(batch, name)]
    rows: list[tuple[int, ...]] = []
    for number, example in enumerate(batch.examples.tolist()):
        row = [example]
        for tensor in tensors:
            cells = tensor[number].flatten().tolist()
            while cells and cells[-1] in (PADDING, -1):
                cells.pop()
            row += [*cells, 10_000]  # no id: ends a tensor
        rows.append(tuple(row))
    return rows


# Sharing.


@given(count=st.integers(1, 6), ranks=st.integers(1, 4), kind=st.sampled_from(KINDS))
@settings(max_examples=60)
def test_every_example_of_an_update_is_in_one_share_as_it_was(
    count: int, ranks: int, kind: Callable[[], Batches[Any]]
) -> None:
    batches = kind()
    window = [batches.next_batch() for _ in range(count)]
    shares = [share(window, rank, ranks) for rank in range(ranks)]
    shared = [batch for part in shares for batch in part]
    assert sorted(row for batch in shared for row in rows_of(batch)) == sorted(
        row for batch in window for row in rows_of(batch)
    )
    asked = sum(batch.target_tokens for batch in window)
    assert sum(batch.target_tokens for batch in shared) == asked


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_each_pair_is_seen_once_in_an_epoch_over_all_processes(ranks: int) -> None:
    seen: list[int] = []
    for rank in range(ranks):  # each process makes the same batches and takes its share
        batches = token_batches()
        window: list[Batch] = []
        for _ in range(batches.batches_in_epoch):
            window.append(batches.next_batch())
            if len(window) == 2 or batches.epoch == 2:
                seen += [int(pair) for part in share(window, rank, ranks) for pair in part.pairs]
                window.clear()
    assert sorted(seen) == list(range(50))


def test_whole_batches_go_round_when_there_are_as_many_for_each() -> None:
    batches = token_batches()
    window = [batches.next_batch() for _ in range(4)]
    assert share(window, 0, 2) == [window[0], window[2]]
    assert share(window, 1, 2) == [window[1], window[3]]
    assert share(window, 0, 1) == window


def test_otherwise_each_batch_is_divided_and_too_few_rows_leave_some_without() -> None:
    sources = IdStore.from_sequences([[5, 6, 7], [8], [9, 5]])
    targets = IdStore.from_sequences([[4], [3, 4, 5], [6]])
    window = [collate(integers(0, 1, 2), sources, targets, SPECIAL)]
    first, second = (share(window, rank, 2) for rank in (0, 1))
    assert [batch.pairs.tolist() for batch in first + second] == [[0, 2], [1]]
    assert first[0].source.tolist() == [[5, 6, 7, 2], [9, 5, 2, 0]]
    assert first[0].target_in.tolist() == [[1, 4], [1, 6]]  # two columns were of row 1 alone
    assert first[0].target_out.tolist() == [[4, 2], [6, 2]]
    assert second[0].source.tolist() == [[8, 2]]
    assert second[0].target_out.tolist() == [[3, 4, 5, 2]]
    assert (first[0].target_tokens, second[0].target_tokens) == (4, 4)
    assert share(window, 3, 4) == []


@pytest.mark.parametrize(("rank", "ranks"), [(2, 2), (-1, 2), (0, 0)])
def test_a_process_that_does_not_exist_is_an_error(rank: int, ranks: int) -> None:
    with pytest.raises(ValueError, match=f"no process {rank} of {ranks}"):
        share([], rank, ranks)


# Rows.


@every_kind
def test_rows_of_a_batch_are_those_that_making_them_alone_would_give(
    make: Callable[[], Batches[Any]],
) -> None:
    batch = make().next_batch()
    alone = batch.rows(integers(1))
    assert alone.examples.tolist() == batch.examples[[1]].tolist()
    assert rows_of(alone) == rows_of(batch)[1:2]
    for name in ("source", "target_in", "inputs"):
        if hasattr(alone, name) and make is not images:
            assert (getattr(alone, name)[0] != PADDING).all()
    swapped = batch.rows(integers(1, 0))
    assert rows_of(swapped) == rows_of(batch)[1::-1]


@every_kind
def test_a_placeholder_is_one_row_that_asks_for_nothing(make: Callable[[], Batches[Any]]) -> None:
    batch = make().next_batch()
    idle = placeholder(batch)
    assert type(idle) is type(batch)
    assert idle.examples.tolist() == batch.examples[:1].tolist()
    assert idle.target_tokens == 0
    assert rows_of(idle)[0][:2] == rows_of(batch)[0][:2]  # there is something to read
    if hasattr(idle, "classes"):
        assert (idle.classes == -1).all()
    else:
        asked = idle.target_out if isinstance(idle, Batch) else idle.targets
        assert (asked == PADDING).all()
    assert batch.target_tokens > 0


# Largest.


@every_kind
def test_the_largest_batches_of_every_kind_are_no_smaller_than_any_other(
    make: Callable[[], Batches[Any]],
) -> None:
    def slots(batch: Any) -> int:
        names = ("source", "target_in", "inputs")
        return sum(getattr(batch, name).numel() for name in names if hasattr(batch, name))

    batches = make()
    largest = batches.largest()
    assert batches.state() == {"epoch": 1, "batch": 0}
    assert len(largest) == 2
    for _ in range(6 * batches.batches_in_epoch):
        assert slots(batches.next_batch()) <= slots(largest[0])


@given(length=st.integers(2, 90), context=st.integers(1, 12), rows=st.integers(1, 5))
def test_no_epoch_has_more_windows_in_a_batch_than_the_plan_says(
    length: int, context: int, rows: int
) -> None:
    plan, stream = WindowPlan(length, context=context, rows=rows), np.full(length, 9, np.int32)
    shapes = plan.shapes()
    assert shapes.source.tolist() == [context] * len(plan)
    most = np.zeros(len(plan), dtype=np.int64)
    for seed in range(4 * context + 9):
        sizes = [batch.size for batch in plan.deal(np.random.default_rng(seed))]
        most = np.maximum(most, sizes)
        assert (shapes.rows >= sizes).all()
    for number, most_rows in enumerate(shapes.rows):
        starts = plan.heaviest(number)
        assert starts.size == most_rows
        batch = cut_windows(stream, starts, context=context, special=SPECIAL)
        assert int((batch.inputs != 0).sum()) == most_rows * min(context, length - 1)
    assert (shapes.rows - most <= 1).all()


def test_columns_end_with_the_last_that_holds_more_than_padding() -> None:
    # Padding within a row is what was asked for, not its end.
    assert real_width(torch.tensor([[5, 0, 0, 0], [5, 0, 6, 0]]), 0) == 3
    assert real_width(torch.tensor([[0, 0, 0, 0]]), 9) == 4
