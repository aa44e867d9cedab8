from collections.abc import Sequence
from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.models import Learned, ModelConfig, Sinusoidal
from dragoman.nn import (
    AttentionKernel,
    EncoderDecoder,
    KeyValues,
    Memory,
    MultiHeadAttention,
    fused_attention,
    reference_attention,
)
from tests.fixtures import build_encoder_decoder

VOCABULARY, PADDING, START = 11, 0, 1
SEEDS = st.integers(0, 2**31)
BOTH_KERNELS = pytest.mark.parametrize("kernel", [fused_attention, reference_attention])


def small_model(
    *,
    norm_order: Literal["post", "pre"] = "post",
    positions: Sinusoidal | Learned | None = None,
    kernel: AttentionKernel = fused_attention,
) -> EncoderDecoder:
    config = ModelConfig(
        layers=2,
        d_model=8,
        heads=2,
        d_ff=12,
        norm_order=norm_order,
        positions=positions or Sinusoidal(),
        vocabulary=VOCABULARY,
        padding=PADDING,
    )
    model = build_encoder_decoder(config, torch.Generator().manual_seed(7)).double().eval()
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.kernel = kernel
    return model


MODELS = st.builds(
    small_model,
    norm_order=st.sampled_from(["post", "pre"]),
    positions=st.sampled_from([Sinusoidal(), Learned(max_length=40)]),
)


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


# Whole targets at once


@given(model=MODELS, start=st.integers(1, 6), seed=SEEDS)
@settings(max_examples=30)
def test_later_target_ids_never_change_earlier_logits_to_the_bit(
    model: EncoderDecoder, start: int, seed: int
) -> None:
    model.float()
    source, target = random_ids(2, 5, seed=seed), random_ids(2, 7, seed=seed + 1)
    changed = target.clone()
    changed[:, start:] = random_ids(2, 7 - start, seed=seed + 2)
    before, after = model(source, target), model(source, changed)
    assert torch.equal(before[:, :start], after[:, :start])


@given(
    model=MODELS,
    lengths=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=3),
    extra=st.integers(0, 3),
    seed=SEEDS,
)
@settings(max_examples=30)
def test_padding_and_batch_mates_never_change_a_result(
    model: EncoderDecoder, lengths: list[tuple[int, int]], extra: int, seed: int
) -> None:
    sources = [random_ids(length, seed=seed + n) for n, (length, _) in enumerate(lengths)]
    targets = [random_ids(length, seed=seed - n - 1) for n, (_, length) in enumerate(lengths)]
    together = model(padded(sources, extra), padded(targets, extra))
    for source, target, logits in zip(sources, targets, together, strict=True):
        alone = model(source[None], target[None])[0]
        torch.testing.assert_close(logits[: len(target)], alone, atol=1e-10, rtol=0)


@pytest.mark.parametrize("left", [False, True])
def test_vector_of_the_padding_piece_never_changes_a_result(left: bool) -> None:
    model = small_model()
    source, target = padded([random_ids(3, seed=0)], 2), padded([random_ids(4, seed=1)], 2)
    if left:  # also where padding stands before what reads it
        source, target = source.flip(1), target.flip(1)
    real = target[0] != PADDING
    before = model(source, target)[0, real, 1:]  # column 0 scores the padding piece itself
    model.generator.table.data[PADDING] += 5
    after = model(source, target)[0, real, 1:]
    torch.testing.assert_close(after, before, atol=1e-10, rtol=0)


@BOTH_KERNELS
@pytest.mark.parametrize("norm_order", ["post", "pre"])
def test_a_source_of_padding_alone_harms_neither_its_batch_nor_the_gradients(
    kernel: AttentionKernel, norm_order: Literal["post", "pre"]
) -> None:
    # Field report 14: a batch of lengths [3, 0]; the empty target row is all padding too.
    model = small_model(norm_order=norm_order, kernel=kernel)
    source = padded([random_ids(3, seed=0), random_ids(0, seed=0)])
    target = padded([random_ids(4, seed=1), random_ids(0, seed=0)])
    logits = model(source, target)
    assert logits.isfinite().all()
    alone = model(source[:1], target[:1])
    torch.testing.assert_close(logits[:1], alone, atol=1e-10, rtol=0)
    logits.logsumexp(-1).sum().backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name


def test_order_of_source_pieces_matters() -> None:
    # Without positions attention could not tell.
    model, target = small_model(), torch.tensor([[START, 5]])
    one, other = model(torch.tensor([[3, 4]]), target), model(torch.tensor([[4, 3]]), target)
    assert (one - other).abs().max() > 1e-3


