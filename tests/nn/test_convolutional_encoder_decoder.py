import math
from typing import Any, Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.decoding import BeamSearch, ModelSession, Symbols, search
from dragoman.models.convolutional import ConvolutionalConfig, build_convolutional
from dragoman.nn import (
    Convolution,
    ConvolutionalDecoderLayer,
    ConvolutionalEncoderDecoder,
    ConvolutionalMemory,
    Embedding,
    GatedConvolution,
    Generator,
    InputLayer,
    LearnedPositions,
    attention_weights,
    reference_attention,
)
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
)

END = 2


def small_model(
    *, dilations: Literal["none", "doubling"] = "none", separable: bool = False, layers: int = 2
) -> ConvolutionalEncoderDecoder:
    config = ConvolutionalConfig(
        layers=layers,
        d_model=8,
        dilations=dilations,
        separable=separable,
        vocabulary=VOCABULARY,
        padding=PADDING,
    )
    model = build_convolutional(config, torch.Generator().manual_seed(7)).double().eval()
    with torch.no_grad():  # biases tell padding from nothing
        for name, weight in model.named_parameters():
            if name.endswith("bias"):
                weight.normal_(std=0.3, generator=torch.Generator().manual_seed(len(name)))
    return model


MODELS = st.builds(
    small_model,
    dilations=st.sampled_from(["none", "doubling"]),
    separable=st.booleans(),
)


# Whole targets at once


@given(model=MODELS, start=st.integers(1, 6), seed=SEEDS)
@settings(max_examples=30)
def test_later_target_ids_never_change_earlier_logits_to_the_bit(
    model: ConvolutionalEncoderDecoder, start: int, seed: int
) -> None:
    assert_the_future_is_unseen(model.float(), start, seed)


@given(model=MODELS, lengths=LENGTHS, extra=st.integers(0, 3), seed=SEEDS)
@settings(max_examples=30)
def test_padding_and_batch_mates_never_change_a_result(
    model: ConvolutionalEncoderDecoder, lengths: list[tuple[int, int]], extra: int, seed: int
) -> None:
    assert_batch_mates_do_not_matter(model, lengths, extra, seed)


@pytest.mark.parametrize("left", [False, True])
def test_vector_of_the_padding_piece_never_changes_a_result(left: bool) -> None:
    model = small_model()
    assert_padding_has_no_vector(model, model.generator.table, left=left)


@pytest.mark.parametrize("training", [False, True])
def test_a_source_of_padding_alone_harms_neither_its_batch_nor_the_gradients(
    training: bool,
) -> None:
    model = small_model()
    source = padded([random_ids(n, seed=n) for n in (5, 0, 2)])
    target = padded([random_ids(n, seed=n + 9) for n in (4, 0, 3)])
    logits = model.train(training)(source, target)
    assert logits.isfinite().all()
    logits.logsumexp(-1).sum().backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name
    model.eval()
    alone = model(source[2:, :2], target[2:, :3])
    torch.testing.assert_close(model(source, target)[2:, :3], alone, atol=1e-5, rtol=0)


def test_nothing_is_read_from_a_source_of_padding_alone() -> None:
    model = small_model()
    memory = model.encode(torch.full((1, 3), PADDING))
    layer = model.decoder[0]
    assert isinstance(layer, ConvolutionalDecoderLayer)
    h = torch.ones(1, 2, 8, dtype=torch.float64)
    assert torch.equal(layer.read(h, h, memory), torch.zeros_like(h))


