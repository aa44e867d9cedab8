import math

import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch
from dragoman.evaluation import Validator, perplexity, score_targets, target_log_probs
from tests.fixtures import ENGLISH, GERMAN, encoder_decoder, tiny_bundle


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return tiny_bundle(layers=2)


def test_log_probabilities_are_picked_from_the_softmax() -> None:
    # By hand: softmax of (ln 1, ln 3) is (1/4, 3/4).
    logits = torch.tensor([[[0.0, math.log(3.0)], [0.0, 0.0]]])
    found = target_log_probs(logits, torch.tensor([[1, 0]]))
    torch.testing.assert_close(found, torch.tensor([[0.75, 0.5]]).log())


def test_perplexity_is_e_to_the_loss_and_may_overflow() -> None:
    assert perplexity(2.0) == pytest.approx(7.38905609893065)  # e², golden case
    assert perplexity(1e4) == math.inf


def test_a_target_scores_what_one_pass_over_it_alone_says(bundle: Bundle) -> None:
    special = bundle.target_tokenizer.special
    sources = bundle.source_tokenizer.encode_many(GERMAN)
    targets = bundle.target_tokenizer.encode_many(ENGLISH)
    found = score_targets(encoder_decoder(bundle), sources, targets, special)
    for source, target, score in zip(sources, targets, found, strict=True):
        with torch.inference_mode():
            logits = encoder_decoder(bundle)(
                torch.tensor([[*source, special.end]]), torch.tensor([[special.start, *target]])
            )
        expected = logits[0].log_softmax(-1)[range(len(target) + 1), [*target, special.end]]
        assert score.log_probs == pytest.approx(expected.tolist(), abs=1e-5)
        assert score.log_prob == pytest.approx(float(expected.sum()), abs=1e-4)


def test_validation_loss_is_the_mean_over_all_target_pieces(bundle: Bundle) -> None:
    special = bundle.target_tokenizer.special
    sources = bundle.source_tokenizer.encode_many(GERMAN)
    targets = bundle.target_tokenizer.encode_many(ENGLISH)
    found = score_targets(encoder_decoder(bundle), sources, targets, special)
    pieces = sum(len(target) + 1 for target in targets)
    expected = -sum(sum(score.log_probs) for score in found) / pieces
    for batch_tokens in (1, 64, 4096):  # the same for every batch size
        validator = Validator(
            sources=sources,
            targets=targets,
            references=ENGLISH,
            tokenizer=bundle.target_tokenizer,
            search=BeamSearch(beam=2, max_length=5),
            metrics=("bleu", "chrf"),
            batch_tokens=batch_tokens,
        )
        result = validator(encoder_decoder(bundle))
        assert result.loss_nats == pytest.approx(expected, abs=1e-5)
        assert [score.metric for score in result.scores] == ["bleu", "chrf"]
        assert result.value(("chrf",)) == result.scores[1].value
        assert result.value(()) == result.loss_nats
