from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.models import Learned, ModelConfig, Sinusoidal
from dragoman.nn import (
    AttentionKernel,
    EncoderDecoder,
    KeyValues,
    MultiHeadAttention,
    fused_attention,
    reference_attention,
)
from tests.fixtures import build_encoder_decoder
from tests.nn.laws import (
    CHUNKS,
    KEPT,
    LENGTHS,
    PADDING,
    PICKS,
    SEEDS,
    START,
    VOCABULARY,
    WIDTHS,
    assert_an_old_cache_may_be_used_again,
    assert_batch_mates_do_not_matter,
    assert_padding_has_no_vector,
    assert_selected_rows_go_on,
    assert_steps_equal_the_whole,
    assert_the_future_is_unseen,
    padded,
    random_ids,
    recomputed,
)

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


# Whole targets at once


@given(model=MODELS, start=st.integers(1, 6), seed=SEEDS)
@settings(max_examples=30)
def test_later_target_ids_never_change_earlier_logits_to_the_bit(
    model: EncoderDecoder, start: int, seed: int
) -> None:
    assert_the_future_is_unseen(model, start, seed)


@given(model=MODELS, lengths=LENGTHS, extra=st.integers(0, 3), seed=SEEDS)
@settings(max_examples=30)
def test_padding_and_batch_mates_never_change_a_result(
    model: EncoderDecoder, lengths: list[tuple[int, int]], extra: int, seed: int
) -> None:
    assert_batch_mates_do_not_matter(model, lengths, extra, seed)


@pytest.mark.parametrize("left", [False, True])
def test_vector_of_the_padding_piece_never_changes_a_result(left: bool) -> None:
    model = small_model()
    assert_padding_has_no_vector(model, model.generator.table, left=left)


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


@given(model=MODELS, width=WIDTHS, chunks=CHUNKS, seed=SEEDS)
@settings(max_examples=40)
def test_cached_decoding_equals_recomputation(
    model: EncoderDecoder, width: int, chunks: list[int], seed: int
) -> None:
    assert_steps_equal_the_whole(model, width, chunks, seed)


@given(model=MODELS, width=WIDTHS, kept=KEPT, picks=PICKS, seed=SEEDS)
@settings(max_examples=40)
def test_selected_rows_go_on_as_if_they_had_been_alone(
    model: EncoderDecoder, width: int, kept: list[int], picks: list[int], seed: int
) -> None:
    assert_selected_rows_go_on(model, width, kept, picks, seed)


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
    assert_an_old_cache_may_be_used_again(small_model())


def test_keys_of_a_source_are_not_copied_for_its_hypotheses() -> None:
    model = small_model()
    cache = model.start(model.encode(random_ids(2, 3, seed=0)))
    _, cache = model.step(random_ids(6, 1, seed=1), cache)
    memory = [known.keys.size(0) for known in cache.memory if isinstance(known, KeyValues)]
    own = [past.keys.size(0) for past in cache.own if isinstance(past, KeyValues)]
    assert (memory, own) == ([2, 2], [6, 6])
