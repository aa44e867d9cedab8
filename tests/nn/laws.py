"""Laws that every model with an encoder and a decoder keeps, whatever its parts."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from dragoman.models import SequenceToSequence

VOCABULARY, PADDING, START = 11, 0, 1
SEEDS = st.integers(0, 2**31)
LENGTHS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=3)
WIDTHS = st.sampled_from([1, 3])  # hypotheses of a source
CHUNKS = st.lists(st.integers(1, 3), min_size=1, max_size=5)  # positions fed at once
KEPT = st.permutations([0, 1, 2]).map(lambda order: order[:2])  # sources that go on
PICKS = st.lists(st.integers(0, 2), min_size=6, max_size=6)  # hypotheses that go on

CLOSE: dict[str, Any] = {"atol": 1e-10, "rtol": 0}  # the models are in float64


def random_ids(*shape: int, seed: int) -> Tensor:
    """Draw ids of real pieces."""
    rng = torch.Generator().manual_seed(seed)
    return torch.randint(START, VOCABULARY, shape, generator=rng)


def padded(rows: Sequence[Tensor], extra: int = 0) -> Tensor:
    width = max(len(row) for row in rows) + extra
    ids = torch.full((len(rows), width), PADDING)
    for row, real in zip(ids, rows, strict=True):
        row[: len(real)] = real
    return ids


def assert_the_future_is_unseen(model: SequenceToSequence, start: int, seed: int) -> None:
    """Later target ids never change earlier logits, to the bit."""
    source, target = random_ids(2, 5, seed=seed), random_ids(2, 7, seed=seed + 1)
    changed = target.clone()
    changed[:, start:] = random_ids(2, 7 - start, seed=seed + 2)
    before, after = model(source, target), model(source, changed)
    assert torch.equal(before[:, :start], after[:, :start])


def assert_batch_mates_do_not_matter(
    model: SequenceToSequence, lengths: Sequence[tuple[int, int]], extra: int, seed: int
) -> None:
    """Neither padding nor other rows change the logits of a row."""
    sources = [random_ids(length, seed=seed + n) for n, (length, _) in enumerate(lengths)]
    targets = [random_ids(length, seed=seed - n - 1) for n, (_, length) in enumerate(lengths)]
    together = model(padded(sources, extra), padded(targets, extra))
    for source, target, logits in zip(sources, targets, together, strict=True):
        alone = model(source[None], target[None])[0]
        torch.testing.assert_close(logits[: len(target)], alone, **CLOSE)


def assert_padding_has_no_vector(model: SequenceToSequence, table: Tensor, *, left: bool) -> None:
    """The vector of the padding piece changes nothing, also where it stands before the rest."""
    source, target = padded([random_ids(3, seed=0)], 2), padded([random_ids(4, seed=1)], 2)
    if left:
        source, target = source.flip(1), target.flip(1)
    real = target[0] != PADDING
    before = model(source, target)[0, real, 1:]  # column 0 scores the padding piece itself
    table.data[PADDING] += 5
    after = model(source, target)[0, real, 1:]
    torch.testing.assert_close(after, before, **CLOSE)


def assert_steps_equal_the_whole(
    model: SequenceToSequence, width: int, chunks: Sequence[int], seed: int
) -> None:
    """Cached decoding equals recomputation (field report 24)."""
    # Three sources of different lengths, one of them empty.
    memory: Any = model.encode(padded([random_ids(n, seed=seed + n) for n in (4, 0, 2)]))
    ids = random_ids(3 * width, sum(chunks), seed=seed)
    cache: Any = model.start(memory)
    logits: list[Tensor] = []
    for new in ids.split(list(chunks), 1):
        found, cache = model.step(new, cache)
        logits.append(found)
    assert cache.length == sum(chunks)
    expected = recomputed(model, memory, ids)
    torch.testing.assert_close(torch.cat(logits, 1), expected, **CLOSE)


def assert_selected_rows_go_on(
    model: SequenceToSequence, width: int, kept: Sequence[int], picks: list[int], seed: int
) -> None:
    """Rows that stay, reordered and repeated, go on as if they had been alone."""
    memory: Any = model.encode(padded([random_ids(n, seed=seed + n) for n in (4, 1, 2)]))
    first = random_ids(3 * width, 3, seed=seed)
    start: Any = model.start(memory)
    cache: Any = model.step(first, start)[1]
    sources = torch.tensor(kept)
    chosen = [source * width + picks.pop() % width for source in kept for _ in range(width)]
    rows = torch.tensor(chosen)
    second = random_ids(len(rows), 2, seed=seed + 9)
    logits, cache = model.step(second, cache.select(rows, sources))
    rest = select_memory(memory, sources)
    expected = recomputed(model, rest, torch.cat((first[rows], second), 1))
    torch.testing.assert_close(logits, expected[:, 3:], **CLOSE)
    assert cache.length == 5
    assert cache.memory_visible.shape == (2, 1, 1, 4)


def assert_an_old_cache_may_be_used_again(model: SequenceToSequence) -> None:
    """A step leaves the cache that it was given as it was."""
    memory: Any = model.encode(random_ids(1, 3, seed=0))
    start: Any = model.start(memory)
    cache: Any = model.step(torch.tensor([[START]]), start)[1]
    once, _ = model.step(torch.tensor([[4]]), cache)
    model.step(torch.tensor([[5]]), cache)
    again, _ = model.step(torch.tensor([[4]]), cache)
    assert torch.equal(once, again)
    assert (start.length, cache.length) == (0, 1)


def recomputed(model: SequenceToSequence, memory: Any, ids: Tensor) -> Tensor:
    """Score targets without a cache; the hypotheses of one source stand side by side."""
    width = len(ids) // len(memory.states)
    rows = torch.arange(len(memory.states)).repeat_interleave(width)
    return model.generator(model.decode(ids, select_memory(memory, rows)))


def select_memory(memory: Any, rows: Tensor) -> Any:
    """Take some sources of a memory, all of whose fields have a row for each."""
    return replace(memory, **{f.name: getattr(memory, f.name)[rows] for f in fields(memory)})
