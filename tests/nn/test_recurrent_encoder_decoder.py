from dataclasses import replace
from typing import Literal

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.decoding import BeamSearch, ModelSession, Symbols, search
from dragoman.models.recurrent import RecurrentConfig, build_recurrent
from dragoman.nn import (
    CellWeights,
    RecurrentEncoderDecoder,
    State,
    gru_step,
    lstm_step,
    run_recurrent,
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
    assert_selected_rows_go_on,
    assert_steps_equal_the_whole,
    assert_the_future_is_unseen,
    padded,
    random_ids,
)

END = 2
CELLS: list[Literal["lstm", "gru"]] = ["lstm", "gru"]
BOTH_CELLS = pytest.mark.parametrize("cell", CELLS)


def small_model(cell: Literal["lstm", "gru"], layers: int = 2) -> RecurrentEncoderDecoder:
    config = RecurrentConfig(
        cell=cell, layers=layers, d_model=6, vocabulary=VOCABULARY, padding=PADDING
    )
    model = build_recurrent(config, torch.Generator().manual_seed(7)).double().eval()
    model.generator.table.data *= 3  # so that pieces make a difference
    return model


MODELS = st.builds(small_model, cell=st.sampled_from(CELLS), layers=st.sampled_from([1, 2]))


# Whole targets at once


@given(model=MODELS, lengths=LENGTHS, extra=st.integers(0, 3), seed=SEEDS)
@settings(max_examples=30)
def test_padding_and_batch_mates_never_change_a_result(
    model: RecurrentEncoderDecoder, lengths: list[tuple[int, int]], extra: int, seed: int
) -> None:
    assert_batch_mates_do_not_matter(model, lengths, extra, seed)


@BOTH_CELLS
def test_batch_mates_do_not_matter_in_float32_either(cell: Literal["lstm", "gru"]) -> None:
    model = small_model(cell).float()
    sources = [random_ids(length, seed=length) for length in (5, 2, 9)]
    target = random_ids(3, 4, seed=0)
    together = model(padded(sources), target)
    for source, ids, logits in zip(sources, target, together, strict=True):
        torch.testing.assert_close(logits, model(source[None], ids[None])[0], atol=1e-5, rtol=0)


@given(model=MODELS, start=st.integers(1, 6), seed=SEEDS)
@settings(max_examples=20)
def test_later_target_ids_never_change_earlier_logits_to_the_bit(
    model: RecurrentEncoderDecoder, start: int, seed: int
) -> None:
    assert_the_future_is_unseen(model, start, seed)


@BOTH_CELLS
def test_a_source_of_padding_alone_harms_neither_its_batch_nor_the_gradients(
    cell: Literal["lstm", "gru"],
) -> None:
    model = small_model(cell)
    source = padded([random_ids(length, seed=length) for length in (5, 0, 2)])
    target = random_ids(3, 4, seed=9)
    memory = model.encode(source)
    assert (memory.states[1] == 0).all()
    assert (memory.states[2, 2:] == 0).all()
    assert (memory.states[2, :2] != 0).all()
    logits = model(source, target)
    torch.testing.assert_close(logits[:1], model(source[:1], target[:1]), atol=1e-10, rtol=0)
    logits.logsumexp(-1).sum().backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name
        assert (weight.grad != 0).any(), name


@BOTH_CELLS
def test_a_batch_of_empty_sources_gives_zeros_and_finite_gradients(
    cell: Literal["lstm", "gru"],
) -> None:
    model = small_model(cell)
    logits = model(torch.full((2, 3), PADDING), random_ids(2, 4, seed=0))
    assert logits.isfinite().all()
    logits.sum().backward()
    assert all(w.grad is None or w.grad.isfinite().all() for w in model.parameters())


def test_padding_before_a_piece_is_refused() -> None:
    with pytest.raises(ValueError, match="padding stands before a piece; pad sources on the right"):
        small_model("gru").encode(torch.tensor([[3, 4, 5], [3, PADDING, 5]]))


@BOTH_CELLS
def test_without_attention_the_decoder_reads_the_first_state_alone(
    cell: Literal["lstm", "gru"],
) -> None:
    config = RecurrentConfig(cell=cell, layers=1, d_model=6, vocabulary=VOCABULARY, padding=PADDING)
    source, target_in = torch.tensor([[4, 5, 6, 7]]), torch.tensor([[1, 5, 6]])
    for attends in (True, False):
        model = build_recurrent(replace(config, attends=attends), torch.Generator()).eval()
        memory = model.encode(source)
        changed = memory.states.clone()
        changed[:, 1:] += 1.0
        before = model.decode(target_in, memory)
        after = model.decode(target_in, replace(memory, states=changed))
        assert torch.equal(before, after) == (not attends)
        # What stands last still reaches it, through every state of the backward direction.
        other = model.encode(torch.tensor([[4, 5, 6, 8]]))
        assert not torch.equal(before, model.decode(target_in, other))


def test_no_length_is_too_long() -> None:
    model = small_model("lstm")
    assert model.max_source_length is model.max_target_length is None
    assert model(random_ids(1, 300, seed=0), random_ids(1, 2, seed=1)).isfinite().all()


def test_dropout_acts_in_training_only() -> None:
    model = small_model("lstm")
    source, target = random_ids(2, 4, seed=0), random_ids(2, 3, seed=1)
    assert torch.equal(model(source, target), model(source, target))
    model.train()
    assert not torch.equal(model(source, target), model(source, target))


# The formulas


def named_weights(module: torch.nn.Module, ending: str = "") -> CellWeights:
    named = dict(module.named_parameters())
    w_x, w_h = named[f"weight_ih{ending}"].T, named[f"weight_hh{ending}"].T
    return CellWeights(w_x, w_h, named[f"bias_ih{ending}"], named[f"bias_hh{ending}"])


