import gc
import json
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.data import Batch, Batches, Prefetched, masked_batches
from dragoman.data.images import ImagePlan
from dragoman.errors import CheckpointError
from dragoman.tokenization import SpecialIds
from tests.data.test_batching import pair_ids, stores, token_batches

Source = Batches[Batch] | Prefetched[Batch]


def two_epochs(batches: Source) -> list[list[int]]:
    return pair_ids([batches.next_batch() for _ in range(2 * batches.batches_in_epoch)])


def two_epochs_ahead(depth: int) -> list[list[int]]:
    with Prefetched(token_batches(), depth=depth) as batches:
        return two_epochs(batches)


def numbered(make: Callable[[int], int], count: int = 8) -> Batches[int]:
    """Batches of one example each, in order; ``make`` gives the batch of an example."""
    plan = ImagePlan(count, rows=1)
    return Batches(plan, lambda examples, rng: make(int(examples[0])), seed=1, shuffle=False)


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "batches"]


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.001)


# The same batches.


@pytest.mark.parametrize("depth", [1, 2, 4, 100])
def test_batches_and_their_order_are_the_same_however_many_are_prepared(depth: int) -> None:
    assert two_epochs_ahead(depth) == two_epochs(token_batches())


def test_batches_and_their_order_do_not_depend_on_how_python_hashes() -> None:
    program = (
        "import json, sys\n"
        f"sys.path[:0] = [{str(Path(__file__).parents[2])!r}]\n"
        "from tests.data.test_prefetch import two_epochs_ahead\n"
        "print(json.dumps(two_epochs_ahead(3)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": "321"},  # this process has another, random by default
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == two_epochs(token_batches())


@settings(max_examples=25)
@given(
    depth=st.integers(1, 9),
    moves=st.lists(st.tuples(st.integers(0, 12), st.integers(1, 3), st.integers(0, 3)), max_size=4),
)
def test_going_elsewhere_and_on_is_the_same_with_and_without_a_worker(
    depth: int, moves: list[tuple[int, int, int]]
) -> None:
    plain = token_batches(20)
    with Prefetched(token_batches(20), depth=depth) as ahead:
        for taken, epoch, number in moves:
            for _ in range(taken):
                assert ahead.state() == plain.state()
                assert ahead.epoch == plain.epoch
                assert ahead.next_batch().pairs.tolist() == plain.next_batch().pairs.tolist()
            place = {"epoch": epoch, "batch": number % plain.batches_in_epoch}
            ahead.restore(place)
            plain.restore(place)
        assert pair_ids(list(ahead.whole_epoch())) == pair_ids(list(plain.whole_epoch()))
        assert pair_ids(ahead.largest()) == pair_ids(plain.largest())
        assert ahead.next_batch().pairs.tolist() == plain.next_batch().pairs.tolist()
        assert ahead.state() == plain.state()


def test_what_is_random_in_a_batch_is_the_same() -> None:
    def masked():
        sources, _ = stores(40)
        special = SpecialIds()
        return masked_batches(sources, share=0.3, vocabulary=60, budget=60, special=special, seed=1)

    plain = masked()
    with Prefetched(masked(), depth=3) as ahead:
        for _ in range(2 * plain.batches_in_epoch):
            expected, found = plain.next_batch(), ahead.next_batch()
            assert torch.equal(found.inputs, expected.inputs)
            assert torch.equal(found.targets, expected.targets)


def test_the_state_is_that_of_what_was_taken_and_the_batches_given_stay_where_they_were() -> None:
    made: list[int] = []
    given = numbered(lambda example: made.append(example) or example)
    with Prefetched(given, depth=5) as ahead:
        assert ahead.next_batch() == 0
        wait_until(lambda: len(made) == 6)
        assert ahead.state() == {"epoch": 1, "batch": 1}
    assert given.state() == {"epoch": 1, "batch": 0}


def test_no_more_batches_are_prepared_than_asked() -> None:
    made: list[int] = []
    with Prefetched(numbered(lambda example: made.append(example) or example), depth=2) as ahead:
        ahead.next_batch()
        wait_until(lambda: len(made) == 3)
        time.sleep(0.02)  # a worker that knew no limit would go on
        assert made == [0, 1, 2]


