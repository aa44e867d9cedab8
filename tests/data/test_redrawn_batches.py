"""Batches whose pairs are made anew each time."""

from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.data import Batch, Batches, CaseAugmentation, IdStore, Redraw, pair_batches
from dragoman.tokenization import MergeDropout, TokenizerConfig, learn_tokenizer
from tests.fixtures import ENGLISH, GERMAN

LINES = [f"{number} {line}" for number in range(6) for line in GERMAN]
TARGETS = [f"{number} {line}" for number in range(6) for line in ENGLISH]
tokenizer = learn_tokenizer(LINES + TARGETS, TokenizerConfig(size=330))
STORES = tuple(IdStore.from_sequences(tokenizer.encode_many(side)) for side in (LINES, TARGETS))
BUDGET = 90


def redraw(chance: float = 0.3, upper: float = 0.2) -> Redraw:
    case = CaseAugmentation(upper=upper, title=0.1) if upper else None
    return Redraw((tokenizer,), sampling=MergeDropout(chance=chance), case=case, longest=BUDGET - 1)


def batches(
    redraw: Redraw | None, *, seed: int = 1, first: int = 0, folder: Path | None = None
) -> Batches[Batch]:
    return pair_batches(
        *STORES,
        budget=BUDGET,
        special=tokenizer.special,
        seed=seed,
        redraw=redraw,
        first=first,
        folder=folder,
    )


def epoch(given: Batches[Batch]) -> dict[int, tuple[list[int], list[int]]]:
    """Give the next epoch, by pair, without padding."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    for _ in range(given.batches_in_epoch):
        batch = given.next_batch()
        for pair, source, target in zip(
            batch.pairs.tolist(), batch.source.tolist(), batch.target_out.tolist(), strict=True
        ):
            sides = [[i for i in side if i != batch.padding] for side in (source, target)]
            found[pair] = sides[0], sides[1]
    return found


def test_no_draw_makes_a_batch_larger_than_the_budget_or_than_what_was_tried() -> None:
    given = batches(redraw())
    largest = given.largest(given.batches_in_epoch)
    slots = max(batch.source.numel() + batch.target_out.numel() for batch in largest)
    said = max(batch.target_tokens for batch in largest)
    seen = 0
    for _ in range(12 * given.batches_in_epoch):
        batch = given.next_batch()
        for side in (batch.source, batch.target_in, batch.target_out):
            assert side.numel() <= BUDGET
        assert batch.source.numel() + batch.target_out.numel() <= slots
        assert batch.target_tokens <= said
        seen = max(seen, batch.source.numel() + batch.target_out.numel())
    assert seen > 0.5 * slots  # the room is not far more than what is drawn


def test_what_is_tried_before_training_fills_the_shapes_of_the_plan() -> None:
    given = batches(redraw())
    for batch in given.largest(3):
        assert not (batch.source == batch.padding).all(1).any()
        assert batch.target_tokens == int((batch.target_out != batch.padding).sum())
        widths = (batch.source != batch.padding).sum(1)
        # Each row is as long as planned: the rooms of 5 times and of 1 + 6 x 0.3 times its ids.
        stored = np.array([len(STORES[0][int(pair)]) for pair in batch.pairs])
        assert (widths.numpy() - 1 >= np.minimum(2.8 * stored, BUDGET - 1)).all()
    assert given.state() == {"epoch": 1, "batch": 0}


def test_every_epoch_has_all_pairs_as_the_same_text_cut_in_another_way() -> None:
    given = batches(redraw(upper=0.0))
    first, second = epoch(given), epoch(given)
    assert first.keys() == second.keys() == {*range(len(LINES))}
    for found in (first, second):
        for pair, (source, target) in found.items():
            assert tokenizer.decode(source[:-1]) == LINES[pair]
            assert tokenizer.decode(target[:-1]) == TARGETS[pair]
    differ = sum(first[pair] != second[pair] for pair in first)
    assert differ > len(LINES) / 2


def test_going_on_gives_the_same_draws() -> None:
    straight, stopped = batches(redraw()), batches(redraw())
    for _ in range(straight.batches_in_epoch + 2):
        straight.next_batch()
        stopped.next_batch()
    fresh = batches(redraw())
    fresh.restore(stopped.state())
    for _ in range(straight.batches_in_epoch):
        expected, found = straight.next_batch(), fresh.next_batch()
        assert np.array_equal(found.pairs, expected.pairs)
        assert torch.equal(found.source, expected.source)
        assert torch.equal(found.target_in, expected.target_in)


def test_where_a_corpus_begins_changes_names_only() -> None:
    plain, later = batches(redraw()), batches(redraw(), first=100)
    for _ in range(plain.batches_in_epoch):
        one, other = plain.next_batch(), later.next_batch()
        assert np.array_equal(one.pairs + 100, other.pairs)
        assert torch.equal(one.source, other.source)
    filled, shifted = plain.largest(1)[0], later.largest(1)[0]
    assert np.array_equal(filled.pairs + 100, shifted.pairs)


def test_plans_with_room_and_without_are_kept_apart(tmp_path: Path) -> None:
    kinds = [None, redraw(0.3), redraw(0.1), redraw(0.3, upper=0.0)]
    for kind in kinds:
        first, again = batches(kind, folder=tmp_path), batches(kind, folder=tmp_path)
        memory = batches(kind)
        for _ in range(first.batches_in_epoch):
            pairs = first.next_batch().pairs
            assert np.array_equal(pairs, again.next_batch().pairs)
            assert np.array_equal(pairs, memory.next_batch().pairs)
    names = {path.name for path in tmp_path.glob("*.npz")}
    assert len(names) == len(kinds)
    assert f"plan-stored-{BUDGET}.npz" in names


@pytest.mark.parametrize("text", ["", "ja"])
def test_an_empty_side_is_tried_too(text: str) -> None:
    stores = [IdStore.from_sequences([tokenizer.encode(side)] * 3) for side in (text, "ja")]
    given = pair_batches(
        *stores, budget=30, special=tokenizer.special, seed=1, redraw=redraw(upper=0.5)
    )
    assert given.largest(1)[0].target_tokens > 0
    assert given.next_batch().target_tokens > 0
