import pytest
import torch

from dragoman.decoding import Hypothesis, Sampling, draw_translations, filter_log_probs
from dragoman.evaluation import score_targets
from dragoman.nn import EncoderDecoder
from dragoman.tokenization import SpecialIds
from tests.fixtures import encoder_decoder, tiny_bundle

SOURCES = [[5, 6, 7], [8], [9, 10, 11, 12, 13]]
SPECIAL = SpecialIds()


@pytest.fixture(scope="module")
def model() -> EncoderDecoder:
    return encoder_decoder(tiny_bundle(layers=2))


def drawn(
    model: EncoderDecoder,
    seeds: list[list[int]],
    sources: list[list[int]] = SOURCES,
    batch_tokens: int = 4096,
    **options: float,
) -> list[list[Hypothesis]]:
    sampling = Sampling(max_length=8, seed=4, **options)  # pyright: ignore  # of one type each
    return draw_translations(
        model, sources, sampling, SPECIAL, seeds=seeds, batch_tokens=batch_tokens
    )


def test_a_draw_depends_on_its_source_and_number_alone(model: EncoderDecoder) -> None:
    together = drawn(model, [[0, 1, 2], [3, 4], [5]])
    assert [len(each) for each in together] == [3, 2, 1]
    for batch_tokens in (1, 13, 4096):
        (alone,) = drawn(model, [[2, 0]], [SOURCES[0]], batch_tokens)
        for one, other in zip(alone, (together[0][2], together[0][0]), strict=True):
            assert one.ids == other.ids
            assert one.score == pytest.approx(other.score, abs=1e-5)
    assert len({each.ids for each in together[0]}) == 3  # 8 pieces of 300: the same are unlikely


def test_scores_are_log_probabilities_of_the_model(model: EncoderDecoder) -> None:
    found = drawn(model, [[0], [1], [2]], temperature=0.7)
    targets = [list(each[0].ids) for each in found]
    scored = score_targets(model, SOURCES, targets, SPECIAL)
    for (one,), score in zip(found, scored, strict=True):
        expected = score.log_probs[: len(one.log_probs)]
        assert one.log_probs == pytest.approx(expected, abs=1e-4)
        assert one.score == pytest.approx(sum(expected), abs=1e-4)


def test_first_pieces_come_as_often_as_the_model_says(model: EncoderDecoder) -> None:
    # 3,000 draws of one piece; every likely one is within 4 standard deviations of its share.
    draws = 3_000
    sampling = Sampling(max_length=1, top_k=5)
    seeds = [[*range(draws)]]
    (found,) = draw_translations(model, [SOURCES[0]], sampling, SPECIAL, seeds=seeds)
    pieces = [each.ids[0] if each.ids else SPECIAL.end for each in found]
    with torch.no_grad():
        logits = model(torch.tensor([[*SOURCES[0], 2]]), torch.tensor([[1]]))[:, 0].double()
    logits[:, [0, 1, 3]] = -torch.inf
    shares = filter_log_probs(logits, top_k=5).exp()[0]
    for piece in shares.nonzero()[:, 0].tolist():
        share = float(shares[piece])
        spread = 4 * (share * (1 - share) / draws) ** 0.5
        assert pieces.count(piece) / draws == pytest.approx(share, abs=spread)
    assert len({*pieces}) == 5


def test_as_many_lists_of_seeds_as_sources_are_needed(model: EncoderDecoder) -> None:
    with pytest.raises(ValueError, match="3 sources need as many lists of seeds, not 1"):
        drawn(model, [[1]])
    assert draw_translations(model, [], Sampling(), SPECIAL, seeds=[]) == []
    assert drawn(model, [[], [1], []])[0] == []
