"""What docs/concepts/corrections.md says is true, each by a computation of its own.

Numbers are from hand calculation or from the publications the page names.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dragoman.data import IdStore
from dragoman.data.batching import collate
from dragoman.decoding import BeamSearch, Symbols, length_penalty, search
from dragoman.evaluation import corpus_score
from dragoman.inspection import (
    ConvolutionWindow,
    compare_separable_convolution,
    contiguous_layers_to_cover,
    count_parameters,
    receptive_fields,
    self_attention_is_cheaper,
)
from dragoman.models import ModelConfig
from dragoman.nn import (
    Embedding,
    EncoderDecoder,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    NormOrder,
    Residual,
    attention_scores,
    attention_weights,
    causal_mask,
    gated_width,
    lstm_update,
    note_layer_norm,
    relative_bias,
    sinusoids,
    unclipped_bias,
)
from dragoman.tokenization import SpecialIds, pair_score, split_word
from dragoman.training import inverse_sqrt, smoothed_labels
from tests.fakes import TableSession, written_table
from tests.fixtures import build_encoder_decoder


def tiny_model() -> EncoderDecoder:
    config = ModelConfig(layers=2, d_model=8, heads=2, d_ff=16, vocabulary=11)
    return build_encoder_decoder(config, torch.Generator().manual_seed(3)).eval()


SOURCE = torch.tensor([[4, 5, 6, 7]])
TARGET = torch.tensor([[1, 8, 9, 10]])


# Attention


def test_dot_products_of_width_8_have_variance_8_and_scores_have_variance_1() -> None:
    # Every vector of signs is as likely as any other; one side may stay fixed, by symmetry.
    signs = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=8)))
    assert (signs @ signs[:1].T).square().mean().item() == 8
    assert attention_scores(signs, signs[:1]).square().mean().item() == pytest.approx(1)


def test_scores_at_most_85_hundredths_apart_have_weights_at_most_2_34_times_apart() -> None:
    scores = [0.1, 0.2, 0.05, 0.3, 0.1, 0.7, 0.8, 0.1, 0.9, 0.4, 0.85]
    # With a query of 1 and keys of width 1 the scores are the keys.
    weights = attention_weights(torch.ones(1, 1), torch.tensor(scores)[:, None], None)[0]
    assert weights.sum().item() == pytest.approx(1)
    assert (weights.max() / weights.min()).item() == pytest.approx(math.exp(0.85), rel=1e-5)
    assert math.exp(0.85) == pytest.approx(2.34, abs=0.005)


def test_weights_sum_to_one_over_the_keys_of_a_query_and_not_over_the_queries_of_a_key() -> None:
    q, k = torch.tensor([[2.0], [4.0]]), torch.tensor([[1.0], [0.0]])
    weights = attention_weights(q, k, None)
    assert weights.sum(dim=1).tolist() == pytest.approx([1, 1])
    # By hand: e^2 / (e^2 + 1) + e^4 / (e^4 + 1) at the first key.
    first = math.exp(2) / (math.exp(2) + 1) + math.exp(4) / (math.exp(4) + 1)
    assert weights.sum(dim=0)[0].item() == pytest.approx(first)


def test_a_large_negative_number_is_no_mask_in_half_precision_and_a_boolean_one_is() -> None:
    hidden = torch.full((1, 3), -1e9).half()
    assert hidden.isinf().all()
    assert torch.softmax(hidden.float(), -1).isnan().all()
    q, k = torch.ones(1, 2).half(), torch.ones(3, 2).half()
    nothing = torch.zeros(1, 3, dtype=torch.bool)
    assert attention_weights(q, k, nothing).tolist() == [[0, 0, 0]]


def test_a_score_of_zero_hides_nothing_and_a_weight_of_zero_leaves_the_rest_too_small() -> None:
    q, k = torch.tensor([[1.0]]), torch.tensor([[1.0], [2.0]])
    visible = torch.tensor([[True, False]])
    assert attention_weights(q, k, visible).tolist() == [[1, 0]]
    zero_score = torch.softmax(attention_scores(q, k).masked_fill(~visible, 0.0), -1)
    assert zero_score[0, 1].item() == pytest.approx(1 / (math.e + 1))
    zero_weight = attention_weights(q, k, None).masked_fill(~visible, 0.0)
    assert zero_weight.sum().item() == pytest.approx(1 / (1 + math.e))


def test_a_position_sees_itself_and_what_it_must_predict_stands_one_further() -> None:
    assert causal_mask(4).diagonal().all()
    special = SpecialIds(padding=0, start=1, end=2, unknown=3)
    store = IdStore.from_sequences([[7, 8, 9]])
    batch = collate(np.array([0]), store, store, special)
    assert batch.target_in[0].tolist() == [1, 7, 8, 9]  # the end symbol is never read
    assert batch.target_out[0].tolist() == [7, 8, 9, 2]  # the start symbol is never asked for


def test_the_causal_mask_is_for_the_target_and_the_first_word_sees_the_whole_source() -> None:
    model = tiny_model()
    before = model(SOURCE, TARGET)
    other_source = model(torch.tensor([[4, 5, 6, 9]]), TARGET)
    other_target = model(SOURCE, torch.tensor([[1, 8, 9, 5]]))
    assert not torch.allclose(before[:, 0], other_source[:, 0])
    assert torch.equal(before[:, :3], other_target[:, :3])


def test_without_positions_another_order_gives_the_same_vectors_in_that_order() -> None:
    attention = MultiHeadAttention(8, 2)
    words, order = torch.randn(1, 5, 8), torch.tensor([3, 0, 4, 1, 2])
    shuffled = attention(words[:, order], words[:, order])
    torch.testing.assert_close(shuffled, attention(words, words)[:, order])


def test_the_number_of_heads_changes_no_count_of_weights() -> None:
    counts = {
        heads: sum(each.numel() for each in MultiHeadAttention(512, heads).parameters())
        for heads in (1, 8, 64)
    }
    assert counts == dict.fromkeys(counts, 4 * 512 * 512)


# Positions


def test_a_sine_and_its_cosine_have_the_same_angle() -> None:
    table = sinusoids(torch.arange(50), 16)
    sines, cosines = table[:, 0::2], table[:, 1::2]
    torch.testing.assert_close(
        sines.square() + cosines.square(), torch.ones(50, 8, dtype=table.dtype)
    )


def test_the_longest_wavelength_of_width_512_is_9646_times_2_pi() -> None:
    # The last pair has the angle position / 10000^(510/512), and 10000^(510/512) = 9646.6.
    sine, cosine = sinusoids(torch.tensor([1000]), 512)[0, -2:].tolist()
    assert 1000 / math.atan2(sine, cosine) == pytest.approx(9646.6, abs=0.05)


def test_words_are_multiplied_by_the_root_of_the_width_before_positions_are_added() -> None:
    embedding = Embedding(5, 16)
    vector = embedding(torch.tensor([[2]]))[0, 0]
    torch.testing.assert_close(vector, 4 * embedding.table[2])


def test_relative_positions_count_key_minus_query_clipped_and_scaled() -> None:
    # Row r of the table is the constant r, so the bias shows which row was taken: 2 · r / √4.
    clipped, plain = torch.arange(5.0)[:, None].expand(5, 4), torch.arange(7.0)[:, None]
    q = torch.full((4, 4), 0.5)
    bias = relative_bias(q, clipped, 4)
    assert bias.tolist() == [[2, 3, 4, 4], [1, 2, 3, 4], [0, 1, 2, 3], [0, 0, 1, 2]]
    other = unclipped_bias(q, plain.expand(7, 4), 4)
    assert other[0].tolist() == [6, 4, 2, 0]  # query minus key, neither clipped nor scaled


# Norms and residuals


def test_the_norm_divides_by_n_and_adds_eps_inside_the_root() -> None:
    # By hand: the mean of 1, 2, 3, 4 is 2.5, the variance 5 / 4, with divisor n - 1 it is 5 / 3.
    row, one, zero = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.ones(4), torch.zeros(4)
    assert LayerNorm(4, eps=0.0)(row)[0].item() == pytest.approx(-1.5 / math.sqrt(5 / 4))
    other = note_layer_norm(row, one, zero, 0.0)
    assert other[0].item() == pytest.approx(-1.5 / math.sqrt(5 / 3))
    assert LayerNorm(4, eps=1.0)(row)[0].item() == pytest.approx(-1.5 / math.sqrt(5 / 4 + 1))
    outside = note_layer_norm(row, one, zero, 1.0)
    assert outside[0].item() == pytest.approx(-1.5 / (math.sqrt(5 / 3) + 1))


def test_the_norm_of_the_paper_stands_around_the_sum() -> None:
    norm, x = LayerNorm(3), torch.tensor([1.0, 2.0, 4.0])

    def double(vector: Tensor) -> Tensor:
        return 2 * vector

    after = Residual(norm, dropout=0.0, order="post")(x, double)
    before = Residual(norm, dropout=0.0, order="pre")(x, double)
    torch.testing.assert_close(after, norm(3 * x))
    torch.testing.assert_close(before, x + 2 * norm(x))
    # Of one layer a side; with pre-norm each stack ends with one.
    norms: dict[NormOrder, int] = {"post": 5, "pre": 7}
    for order, expected in norms.items():
        config = ModelConfig(layers=1, d_model=8, heads=2, d_ff=8, vocabulary=9, norm_order=order)
        model = build_encoder_decoder(config)
        assert sum(isinstance(each, LayerNorm) for each in model.modules()) == expected


# Feed-forward networks


def test_the_network_looks_at_each_position_alone() -> None:
    network, x = FeedForward(4, 8), torch.randn(1, 3, 4)
    changed = x.clone()
    changed[:, 1] += 1
    before, after = network(x), network(changed)
    assert torch.equal(before[:, [0, 2]], after[:, [0, 2]])
    assert not torch.equal(before[:, 1], after[:, 1])


def test_the_activation_of_the_paper_is_zero_below_zero() -> None:
    network = FeedForward(1, 1)
    first, second = (each for each in network.modules() if isinstance(each, nn.Linear))
    with torch.no_grad():
        for layer in (first, second):
            layer.weight.fill_(1)
            layer.bias.zero_()
    assert network(torch.tensor([[-1.0]])).item() == 0  # GELU would give -0.159


def test_a_gated_network_of_width_4096_has_10922_hidden_units() -> None:
    assert gated_width(4096) == 10_922  # 8 / 3 · 4096 = 10922.67, cut off
    assert gated_width(4096, multiple_of=256) == 11_008  # what LLaMA has


# Training


def test_all_target_words_are_learned_from_in_one_pass() -> None:
    model = tiny_model()
    at_once = model(SOURCE, TARGET)
    for end in range(1, 5):
        alone = model(SOURCE, TARGET[:, :end])[:, -1]
        torch.testing.assert_close(at_once[:, end - 1], alone)


def test_a_smoothed_label_gives_a_share_to_every_piece_the_right_one_included() -> None:
    labels = smoothed_labels(torch.tensor([2]), 5, smoothing=0.1, padding=0)[0]
    assert labels.tolist() == pytest.approx([0.02, 0.02, 0.92, 0.02, 0.02])
    others = smoothed_labels(torch.tensor([2]), 5, smoothing=0.1, padding=0, form="others")[0]
    assert others.tolist() == pytest.approx([0.025, 0.025, 0.9, 0.025, 0.025])


def test_during_warmup_the_linear_term_is_the_smaller_one() -> None:
    step, warmup = 100, 4000
    assert step * warmup**-1.5 < step**-0.5
    rate = inverse_sqrt(step, d_model=512, warmup=warmup)
    assert rate == pytest.approx(512**-0.5 * step * warmup**-1.5)
    # After it the linear term is the larger one, and yet far below 1 for a long time.
    assert 20_000**-0.5 < 20_000 * warmup**-1.5 < 1


def test_the_highest_rate_of_the_base_model_is_7_ten_thousandths() -> None:
    rates = [inverse_sqrt(step, d_model=512, warmup=4000) for step in range(1, 10_000)]
    assert max(rates) == rates[3999] == pytest.approx(6.99e-4, abs=5e-7)


# Sizes and costs


def test_the_base_model_has_63_million_weights() -> None:
    d, inner, pieces = 512, 2048, 37_000
    attention, norm = 4 * d * d, 2 * d
    network = d * inner + inner + inner * d + d
    encoder, decoder = attention + network + 2 * norm, 2 * attention + network + 3 * norm
    by_hand = 6 * (encoder + decoder) + pieces * d
    assert count_parameters(ModelConfig(vocabulary=pieces)).total == by_hand == 63_045_632


def test_connecting_ten_positions_takes_five_layers_of_three() -> None:
    assert contiguous_layers_to_cover(10, 3) == 5
    assert receptive_fields([ConvolutionWindow(3)] * 5) == [3, 5, 7, 9, 11]


def test_a_separable_convolution_has_two_halves() -> None:
    # By hand, 7 x 7 x 3 with sixteen 3 x 3 filters gives 5 x 5 places: 25 · 9 · 3 · 16 = 10,800
    # products; by depth 25 · 9 · 3 = 675, by point 25 · 3 · 16 = 1,200.
    found = compare_separable_convolution(7, 7, c_in=3, c_out=16, k=3)
    assert (found.depthwise.multiplications, found.pointwise.multiplications) == (675, 1200)
    assert found.standard.multiplications == 10_800
    assert found.multiplications == 1875


def test_self_attention_is_cheaper_than_recurrence_only_while_the_sentence_is_short() -> None:
    assert self_attention_is_cheaper(40, 512)
    assert not self_attention_is_cheaper(2048, 512)


def test_an_lstm_with_a_forget_gate_can_forget() -> None:
    # Blocks: input, forget, candidate, output. The forget gate shut, nothing of c = 5 is left.
    shut = torch.tensor([[-100.0, -100.0, 0.0, 0.0]])
    assert lstm_update(shut, torch.tensor([[5.0]]))[1].item() == pytest.approx(0)
    # Without one, as in 1997, c stays: the gate always open.
    open_ = torch.tensor([[-100.0, 100.0, 0.0, 0.0]])
    assert lstm_update(open_, torch.tensor([[5.0]]))[1].item() == pytest.approx(5)


# Pieces, search, scores


def test_marked_pieces_go_on_with_a_word() -> None:
    assert split_word("play") == ("p", "##l", "##a", "##y")


def test_wordpiece_joins_what_seldom_stands_apart_and_not_what_is_frequent() -> None:
    # By hand: 20 / (30 · 40) is more than 50 / (200 · 100).
    assert pair_score(20, 30, 40) > pair_score(50, 200, 100)


def test_the_most_probable_word_each_time_is_not_the_most_probable_sentence() -> None:
    # Piece 2 first has 0.6, but then 0.5 at best: 0.3. Piece 3 first has 0.4, then surely the end.
    rows = {"0": {"2": 0.6, "3": 0.4}, "0 2": {"1": 0.5, "4": 0.5}, "* 3": {"1": 1.0}}
    table = written_table(rows | {"* 4": {"1": 1.0}}, 5)
    found = {
        beam: search(
            TableSession.start(table), BeamSearch(beam=beam, alpha=0.0), Symbols(0, 1), [5]
        )[0][0]
        for beam in (1, 2)
    }
    assert math.exp(found[1].score) == pytest.approx(0.3)
    assert math.exp(found[2].score) == pytest.approx(0.4)


def test_the_length_penalty_of_the_paper_is_not_the_length() -> None:
    assert length_penalty(7, 0.6) == pytest.approx(2**0.6)  # (5 + 7) / 6 = 2
    assert length_penalty(1, 0.6) == 1


def test_the_bleu_of_a_test_set_is_not_the_mean_of_its_sentences() -> None:
    right = "the cat sat on the mat near the door"
    pairs = [(right, right), ("a dog", "a cat slept")]
    corpus = corpus_score("bleu", *map(list, zip(*pairs, strict=True))).value
    each = [corpus_score("bleu", [said], [meant]).value for said, meant in pairs]
    # By hand: 10/11, 8/9, 7/7 and 6/6 of the n-grams, and 11 tokens against 12.
    grams = Counter({1: 10 / 11, 2: 8 / 9, 3: 1.0, 4: 1.0})
    by_hand = math.exp(1 - 12 / 11) * math.prod(grams.values()) ** 0.25
    assert corpus == pytest.approx(100 * by_hand)
    assert abs(corpus - sum(each) / 2) > 20