def test_positions_past_the_learned_ones_are_an_error_before_any_attention() -> None:
    # Field report 26: exactly the maximum works.
    model = small_model(positions=Learned(max_length=4))
    assert model.max_source_length == model.max_target_length == 4
    assert model(random_ids(1, 4, seed=0), random_ids(1, 4, seed=1)).shape == (1, 4, VOCABULARY)
    for source, target in ((5, 2), (2, 5), (16, 2)):
        with pytest.raises(ValueError, match="positions are more than the 4 learned"):
            model(random_ids(1, source, seed=0), random_ids(1, target, seed=1))


def test_sinusoids_have_no_limit() -> None:
    model = small_model()
    assert model.max_source_length is model.max_target_length is None
    assert model(random_ids(1, 600, seed=0), random_ids(1, 2, seed=1)).isfinite().all()


# Piece by piece


def recomputed(model: EncoderDecoder, memory: Memory, ids: Tensor) -> Tensor:
    """Score targets without a cache; the hypotheses of one source stand side by side."""
    width = len(ids) // len(memory.states)
    states = memory.states.repeat_interleave(width, 0)
    visible = memory.visible.repeat_interleave(width, 0)
    return model.generator(model.decode(ids, Memory(states, visible)))


@given(
    model=MODELS,
    width=st.sampled_from([1, 3]),
    chunks=st.lists(st.integers(1, 3), min_size=1, max_size=5),
    seed=SEEDS,
)
@settings(max_examples=40)
def test_cached_decoding_equals_recomputation(
    model: EncoderDecoder, width: int, chunks: list[int], seed: int
) -> None:
    # Field report 24. Three sources of different lengths, one of them empty.
    memory = model.encode(padded([random_ids(n, seed=seed + n) for n in (4, 0, 2)]))
    ids = random_ids(3 * width, sum(chunks), seed=seed)
    cache, logits = model.start(memory), []
    for new in ids.split(chunks, 1):
        found, cache = model.step(new, cache)
        logits.append(found)
    assert cache.length == sum(chunks)
    expected = recomputed(model, memory, ids)
    torch.testing.assert_close(torch.cat(logits, 1), expected, atol=1e-10, rtol=0)


@given(
    model=MODELS,
    width=st.sampled_from([1, 3]),
    kept=st.permutations([0, 1, 2]).map(lambda order: order[:2]),
    picks=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    seed=SEEDS,
)
@settings(max_examples=40)
def test_selected_rows_go_on_as_if_they_had_been_alone(
    model: EncoderDecoder, width: int, kept: list[int], picks: list[int], seed: int
) -> None:
    memory = model.encode(padded([random_ids(n, seed=seed + n) for n in (4, 1, 2)]))
    first = random_ids(3 * width, 3, seed=seed)
    _, cache = model.step(first, model.start(memory))
    sources = torch.tensor(kept)
    chosen = [source * width + picks.pop() % width for source in kept for _ in range(width)]
    rows = torch.tensor(chosen)
    second = random_ids(len(rows), 2, seed=seed + 9)
    logits, cache = model.step(second, cache.select(rows, sources))
    rest = Memory(memory.states[sources], memory.visible[sources])
    expected = recomputed(model, rest, torch.cat((first[rows], second), 1))
    torch.testing.assert_close(logits, expected[:, 3:], atol=1e-10, rtol=0)
    assert cache.length == 5


def test_rows_can_be_reordered_while_all_sources_stay() -> None:
    model = small_model()
    memory = model.encode(random_ids(2, 3, seed=0))
    first, second = random_ids(4, 2, seed=1), random_ids(4, 1, seed=2)
    _, cache = model.step(first, model.start(memory))
    rows = torch.tensor([1, 1, 3, 2])
    logits, _ = model.step(second, cache.select(rows, None))
    expected = recomputed(model, memory, torch.cat((first[rows], second), 1))
    torch.testing.assert_close(logits, expected[:, 2:], atol=1e-10, rtol=0)


def test_an_old_cache_may_be_used_again() -> None:
    model = small_model()
    start = model.start(model.encode(random_ids(1, 3, seed=0)))
    _, cache = model.step(torch.tensor([[START]]), start)
    once, _ = model.step(torch.tensor([[4]]), cache)
    model.step(torch.tensor([[5]]), cache)
    again, _ = model.step(torch.tensor([[4]]), cache)
    assert torch.equal(once, again)
    assert (start.length, cache.length) == (0, 1)


def test_keys_of_a_source_are_not_copied_for_its_hypotheses() -> None:
    model = small_model()
    cache = model.start(model.encode(random_ids(2, 3, seed=0)))
    _, cache = model.step(random_ids(6, 1, seed=1), cache)
    memory = [known.keys.size(0) for known in cache.memory if isinstance(known, KeyValues)]
    own = [past.keys.size(0) for past in cache.own if isinstance(past, KeyValues)]
    assert (memory, own) == ([2, 2], [6, 6])