@pytest.mark.parametrize(
    ("dilations", "layers"), [("none", 1), ("none", 3), ("doubling", 1), ("doubling", 3)]
)
def test_the_receptive_field_of_the_encoder_is_that_of_the_formula(
    dilations: Literal["none", "doubling"], layers: int
) -> None:
    # r = 1 + Σ (k - 1) d_l: 3 and 7 positions without dilation, 3 and 15 with dilations 1, 2, 4.
    model = small_model(dilations=dilations, layers=layers)
    field = 1 + sum(2 * 2**layer if dilations == "doubling" else 2 for layer in range(layers))
    source = random_ids(1, 31, seed=0)
    changed = source.clone()
    changed[0, 15] = source[0, 15] % (VOCABULARY - 1) + 1  # another real piece
    before, after = model.encode(source).states, model.encode(changed).states
    moved = (before != after).any(-1)[0].nonzero().flatten().tolist()
    assert moved == list(range(15 - field // 2, 15 + field // 2 + 1))


def test_attention_follows_equations_1_and_2() -> None:
    model = small_model()
    rng = torch.Generator().manual_seed(4)
    z, e, h, g = (torch.randn(3, 8, generator=rng, dtype=torch.float64) for _ in range(4))
    layer = model.decoder[1]
    assert isinstance(layer, ConvolutionalDecoderLayer)
    visible = torch.ones(1, 1, 1, 3, dtype=torch.bool)
    memory = ConvolutionalMemory(z[None], (z + e)[None], visible)
    d = (h @ layer.query.weight.t() + layer.query.bias + g) * math.sqrt(0.5)
    weights = torch.stack([(d_i @ z.t()).exp() / (d_i @ z.t()).exp().sum() for d_i in d])
    torch.testing.assert_close(layer.read(h[None], g[None], memory)[0], weights @ (z + e))


def test_values_are_states_and_embeddings_times_the_root_of_the_source_length() -> None:
    # Section 3.4: a mean of m vectors is scaled by m · √(1/m). Here m is 4, with two of padding.
    model = small_model()
    source = padded([random_ids(4, seed=0)], 2)
    memory = model.encode(source)
    embedded = model.source_input(source) * 0.1
    torch.testing.assert_close(memory.values, (memory.states + embedded) * 2.0)
    assert memory.visible.flatten().tolist() == [True] * 4 + [False] * 2


def test_a_kernel_handed_in_sees_every_attention() -> None:
    model = small_model(layers=3)
    seen: list[Tensor] = []

    def recording(q: Tensor, k: Tensor, v: Tensor, *masks: Any, **options: Any) -> Tensor:
        seen.append(attention_weights(q, k, *masks, scale=options["scale"]))
        return reference_attention(q, k, v, *masks, **options)

    source, target = padded([random_ids(4, seed=0)], 2), random_ids(1, 5, seed=1)
    expected = model(source, target)
    for layer in model.decoder:
        assert isinstance(layer, ConvolutionalDecoderLayer)
        layer.kernel = recording
    torch.testing.assert_close(model(source, target), expected)
    assert [weights.shape for weights in seen] == [(1, 1, 5, 6)] * 3
    assert all((weights[..., 4:] == 0).all() for weights in seen)


def test_order_of_source_pieces_matters() -> None:
    model, target = small_model(), torch.tensor([[START, 5]])
    one, other = model(torch.tensor([[3, 4]]), target), model(torch.tensor([[4, 3]]), target)
    assert (one - other).abs().max() > 1e-4


def test_sinusoids_have_no_limit_and_learned_positions_have_theirs() -> None:
    model = small_model()
    assert model.max_source_length is model.max_target_length is None
    assert model(random_ids(1, 600, seed=0), random_ids(1, 2, seed=1)).isfinite().all()
    table, block = Embedding(VOCABULARY, 8), GatedConvolution(Convolution(8, 16, 3), causal=True)
    model = ConvolutionalEncoderDecoder(
        InputLayer(table, LearnedPositions(5, 8)),
        [GatedConvolution(Convolution(8, 16, 3))],
        InputLayer(table, LearnedPositions(4, 8)),
        [ConvolutionalDecoderLayer(block, 8)],
        Generator(table.table),
        padding=PADDING,
    )
    assert (model.max_source_length, model.max_target_length) == (5, 4)
    with pytest.raises(ValueError, match="positions are more than the 5 learned"):
        model.encode(random_ids(1, 6, seed=0))


def test_a_decoder_layer_refuses_a_block_that_sees_later_positions() -> None:
    with pytest.raises(ValueError, match="must not see later positions; make it causal"):
        ConvolutionalDecoderLayer(GatedConvolution(Convolution(8, 16, 3)), 8)


# Piece by piece


@given(model=MODELS, width=WIDTHS, chunks=CHUNKS, seed=SEEDS)
@settings(max_examples=40)
def test_cached_decoding_equals_recomputation(
    model: ConvolutionalEncoderDecoder, width: int, chunks: list[int], seed: int
) -> None:
    assert_steps_equal_the_whole(model, width, chunks, seed)


@given(model=MODELS, width=WIDTHS, kept=KEPT, picks=PICKS, seed=SEEDS)
@settings(max_examples=40)
def test_selected_rows_go_on_as_if_they_had_been_alone(
    model: ConvolutionalEncoderDecoder, width: int, kept: list[int], picks: list[int], seed: int
) -> None:
    assert_selected_rows_go_on(model, width, kept, picks, seed)


def test_an_old_cache_may_be_used_again() -> None:
    assert_an_old_cache_may_be_used_again(small_model())


def test_a_cache_does_not_grow_and_sources_are_not_copied_for_their_hypotheses() -> None:
    model = small_model(dilations="doubling", layers=3)
    cache = model.start(model.encode(random_ids(2, 3, seed=0)))
    for step in range(12):
        _, cache = model.step(random_ids(6, 1, seed=step), cache)
        # (k - 1) · dilation inputs of each layer: 2, 4 and 8.
        assert [len(past[0]) for past in cache.own if past is not None] == [2, 4, 8]
    assert cache.memory.states.shape == cache.memory.values.shape == (2, 3, 8)


@pytest.mark.parametrize("beam", [1, 3])
def test_beam_search_runs_and_scores_what_the_whole_model_scores(beam: int) -> None:
    model: Any = small_model(dilations="doubling")  # Any: a session takes any such interface
    source = padded([random_ids(n, seed=n) for n in (5, 2, 3)])
    config, symbols = BeamSearch(beam=beam, alpha=0.0), Symbols(START, END, (PADDING, START))
    with torch.inference_mode():
        found = search(ModelSession.start(model, source), config, symbols, [9, 6, 7])
        for row, answers in zip(source, found, strict=True):
            best = answers[0]
            ids = [START, *best.ids] if best.truncated else [START, *best.ids, END]
            logits = model(row[row != PADDING][None], torch.tensor([ids[:-1]]))[0]
            expected = logits.log_softmax(-1)[range(len(ids) - 1), ids[1:]].sum().item()
            assert best.score == pytest.approx(expected, abs=1e-5)