def test_a_place_that_does_not_exist_is_an_error_and_changes_nothing() -> None:
    with Prefetched(token_batches()) as ahead:
        ahead.next_batch()
        with pytest.raises(CheckpointError, match=r"no batch .* continue with the data"):
            ahead.restore({"epoch": 1, "batch": 999})
        assert ahead.state() == {"epoch": 1, "batch": 1}


def test_nothing_prepared_is_an_error() -> None:
    with pytest.raises(ValueError, match="depth: 0"):
        Prefetched(token_batches(), depth=0)


# What goes wrong in the worker, and its end.


def fail_at(example: int) -> int:
    if example == 3:
        raise OSError(f"example {example} cannot be read")
    return example


def test_what_goes_wrong_in_the_worker_surfaces_where_the_batch_is_taken() -> None:
    with Prefetched(numbered(fail_at), depth=8) as ahead:
        assert [ahead.next_batch() for _ in range(3)] == [0, 1, 2]
        for _ in range(2):  # not only the first time
            with pytest.raises(OSError, match="example 3 cannot be read") as caught:
                ahead.next_batch()
            assert "in fail_at" in "".join(traceback.format_exception(caught.value))
            assert ahead.state() == {"epoch": 1, "batch": 3}
        ahead.restore({"epoch": 1, "batch": 4})
        assert ahead.next_batch() == 4
    assert not workers()


def test_there_is_a_thread_only_between_the_first_batch_and_the_end() -> None:
    ahead = Prefetched(token_batches())
    assert not workers()
    expected = two_epochs(token_batches())
    found = [ahead.next_batch().pairs.tolist()]
    assert len(workers()) == 1
    ahead.close()
    ahead.close()
    assert not workers()
    found.append(ahead.next_batch().pairs.tolist())  # it goes on where it was
    assert found == expected[:2]
    ahead.close()


def test_the_thread_ends_when_an_error_leaves_the_block() -> None:
    def leave() -> None:
        with Prefetched(token_batches()) as ahead:
            ahead.next_batch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leave()
    assert not workers()


def test_the_thread_ends_when_nobody_holds_the_batches() -> None:
    ahead = Prefetched(token_batches())
    ahead.next_batch()
    (worker,) = workers()
    circle: list[Any] = [ahead]
    circle.append(circle)  # only the collector finds it
    del ahead, circle
    gc.collect()
    worker.join(20)
    assert not worker.is_alive()


def test_a_program_that_just_ends_does_not_hang_or_complain() -> None:
    program = (
        "import sys\n"
        f"sys.path[:0] = [{str(Path(__file__).parents[2])!r}]\n"
        "from dragoman.data import Prefetched\n"
        "from tests.data.test_batching import token_batches\n"
        "batches = Prefetched(token_batches())\n"
        "batches.next_batch()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (b"", b"")


# Memory for a GPU.


def test_pinning_without_a_gpu_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with Prefetched(token_batches(), pin=True) as ahead:
        assert torch.equal(ahead.next_batch().source, token_batches().next_batch().source)


def test_every_tensor_and_nothing_else_is_pinned_on_the_device_of_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen: list[tuple[int, threading.Thread]] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.setattr(
        torch.cuda, "set_device", lambda d: chosen.append((d, threading.current_thread()))
    )
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor + 1000)
    expected = token_batches().next_batch()
    with Prefetched(token_batches(), pin=True) as ahead:
        batch = ahead.next_batch()
        assert chosen == [(3, *workers())]
    assert torch.equal(batch.source, expected.source + 1000)
    assert torch.equal(batch.target_in, expected.target_in + 1000)
    assert torch.equal(batch.target_out, expected.target_out + 1000)
    assert batch.pairs.tolist() == expected.pairs.tolist()
    assert (batch.target_tokens, batch.padding) == (expected.target_tokens, expected.padding)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="pins memory for CUDA")
def test_every_tensor_is_pinned_and_the_rest_is_as_it_was() -> None:
    expected = token_batches().next_batch()
    with Prefetched(token_batches(), pin=True) as ahead:
        batch = ahead.next_batch()
    for found, plain in (
        (batch.source, expected.source),
        (batch.target_in, expected.target_in),
        (batch.target_out, expected.target_out),
    ):
        assert found.is_pinned()
        assert torch.equal(found, plain)
    pairs: NDArray[np.int64] = batch.pairs
    assert pairs.tolist() == expected.pairs.tolist()
    assert batch.target_tokens == expected.target_tokens
