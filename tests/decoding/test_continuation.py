import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.decoding import Hypothesis, Sampling, continue_texts
from dragoman.errors import ModelError
from dragoman.nn import CausalLM
from tests.one_sided import language_bundle

PROMPTS = [[], [300 - 1, 270], [265], [280, 281], [], [270, 271, 272, 273, 274]]


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return language_bundle(ends=5.0)


def continued(
    bundle: Bundle, prompts: list[list[int]], sampling: Sampling, *, batch_tokens: int = 4096
) -> list[Hypothesis]:
    assert isinstance(bundle.model, CausalLM)
    known = bundle.target_tokenizer
    prompts = [[piece % known.size for piece in prompt] for prompt in prompts]
    seeds = list(range(len(prompts)))
    return continue_texts(
        bundle.model, prompts, sampling, known.special, seeds=seeds, batch_tokens=batch_tokens
    )


def test_temperature_zero_is_greedy_recomputed_without_a_cache(bundle: Bundle) -> None:
    special = bundle.target_tokenizer.special
    found = continued(bundle, PROMPTS, Sampling(temperature=0, max_length=6))
    for prompt, answer in zip(PROMPTS, found, strict=True):
        ids = [special.start, *(piece % bundle.target_tokenizer.size for piece in prompt)]
        drawn: list[int] = []
        while len(drawn) < 6 and special.end not in drawn:
            with torch.no_grad():
                logits = bundle.model(torch.tensor([[*ids, *drawn]]))[0, -1]
            logits[[special.padding, special.start, special.unknown]] = -torch.inf
            drawn.append(int(logits.argmax()))
        assert [*answer.ids] == [piece for piece in drawn if piece != special.end]
        assert answer.truncated == (special.end not in drawn)


def test_the_log_probabilities_are_those_of_the_model(bundle: Bundle) -> None:
    special = bundle.target_tokenizer.special
    found = continued(bundle, PROMPTS, Sampling(temperature=0.7, top_k=9, max_length=7))
    assert any(not answer.truncated for answer in found)
    for prompt, answer in zip(PROMPTS, found, strict=True):
        prompt = [piece % bundle.target_tokenizer.size for piece in prompt]
        said = [*answer.ids, *[special.end] * (not answer.truncated)]
        ids = torch.tensor([[special.start, *prompt, *said]])
        with torch.no_grad():
            log_probs = bundle.model(ids[:, :-1])[0].log_softmax(-1)
        expected = [float(log_probs[len(prompt) + n, piece]) for n, piece in enumerate(said)]
        assert answer.log_probs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("batch_tokens", [1, 20, 40])
def test_what_a_prompt_gets_does_not_depend_on_its_batch(bundle: Bundle, batch_tokens: int) -> None:
    sampling = Sampling(max_length=8, seed=5)
    together = continued(bundle, PROMPTS, sampling)
    others = continued(bundle, PROMPTS, sampling, batch_tokens=batch_tokens)
    assert [answer.ids for answer in together] == [answer.ids for answer in others]
    assert len({answer.ids for answer in together}) > 3  # the seeds differ


def test_no_special_symbol_is_ever_drawn(bundle: Bundle) -> None:
    for answer in continued(bundle, [[]] * 40, Sampling(temperature=3.0, max_length=20)):
        assert not {0, 1, 2, 3} & {*answer.ids}


def test_learned_positions_end_a_text_and_a_prompt_that_fills_them_is_refused() -> None:
    bundle = language_bundle(learned=6, ends=-99.0)
    prompts = [[265] * 5, [265] * 3, []]
    found = continued(bundle, prompts, Sampling(temperature=0, max_length=50))
    # Six positions hold the start symbol, the prompt and all drawn pieces but the last.
    assert [len(answer.ids) for answer in found] == [1, 3, 6]
    assert all(answer.truncated for answer in found)
    with pytest.raises(ModelError, match="prompt 2: 7 pieces with the start symbol, the model has"):
        continued(bundle, [[], [265] * 6], Sampling())


def test_a_limit_that_is_not_set_is_fifty_more_than_the_prompt_has() -> None:
    bundle = language_bundle(ends=-99.0)
    answer, longer = continued(bundle, [[], [265, 266]], Sampling(temperature=0))
    assert (len(answer.ids), len(longer.ids)) == (50, 52)


def test_every_prompt_needs_a_seed(bundle: Bundle) -> None:
    assert isinstance(bundle.model, CausalLM)
    special = bundle.target_tokenizer.special
    with pytest.raises(ValueError, match="2 prompts need as many seeds, not 1"):
        continue_texts(bundle.model, [[], []], Sampling(), special, seeds=[1])
    assert continue_texts(bundle.model, [], Sampling(), special, seeds=[]) == []
