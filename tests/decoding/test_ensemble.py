import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding import (
    BeamSearch,
    Ensemble,
    EnsembleMean,
    EnsembleSession,
    Hypothesis,
    Sampling,
    Symbols,
    decode,
    mean_log_probs,
    sample,
    search,
)
from dragoman.errors import ConfigError
from dragoman.evaluation import score_targets
from dragoman.models import RecurrentConfig, SequenceToSequence, build_model
from dragoman.nn import RecurrentEncoderDecoder
from dragoman.tokenization import SpecialIds
from tests.decoding.exhaustive import END, START, ranked
from tests.fakes import Ids, Table, TableSession, random_table
from tests.fixtures import encoder_decoder, tiny_bundle

SYMBOLS = Symbols(START, END, banned=(START,))
SOURCES = [[5, 6, 7], [8], [9, 10, 11, 12, 13], [5, 8, 40, 41]]
SPECIAL = SpecialIds()
some = settings(max_examples=25)


def mean_table(tables: tuple[Table, ...], mean: EnsembleMean) -> Table:
    """Write the mean of tables down from its definition."""

    def following(prefix: Ids) -> list[float]:
        columns = [*zip(*(table(prefix) for table in tables), strict=True)]
        if mean == "linear":
            return [sum(column) / len(tables) for column in columns]
        products = [math.prod(column) ** (1 / len(tables)) for column in columns]
        return [product / sum(products) for product in products]

    return following


def recurrent(vocabulary: int, seed: int = 3) -> SequenceToSequence:
    config = RecurrentConfig(layers=1, d_model=16, vocabulary=vocabulary, dropout=0.0)
    model = build_model(config, torch.Generator().manual_seed(seed))
    assert isinstance(model, RecurrentEncoderDecoder)
    return model.eval()


def mixed(mean: EnsembleMean = "linear") -> Ensemble:
    """Put two Transformers and a recurrent model together."""
    bundles = [tiny_bundle(seed=seed) for seed in (1, 2)]
    models = [encoder_decoder(bundle) for bundle in bundles]
    return Ensemble([*models, recurrent(bundles[0].target_tokenizer.size)], mean)


def found_by(model: Any, **options: Any) -> list[list[Hypothesis]]:
    found = decode(model, SOURCES, BeamSearch(max_length=9, **options), SPECIAL)
    return [each for each in found if isinstance(each, list)]


def test_means_follow_their_formulas() -> None:
    # By hand: (0.8 + 0.2) / 2 = 0.5 and (0.2 + 0.8) / 2. Geometric: sqrt(0.9 * 0.4) = 0.6,
    # sqrt(0.1 * 0.6) = 0.244949; over their sum 0.844949 it is 0.710102 and 0.289898.
    first, second = torch.tensor([0.8, 0.2]).log(), torch.tensor([0.2, 0.8]).log()
    linear = mean_log_probs([first, second]).exp()
    torch.testing.assert_close(linear, torch.tensor([0.5, 0.5]))
    first, second = torch.tensor([0.9, 0.1]).log(), torch.tensor([0.4, 0.6]).log()
    geometric = mean_log_probs([first, second], "geometric").exp()
    torch.testing.assert_close(geometric, torch.tensor([0.710102, 0.289898]), atol=1e-6, rtol=0)


def test_what_only_one_model_holds_possible_keeps_its_share() -> None:
    first, second = torch.tensor([1.0, 0.0]).log(), torch.tensor([0.5, 0.5]).log()
    torch.testing.assert_close(mean_log_probs([first, second]).exp(), torch.tensor([0.75, 0.25]))
    impossible = mean_log_probs([first, first]).exp()
    torch.testing.assert_close(impossible, torch.tensor([1.0, 0.0]))


@some
@given(
    seeds=st.lists(st.integers(0, 2**31), min_size=1, max_size=4),
    mean=st.sampled_from(["linear", "geometric"]),
    alpha=st.sampled_from([0.0, 0.6, 1.0, -0.5]),
    n_best=st.integers(1, 5),
)
def test_search_finds_the_best_of_the_mean_table(
    seeds: list[int], mean: EnsembleMean, alpha: float, n_best: int
) -> None:
    vocabulary, limit = 5, 4
    tables = tuple(random_table(seed, vocabulary) for seed in seeds)
    session = EnsembleSession(tuple(TableSession.start(table) for table in tables), mean)
    beam = max(n_best, (vocabulary - 2) ** limit)  # drops nothing
    config = BeamSearch(beam=beam, n_best=n_best, alpha=alpha)
    (found,) = search(session, config, SYMBOLS, [limit])

    def score(log_probs: list[float], ids: Ids) -> float:
        return math.fsum(log_probs) / ((5 + len(ids) + 1) / 6) ** alpha

    expected = ranked(mean_table(tables, mean), vocabulary, limit, score)[:n_best]
    assert [each.ids for each in found] == [ids for _, ids in expected]
    assert [each.score for each in found] == pytest.approx([value for value, _ in expected])


