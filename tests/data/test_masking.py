import numpy as np

from dragoman.data import IdStore, MaskedBatch, mask_pieces, masked_batches
from dragoman.tokenization import SpecialIds

SPECIAL = SpecialIds()
ROWS = [np.arange(10, 10 + n, dtype=np.int32) for n in (0, 1, 5, 30, 4, 30, 17)]


def as_rows(batch: MaskedBatch) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every row of a batch with what is asked of it, without padding at its end."""
    rows = zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True)
    return {(tuple(i[: i.index(2) + 1]), tuple(t[: i.index(2) + 1])) for i, t in rows}


def batches_of(budget: int, *, shuffle: bool, seed: int = 0):
    store = IdStore.from_sequences([row.tolist() for row in ROWS])
    return masked_batches(
        store,
        share=0.3,
        vocabulary=60,
        budget=budget,
        special=SPECIAL,
        seed=seed,
        shuffle=shuffle,
    )


def test_gaps_of_a_validation_do_not_depend_on_the_size_of_batches() -> None:
    found = [
        set[object]().union(*map(as_rows, batches_of(budget, shuffle=False).whole_epoch()))
        for budget in (8, 40, 4096)
    ]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == len(ROWS)


def test_every_epoch_of_a_training_has_gaps_of_its_own() -> None:
    batches = batches_of(4096, shuffle=True)
    first, second = (as_rows(batches.next_batch()) for _ in range(2))
    assert first != second


def test_most_chosen_pieces_become_gaps_some_others_and_some_stay() -> None:
    rows = [np.full(20_000, 50, dtype=np.int32)]
    rng = np.random.default_rng(1)
    batch = mask_pieces(rows, share=0.15, vocabulary=54, special=SPECIAL, rng=rng)
    read, asked = batch.inputs[0, 1:-1], batch.targets[0, 1:-1]
    chosen = asked != SPECIAL.padding
    assert batch.target_tokens == int(chosen.sum())
    assert abs(batch.target_tokens / 20_000 - 0.15) < 0.01
    assert (asked[chosen] == 50).all()
    assert (read[~chosen] == 50).all()
    # 80 % gaps, 10 % drawn from the 50 pieces that are text, 10 % as they were (BERT, section 3.1).
    hidden = (read[chosen] == SPECIAL.unknown).float().mean()
    stayed = (read[chosen] == 50).float().mean()
    assert abs(float(hidden) - 0.8) < 0.03
    assert abs(float(stayed) - (0.1 + 0.1 / 50)) < 0.03
    assert int(read.min()) >= SPECIAL.unknown  # never padding, start or end


def test_every_sequence_with_a_piece_is_asked_for_one() -> None:
    rng = np.random.default_rng(1)
    batch = mask_pieces(ROWS, share=1e-9, vocabulary=60, special=SPECIAL, rng=rng)
    asked = (batch.targets != SPECIAL.padding).sum(1).tolist()
    assert asked == [0, *[1] * (len(ROWS) - 1)]
    assert batch.target_tokens == len(ROWS) - 1
