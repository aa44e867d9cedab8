from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch, Hypothesis, ModelSession, NoRoom, decode
from dragoman.decoding.engines import one_thread
from dragoman.evaluation import score_targets
from tests.fixtures import GERMAN, encoder_decoder, tiny_bundle


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    """A model that ends a translation now and then, as fresh weights seldom do."""
    made = tiny_bundle(layers=2)
    with torch.no_grad():
        encoder_decoder(made).generator.table[made.target_tokenizer.special.end] *= 3
    return made


def found_by(
    bundle: Bundle, config: BeamSearch, *, batch_tokens: int = 4096
) -> list[list[Hypothesis]]:
    sources = bundle.source_tokenizer.encode_many(GERMAN)
    special = bundle.target_tokenizer.special
    answers = decode(encoder_decoder(bundle), sources, config, special, batch_tokens=batch_tokens)
    assert not any(isinstance(answer, NoRoom) for answer in answers)
    return [answer for answer in answers if not isinstance(answer, NoRoom)]


@pytest.mark.parametrize("alpha", [-0.5, 0.0, 0.6, 1.0])
@pytest.mark.parametrize("max_length", [12, None])
def test_a_score_of_search_equals_the_score_of_the_same_pair(
    bundle: Bundle, alpha: float, max_length: int | None
) -> None:
    found = found_by(bundle, BeamSearch(beam=4, n_best=4, alpha=alpha, max_length=max_length))
    sources = bundle.source_tokenizer.encode_many(GERMAN)
    ended = [
        (source, hypothesis)
        for source, answer in zip(sources, found, strict=True)
        for hypothesis in answer
        if not hypothesis.truncated
    ]
    assert len(ended) >= (8 if max_length is None else 4)
    special = bundle.target_tokenizer.special
    scores = score_targets(
        encoder_decoder(bundle),
        [source for source, _ in ended],
        [hypothesis.ids for _, hypothesis in ended],
        special,
    )
    for (_, hypothesis), score in zip(ended, scores, strict=True):
        length = len(hypothesis.ids) + 1  # the end symbol counts
        expected = score.log_prob / ((5 + length) / 6) ** alpha
        assert hypothesis.score == pytest.approx(expected, abs=1e-4)
        assert hypothesis.log_probs == pytest.approx(score.log_probs, abs=1e-4)


def test_a_beam_of_one_is_greedy_recomputed_without_a_cache(bundle: Bundle) -> None:
    special = bundle.target_tokenizer.special
    found = found_by(bundle, BeamSearch(beam=1, max_length=12))
    for german, answer in zip(GERMAN, found, strict=True):
        source = torch.tensor([[*bundle.source_tokenizer.encode(german), special.end]])
        ids = [special.start]
        with torch.inference_mode():
            while len(ids) <= 12:
                logits = encoder_decoder(bundle)(source, torch.tensor([ids]))[0, -1]
                logits[[special.padding, special.start, special.unknown]] = -torch.inf
                ids.append(int(logits.argmax()))
                if ids[-1] == special.end:
                    break
        greedy = ids[1:-1] if ids[-1] == special.end else ids[1:]
        assert list(answer[0].ids) == greedy
        assert answer[0].truncated == (ids[-1] != special.end)


@pytest.mark.parametrize("batch_tokens", [1, 40, 10_000])
def test_answers_come_in_the_order_of_the_sources(bundle: Bundle, batch_tokens: int) -> None:
    config = BeamSearch(beam=3, max_length=15)
    one_by_one = found_by(bundle, config, batch_tokens=1)
    found = found_by(bundle, config, batch_tokens=batch_tokens)
    assert [answer[0].ids for answer in found] == [answer[0].ids for answer in one_by_one]


def test_a_limit_is_fifty_more_than_the_source_and_counts_the_end_symbol() -> None:
    assert BeamSearch().limit(20) == 70  # section 6.1
    bundle = tiny_bundle()
    with torch.no_grad():  # never ends
        encoder_decoder(bundle).generator.table[bundle.target_tokenizer.special.end] = 0
        encoder_decoder(bundle).generator.table[100] *= 30
    sources = [[50, 51, 52]]
    answer = decode(
        encoder_decoder(bundle), sources, BeamSearch(beam=1), bundle.target_tokenizer.special
    )[0]
    assert not isinstance(answer, NoRoom)
    assert answer[0].truncated
    assert len(answer[0].ids) == 53


def test_a_source_longer_than_the_learned_positions_is_refused_before_the_model_runs() -> None:
    bundle = tiny_bundle(learned=6)
    special = bundle.target_tokenizer.special
    decode(encoder_decoder(bundle), [[9] * 5], BeamSearch(max_length=2), special)
    with pytest.raises(ValueError, match=r"source 1: 7 pieces with the end symbol, .* 6 positions"):
        decode(encoder_decoder(bundle), [[9], [9] * 6], BeamSearch(max_length=2), special)


def test_a_session_keeps_the_rows_it_is_told_to(bundle: Bundle) -> None:
    source = torch.tensor([[20, 21, 22, 2], [30, 31, 2, 0]])
    with torch.inference_mode():
        session = ModelSession.start(encoder_decoder(bundle), source)
        _, session = session.step(torch.tensor([1, 1]))
        both, _ = session.step(torch.tensor([40, 41]))
        swapped = session.select(torch.tensor([1, 1, 0, 0]), torch.tensor([1, 0]))
        assert swapped.sentences == 2
        found, _ = swapped.step(torch.tensor([41, 40, 40, 41]))
    torch.testing.assert_close(found[0], both[1])
    torch.testing.assert_close(found[2], both[0])
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(4))


def test_threads_that_decode_at_the_same_time_leave_pytorch_its_threads() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with ThreadPoolExecutor(1) as other:
            first = one_thread()
            first.__enter__()
            second = other.submit(lambda: one_thread().__enter__())
            second.result()
            first.__exit__(None, None, None)
            other.submit(lambda: one_thread().__exit__(None, None, None)).result()
        assert torch.get_num_threads() == 2
        with ThreadPoolExecutor(1) as fresh:
            assert fresh.submit(torch.get_num_threads).result() == 2
    finally:
        torch.set_num_threads(before)