def test_samples_are_drawn_from_the_mean_table() -> None:
    tables = random_table(1, 5), random_table(2, 5)
    session = EnsembleSession(tuple(TableSession.start(table, table) for table in tables))
    alone = TableSession.start(*[mean_table(tables, "linear")] * 2)
    limits, seeds = [6, 6], [0, 1]
    together = sample(session, Sampling(), SYMBOLS, limits, seeds=seeds)
    expected = sample(alone, Sampling(), SYMBOLS, limits, seeds=seeds)
    assert [each.ids for each in together] == [each.ids for each in expected]


@pytest.mark.parametrize("mean", ["linear", "geometric"])
@pytest.mark.parametrize("beam", [1, 4])
def test_a_model_with_itself_is_the_model(mean: EnsembleMean, beam: int) -> None:
    model = encoder_decoder(tiny_bundle(layers=2))
    alone = found_by(model, beam=beam, n_best=beam)
    twice = found_by(Ensemble([model, model], mean), beam=beam, n_best=beam)
    for one, other in zip(alone, twice, strict=True):
        assert [each.ids for each in one] == [each.ids for each in other]
        assert [e.score for e in one] == pytest.approx([e.score for e in other], abs=1e-5)


@pytest.mark.parametrize("mean", ["linear", "geometric"])
def test_scores_of_the_search_are_those_of_scoring(mean: EnsembleMean) -> None:
    model = mixed(mean)
    best = [found[0] for found in found_by(model, alpha=0.0)]
    whole = [number for number, each in enumerate(best) if not each.truncated]
    cut = [number for number in range(len(best)) if number not in whole]
    targets = [list(each.ids) for each in best]
    scored = score_targets(model, SOURCES, targets, SPECIAL)
    for number in whole:
        assert scored[number].log_probs == pytest.approx(best[number].log_probs, abs=1e-4)
    for number in cut:
        assert scored[number].log_probs[:-1] == pytest.approx(best[number].log_probs, abs=1e-4)


def test_a_sentence_does_not_depend_on_its_neighbours() -> None:
    model = mixed()
    for source, together in zip(SOURCES, found_by(model), strict=True):
        (alone,) = decode(model, [source], BeamSearch(max_length=9), SPECIAL)
        assert isinstance(alone, list)
        assert alone[0].ids == together[0].ids
        assert alone[0].score == pytest.approx(together[0].score, abs=1e-5)


def test_scoring_gives_the_mean_of_what_the_models_give() -> None:
    model = mixed()
    target = [20, 21]
    (together,) = score_targets(model, [SOURCES[0]], [target], SPECIAL)
    each = [score_targets(m, [SOURCES[0]], [target], SPECIAL)[0] for m in model.models]
    expected = [
        math.log(sum(map(math.exp, values)) / len(values))
        for values in zip(*(one.log_probs for one in each), strict=True)
    ]
    assert together.log_probs == pytest.approx(expected, abs=1e-5)


def test_the_shortest_positions_are_those_of_all() -> None:
    size = tiny_bundle().target_tokenizer.size
    models = [encoder_decoder(tiny_bundle(learned=n)) for n in (20, 12)]
    ensemble = Ensemble([*models, recurrent(size)])
    assert (ensemble.max_source_length, ensemble.max_target_length) == (12, 12)
    assert Ensemble([recurrent(size)]).max_source_length is None


def test_what_makes_no_ensemble_is_refused() -> None:
    with pytest.raises(ValueError, match="there are none"):
        Ensemble([])
    model = encoder_decoder(tiny_bundle())
    with pytest.raises(ConfigError, match="ensemble_mean: 'median' is no mean; linear or geom"):
        Ensemble([model], "median")  # pyright: ignore[reportArgumentType]  # what is tested
    with pytest.raises(ConfigError, match="coverage: is not offered for an ensemble"):
        decode(Ensemble([model]), SOURCES, BeamSearch(coverage=0.2), SPECIAL)
