import math
from typing import Any

import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch, Hypothesis, coverage_penalty, decode, search
from dragoman.errors import ConfigError
from dragoman.inspection import cross_attention
from dragoman.models import RecurrentConfig, build_model
from dragoman.nn import RecurrentEncoderDecoder
from tests.decoding.exhaustive import START, Ids, ranked
from tests.decoding.fake_covering import CoveringTable, looking_at
from tests.decoding.test_controls import LIMIT, SYMBOLS, WIDE, V, agrees
from tests.fakes import random_table
from tests.fixtures import GERMAN, encoder_decoder, tiny_bundle


def test_coverage_follows_equation_14() -> None:
    # By hand: 0.2 * (ln 0.5 + ln 1 + ln 1); the last column is padding.
    covered = torch.tensor([[0.5, 1.7, 1.0, 0.0]])
    visible = torch.tensor([[True, True, True, False]])
    assert coverage_penalty(covered, visible, 0.2).item() == pytest.approx(0.2 * math.log(0.5))
    nothing = coverage_penalty(torch.zeros(1, 1), torch.ones(1, 1, dtype=torch.bool), 1.0)
    assert nothing.item() == pytest.approx(math.log(1e-10))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("beta", [0.2, 3.0])
@pytest.mark.parametrize("groups", [1, 3])
def test_search_with_coverage_finds_what_exhaustive_search_finds(
    seed: int, beta: float, groups: int
) -> None:
    table, positions = random_table(seed, V, evenness=0.5), 3
    alpha = [0.0, 0.6, 1.0, -0.5][seed % 4]

    def score(log_probs: list[float], ids: Ids) -> float:
        looks = [looking_at(seed, (START, *ids[:n]), positions) for n in range(len(ids) + 1)]
        term = sum(math.log(min(1.0, sum(look[i] for look in looks))) for i in range(positions))
        return sum(log_probs) / ((5 + len(log_probs)) / 6) ** alpha + beta * term

    expected = ranked(table, V, LIMIT, score)
    options: dict[str, Any] = {"beam": WIDE, "alpha": alpha, "coverage": beta}
    if groups > 1:  # which find the same, however little they differ
        options |= {"beam": 3 * WIDE, "groups": 3}
    for n_best in (1, 5, WIDE):
        session = CoveringTable.begin(seed, positions, table)
        config = BeamSearch(n_best=n_best, **options)
        agrees(search(session, config, SYMBOLS, [LIMIT])[0], expected[:n_best])


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    made = tiny_bundle(layers=2)
    with torch.no_grad():  # ends now and then
        encoder_decoder(made).generator.table[made.target_tokenizer.special.end] *= 3
    return made


def translated(bundle: Bundle, batch_tokens: int = 4096, **options: Any) -> list[list[Hypothesis]]:
    sources = bundle.source_tokenizer.encode_many(GERMAN)
    config, special = BeamSearch(**options), bundle.target_tokenizer.special
    model = encoder_decoder(bundle)
    answers = decode(model, sources, config, special, batch_tokens=batch_tokens)
    return [answer for answer in answers if isinstance(answer, list)]


def test_coverage_of_a_model_is_what_its_last_layer_looks_at(bundle: Bundle) -> None:
    model, special = encoder_decoder(bundle), bundle.target_tokenizer.special
    kernels = [module for module in model.modules() if hasattr(module, "kernel")]
    before = [module.kernel for module in kernels]
    found = translated(bundle, beam=4, n_best=4, coverage=0.4, max_length=12)
    assert [module.kernel for module in kernels] == before  # the model is left as it was
    for german, answer in zip(GERMAN, found, strict=True):
        source = torch.tensor([[*bundle.source_tokenizer.encode(german), special.end]])
        for hypothesis in answer:
            fed = [special.start, *hypothesis.ids][: len(hypothesis.log_probs)]
            weights = cross_attention(model, source, torch.tensor([fed]))  # (N, 1, H, T, S)
            covered = weights[-1, 0].mean(0).sum(0)
            term = 0.4 * sum(math.log(min(1.0, each)) for each in covered.tolist())
            plain = hypothesis.log_prob / ((5 + len(fed)) / 6) ** 0.6
            assert hypothesis.score == pytest.approx(plain + term, abs=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_coverage_depends_neither_on_the_batch_nor_on_n_best(bundle: Bundle, beam: int) -> None:
    options: dict[str, Any] = {"beam": beam, "coverage": 0.4, "max_length": 12}
    alone = translated(bundle, batch_tokens=1, **options)
    for other in (translated(bundle, **options), translated(bundle, n_best=beam, **options)):
        assert [answer[0].ids for answer in alone] == [answer[0].ids for answer in other]
        scores = [answer[0].score for answer in other]
        assert [answer[0].score for answer in alone] == pytest.approx(scores, abs=1e-5)


def test_a_model_without_attention_weights_is_refused() -> None:
    model = build_model(RecurrentConfig(layers=1, d_model=8, vocabulary=20))
    assert isinstance(model, RecurrentEncoderDecoder)
    special = tiny_bundle().target_tokenizer.special
    with pytest.raises(ConfigError, match="coverage: this model forms no attention weights"):
        decode(model, [[5, 6]], BeamSearch(coverage=0.2), special)
