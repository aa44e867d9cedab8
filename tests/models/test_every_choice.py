"""Every choice, alone and in telling company: trained, used, saved, and held to the same laws."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.bundle import Bundle, load_bundle, save_bundle
from dragoman.data import (
    Batch,
    IdStore,
    mask_pieces,
    pair_batches,
    sample_corpus,
    stream_batches,
    text_stream,
)
from dragoman.decoding import BeamSearch, NoRoom, decode
from dragoman.models import ModelConfig, SequenceToSequence, build_model
from dragoman.nn import CausalLM, EncoderOnly
from dragoman.tokenization import Tokenizer, TokenizerConfig, learn_bpe
from dragoman.training import (
    AdamConfig,
    build_optimizer,
    language_loss,
    masked_loss,
    set_rate,
    translation_loss,
)
from tests.models.choices import ONE_STACK, TRANSLATORS, one_stack_config, translator_config

UPDATES = 12


@cache
def corpus() -> tuple[Tokenizer, list[list[int]], list[list[int]]]:
    pairs = sample_corpus().train[:120]
    tokenizer = learn_bpe([text for pair in pairs for text in pair], TokenizerConfig(size=500))
    sources = tokenizer.encode_many([source for source, _ in pairs])
    return tokenizer, sources, tokenizer.encode_many([target for _, target in pairs])


def batches() -> Iterator[Batch]:
    tokenizer, sources, targets = corpus()
    stores = IdStore.from_sequences(sources), IdStore.from_sequences(targets)
    made = pair_batches(*stores, budget=600, special=tokenizer.special, seed=1)
    while True:
        yield made.next_batch()


def built(name: str, **extra: Any) -> SequenceToSequence:
    tokenizer, _, _ = corpus()
    config = translator_config(name, vocabulary=tokenizer.size, **extra)
    torch.manual_seed(1)
    model = build_model(config, torch.Generator().manual_seed(1))
    assert not isinstance(model, CausalLM | EncoderOnly)
    return model


def built_alone(name: str, **extra: Any) -> CausalLM | EncoderOnly:
    tokenizer, _, _ = corpus()
    config = one_stack_config(name, vocabulary=tokenizer.size, **extra)
    torch.manual_seed(1)
    model = build_model(config, torch.Generator().manual_seed(1))
    assert isinstance(model, CausalLM | EncoderOnly)
    return model


def padded(rows: list[list[int]], padding: int = 0) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [padding] * (longest - len(row)) for row in rows])


def losses_of(model: Any, losses: Iterator[tuple[Tensor, int]]) -> list[float]:
    optimizer = build_optimizer(model.parameters(), AdamConfig())
    set_rate(optimizer, 3e-3)
    found: list[float] = []
    for _ in range(UPDATES):
        loss, count = next(losses)
        (loss / count).backward()  # pyright: ignore[reportUnknownMemberType]  # torch's stub
        optimizer.step()
        optimizer.zero_grad()
        found.append(float(loss.detach()) / count)
    return found


@pytest.mark.parametrize("name", TRANSLATORS)
def test_the_loss_of_every_choice_falls(name: str) -> None:
    model = built(name).train()

    def losses() -> Iterator[tuple[Tensor, int]]:
        for batch in batches():
            yield translation_loss(model, batch, smoothing=0.1), batch.target_tokens

    found = losses_of(model, losses())
    assert all(np.isfinite(found))
    assert np.mean(found[-3:]) < np.mean(found[:3]) - 0.2
    tokenizer, _, _ = corpus()
    assert found[0] < 3 * np.log(tokenizer.size)  # begins near chance, not far above


# Field report 14: a source that is all padding, beside others.
@pytest.mark.parametrize("name", TRANSLATORS)
def test_an_empty_row_gives_finite_gradients_and_leaves_the_others_alone(name: str) -> None:
    model = built(name).double().eval()
    rows = [[10, 11, 12, 13, 2], [], [14, 15, 2]]
    target = padded([[1, 20, 21, 22], [1, 23], [1, 24, 25]])
    logits = model(padded(rows), target)
    assert torch.isfinite(logits).all()
    alone = model(padded(rows[:1]), target[:1])
    torch.testing.assert_close(logits[:1], alone)
    logits.square().sum().backward()  # pyright: ignore[reportUnknownMemberType]  # torch's stub
    for weight_name, weight in model.named_parameters():
        if weight.grad is not None:
            assert torch.isfinite(weight.grad).all(), weight_name


# Field report 15.
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", TRANSLATORS)
def test_half_precision_stays_finite_and_near(name: str, dtype: torch.dtype) -> None:
    model = built(name).eval()
    source, target = padded([[10, 11, 12, 2], [], [14, 2]]), padded([[1, 20, 21], [1], [1, 24]])
    with torch.inference_mode():
        exact = model(source, target)
        half = model.to(dtype)(source, target)
    assert half.dtype == dtype
    assert torch.isfinite(half).all()
    torch.testing.assert_close(half[[0, 2]].float(), exact[[0, 2]], atol=0.15, rtol=0.1)


# Field reports 16 and 24: the future, padding and batch mates change nothing.
@pytest.mark.parametrize("name", TRANSLATORS)
def test_no_position_sees_the_future_padding_or_its_batch_mates(name: str) -> None:
    model = built(name).eval()
    source = padded([[10, 11, 12, 13, 14, 2], [15, 16, 2]])
    target = padded([[1, 20, 21, 22, 23, 24], [1, 25, 26]])
    with torch.inference_mode():
        before = model(source, target)
        changed = target.clone()
        changed[0, 4:] = 40
        after = model(source, changed)
        assert torch.equal(after[0, :4], before[0, :4])
        assert not torch.equal(after[0, 4:], before[0, 4:])
        alone = model(source[1:, :3], target[1:, :3])
        torch.testing.assert_close(before[1:, :3], alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", TRANSLATORS)
def test_decoding_with_a_cache_equals_recomputing(name: str) -> None:
    model = built(name).double().eval()
    source = padded([[10, 11, 12, 13, 14, 2], [15, 16, 2]])
    target = torch.randint(4, 200, (2, 12), generator=torch.Generator().manual_seed(3))
    with torch.inference_mode():
        memory: Any = model.encode(source)
        whole = model.generator(model.decode(target, memory))
        kept: Any = model.start(memory)
        steps: list[Tensor] = []
        for position in range(target.size(1)):
            logits, kept = model.step(target[:, position : position + 1], kept)
            steps.append(logits)
    torch.testing.assert_close(torch.cat(steps, dim=1), whole)


@pytest.mark.parametrize("name", TRANSLATORS)
def test_the_best_translation_does_not_depend_on_the_batch(name: str) -> None:
    tokenizer, sources, _ = corpus()
    model = built(name).eval()
    with torch.no_grad():  # so that some hypotheses end
        model.generator.table[tokenizer.special.end] *= 3
    search = BeamSearch(beam=3, max_length=10)
    chosen = [sources[0], sources[1][:2], sources[2] + sources[3]]
    together = decode(model, chosen, search, tokenizer.special)
    for source, found in zip(chosen, together, strict=True):
        alone = decode(model, [source], search, tokenizer.special)[0]
        assert not isinstance(found, NoRoom)
        assert not isinstance(alone, NoRoom)
        assert found[0].ids == alone[0].ids
        np.testing.assert_allclose(found[0].log_probs, alone[0].log_probs, atol=1e-5)


@pytest.mark.parametrize("name", TRANSLATORS)
def test_what_is_saved_loads_as_the_same(name: str, tmp_path: Path) -> None:
    tokenizer, _, _ = corpus()
    model = built(name).eval()
    config = translator_config(name, vocabulary=tokenizer.size)
    save_bundle(tmp_path, Bundle(config, model, (tokenizer,)), "# card\n")
    loaded = load_bundle(tmp_path)
    assert loaded.config == config
    assert not isinstance(loaded.model, CausalLM | EncoderOnly)
    source, target = padded([[10, 11, 2]]), padded([[1, 20, 21]])
    with torch.inference_mode():
        assert torch.equal(loaded.model(source, target), model(source, target))


# Field report 26: learned positions end somewhere, the others go on.
@pytest.mark.parametrize("name", TRANSLATORS)
def test_long_input_works_or_is_refused_before_the_model_runs(name: str) -> None:
    tokenizer, _, _ = corpus()
    model = built(name).eval()
    config = translator_config(name)
    limited = isinstance(config, ModelConfig) and config.max_length is not None
    limit = config.max_length or 64
    search = BeamSearch(beam=1, max_length=3)
    if limited and model.max_source_length is not None:
        decode(model, [[9] * (limit - 1)], search, tokenizer.special)
        for too_long in (limit, 4 * limit):
            with pytest.raises(ValueError, match=f"the model has {limit} positions"):
                decode(model, [[9] * too_long], search, tokenizer.special)
    else:
        found = decode(model, [[9] * 4 * limit], search, tokenizer.special)[0]
        assert not isinstance(found, NoRoom)
        assert np.isfinite(found[0].score)
    if limited and model.max_target_length is not None:
        never = BeamSearch(beam=1, max_length=4 * limit)
        with torch.no_grad():
            model.generator.table[tokenizer.special.end] = 0
        found = decode(model, [[9]], never, tokenizer.special)[0]
        assert not isinstance(found, NoRoom)
        assert len(found[0].log_probs) <= limit


@pytest.mark.parametrize("name", ONE_STACK)
def test_a_language_model_of_every_choice_learns_and_steps_as_it_reads(name: str) -> None:
    tokenizer, _, targets = corpus()
    model = built_alone(name, architecture="decoder-only")
    assert isinstance(model, CausalLM)
    made = stream_batches(
        text_stream(targets, tokenizer.special),
        context=24,
        budget=600,
        special=tokenizer.special,
        seed=1,
    )

    def losses() -> Iterator[tuple[Tensor, int]]:
        while True:
            batch = made.next_batch()
            yield language_loss(model, batch, smoothing=0.0), batch.target_tokens

    found = losses_of(model.train(), losses())
    assert np.mean(found[-3:]) < np.mean(found[:3]) - 0.2
    model.double().eval()
    ids = torch.randint(4, 200, (2, 12), generator=torch.Generator().manual_seed(3))
    with torch.inference_mode():
        whole = model(ids)
        first, kept = model.step(ids[:, :5], model.start(2))
        steps = [first]
        for position in range(5, 12):
            logits, kept = model.step(ids[:, position : position + 1], kept)
            steps.append(logits)
    torch.testing.assert_close(torch.cat(steps, dim=1), whole)


@pytest.mark.parametrize("name", ONE_STACK)
def test_an_encoder_of_every_choice_learns_and_bears_an_empty_row(name: str) -> None:
    tokenizer, sources, _ = corpus()
    model = built_alone(name, architecture="encoder-only")
    assert isinstance(model, EncoderOnly)
    rng = np.random.default_rng(1)
    rows = [np.array(source, dtype=np.int32) for source in sources[:60]]

    def losses() -> Iterator[tuple[Tensor, int]]:
        while True:
            batch = mask_pieces(
                rows, share=0.3, vocabulary=tokenizer.size, special=tokenizer.special, rng=rng
            )
            yield masked_loss(model, batch, smoothing=0.0), batch.target_tokens

    found = losses_of(model.train(), losses())
    assert np.mean(found[-3:]) < np.mean(found[:3]) - 0.1
    model.eval()
    logits = model(padded([[10, 11, 12, 2], [], [14, 2]]))
    assert torch.isfinite(logits).all()
    torch.testing.assert_close(logits[2:, :2], model(padded([[14, 2]])), atol=1e-4, rtol=1e-4)
    logits.square().sum().backward()  # pyright: ignore[reportUnknownMemberType]  # torch's stub
    gradients = [w.grad for w in model.parameters() if w.grad is not None]
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