@BOTH_CELLS
@pytest.mark.parametrize("layers", [1, 2])
def test_model_agrees_with_its_formulas_step_by_step(
    cell: Literal["lstm", "gru"], layers: int
) -> None:
    # A slow twin for one sentence, from the step functions and the formulas of the paper.
    model = small_model(cell, layers)
    source, target = random_ids(1, 5, seed=0), random_ids(1, 4, seed=1)
    step = lstm_step if cell == "lstm" else gru_step
    width, empty = 6, torch.zeros(1, 6, dtype=torch.float64)
    rest: State = (empty,) if cell == "lstm" else ()

    x = model.source_embedding(source)
    for layer in model.encoder.layers:
        sides: list[Tensor] = []
        for ending in ("_l0", "_l0_reverse"):
            weights = named_weights(layer, ending)
            read = x.flip(1) if ending.endswith("reverse") else x
            states, _ = run_recurrent(lambda x, s, w=weights: step(x, s, w), read, (empty, *rest))
            sides.append(states[0].flip(1) if ending.endswith("reverse") else states[0])
        x = torch.cat(sides, -1)
    memory = x  # (1, S, 2D)
    torch.testing.assert_close(model.encode(source).states, memory)

    decoder, attention = model.decoder, model.decoder.attention
    first = torch.tanh(decoder.first_state(memory[:, 0, width:])).split(width, 1)
    state: list[State] = [(h, *rest) for h in first]
    cells = [named_weights(module) for module in decoder.cells]
    outputs: list[Tensor] = []
    for vector in model.target_embedding(target)[0]:
        hidden = torch.tanh(attention.query(state[-1][0]) + attention.key(memory[0]))  # (S, A)
        context = (hidden @ attention.vector).softmax(0) @ memory[0]
        x = torch.cat((vector, context))[None]
        for number, weights in enumerate(cells):
            state[number] = step(x, state[number], weights)
            x = state[number][0]
        seen = torch.cat((x[0], context, vector))
        outputs.append(torch.tanh(decoder.readout(seen)) @ model.generator.table.T)
    torch.testing.assert_close(model(source, target)[0], torch.stack(outputs))


# Piece by piece


@given(model=MODELS, width=WIDTHS, chunks=CHUNKS, seed=SEEDS)
@settings(max_examples=40)
def test_cached_decoding_equals_recomputation(
    model: RecurrentEncoderDecoder, width: int, chunks: list[int], seed: int
) -> None:
    assert_steps_equal_the_whole(model, width, chunks, seed)


@given(model=MODELS, width=WIDTHS, kept=KEPT, picks=PICKS, seed=SEEDS)
@settings(max_examples=40)
def test_selected_rows_go_on_as_if_they_had_been_alone(
    model: RecurrentEncoderDecoder, width: int, kept: list[int], picks: list[int], seed: int
) -> None:
    assert_selected_rows_go_on(model, width, kept, picks, seed)


def test_an_old_cache_may_be_used_again() -> None:
    assert_an_old_cache_may_be_used_again(small_model("lstm"))


def test_keys_of_a_source_are_not_copied_for_its_hypotheses() -> None:
    model = small_model("gru")
    cache = model.start(model.encode(random_ids(2, 3, seed=0)))
    _, cache = model.step(random_ids(6, 1, seed=1), cache)
    assert cache.keys.size(0) == cache.values.size(0) == cache.memory_visible.size(0) == 2
    assert [state[0].size(0) for state in cache.states] == [6, 6]


@BOTH_CELLS
def test_a_beam_of_one_is_greedy_and_a_wide_one_never_worse(cell: Literal["lstm", "gru"]) -> None:
    model, symbols = small_model(cell), Symbols(START, END, banned=(PADDING, START))
    sources = [random_ids(length, seed=length) for length in (5, 1, 3)]
    limits = [9, 4, 12]

    def found(beam: int) -> list[tuple[tuple[int, ...], float]]:
        with torch.inference_mode():
            session = ModelSession.start(model, padded(sources))
        answers = search(session, BeamSearch(beam=beam, alpha=0.0), symbols, limits)
        return [(answer[0].ids, answer[0].score) for answer in answers]

    greedy, wide = found(1), found(VOCABULARY**2)
    for source, limit, (ids, score), (_, best) in zip(sources, limits, greedy, wide, strict=True):
        fed = [START]
        while len(fed) <= limit and END not in fed:
            logits = model(source[None], torch.tensor([fed]))[0, -1]
            logits[[PADDING, START]] = -torch.inf
            fed.append(int(logits.argmax()))
        assert ids == tuple(piece for piece in fed[1:] if piece != END)
        if fed[-1] == END:
            assert best >= score - 1e-6


# Training


@BOTH_CELLS
def test_loss_falls_on_a_copy_task(cell: Literal["lstm", "gru"]) -> None:
    config = RecurrentConfig(cell=cell, layers=1, d_model=24, dropout=0.0, vocabulary=8)
    rng = torch.Generator().manual_seed(0)
    model = build_recurrent(config, rng)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    losses: list[float] = []
    for _ in range(60):
        source = torch.randint(3, 8, (32, 4), generator=rng)
        target_in = torch.cat((torch.full((32, 1), START), source[:, :-1]), 1)
        loss = F.cross_entropy(model(source, target_in).flatten(0, 1), source.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    # Knowing that there are five pieces gives ln 5 = 1.609 nats; less needs the source.
    assert losses[0] > 1.6
    assert sum(losses[-5:]) / 5 < 0.8, losses[::5]
