"""Drafts in front of real, if random, Transformers."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from dragoman.decoding import (
    BannedPhrases,
    BeamSearch,
    CopyDrafts,
    DraftCounts,
    Drafts,
    Hypothesis,
    ModelDrafts,
    PrefixTooLong,
    Sampling,
    Speculation,
    TorchReader,
    check_reading,
    continue_drafted,
    continue_texts,
    decode,
    decode_drafted,
)
from dragoman.errors import ConfigError, ModelError
from dragoman.models import (
    T5,
    Alibi,
    Learned,
    Linear,
    Local,
    ModelConfig,
    RecurrentConfig,
    Rotary,
    Shaw,
    build_model,
)
from dragoman.nn import CausalLM, EncoderDecoder, RecurrentEncoderDecoder
from dragoman.tokenization import SpecialIds

SPECIAL = SpecialIds()
SOURCES = [[7, 8, 9, 10], [30], [11, 12, 13, 7, 8, 20, 21], [], [5, 6, 5, 6]]


def config(**choices: Any) -> ModelConfig:
    small: dict[str, Any] = {"layers": 2, "d_model": 16, "heads": 2, "d_ff": 32, "vocabulary": 40}
    return ModelConfig(**{**small, **choices})


def build(seed: int, **choices: Any) -> EncoderDecoder:
    """Make a model that ends now and then and does not hold two pieces equally likely."""
    model = build_model(config(**choices), torch.Generator().manual_seed(seed)).eval()
    assert isinstance(model, EncoderDecoder)
    with torch.no_grad():
        model.generator.table.mul_(3)
        model.generator.table[SPECIAL.end] *= 1.5
    return model


def assert_same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    for answer, other in zip(found, expected, strict=True):
        if isinstance(other, PrefixTooLong):
            assert answer == other
            continue
        assert [(h.ids, h.truncated) for h in answer] == [(h.ids, h.truncated) for h in other]
        for one, two in zip(answer, other, strict=True):
            assert one.log_probs == pytest.approx(two.log_probs, abs=1e-5)
            assert one.score == pytest.approx(two.score, abs=1e-5)


def drafts(kind: str, model: EncoderDecoder) -> Drafts:
    match kind:
        case "itself":
            return ModelDrafts(TorchReader(model), SPECIAL.end)
        case "another":
            return ModelDrafts(TorchReader(build(77, layers=1)), SPECIAL.end)
        case "few positions":
            few = build(78, layers=1, positions=Learned(max_length=5))
            return ModelDrafts(TorchReader(few), SPECIAL.end)
        case _:
            return CopyDrafts()


@pytest.mark.parametrize("kind", ["itself", "another", "few positions", "copy"])
@pytest.mark.parametrize("length", [1, 3, 8])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_greedy_with_a_draft_equals_greedy_without(kind: str, length: int, seed: int) -> None:
    model = build(seed)
    search = BeamSearch(beam=1, max_length=20)
    speculation = Speculation(drafts(kind, model), length)
    found, counts = decode_drafted(model, SOURCES, search, SPECIAL, speculation)
    assert_same(found, decode(model, SOURCES, search, SPECIAL))
    assert counts.repeated == 0  # so the draft took part
    if kind == "itself":
        assert counts.acceptance == 1
        assert counts.pieces_per_pass > 1.5


@pytest.mark.parametrize(
    "choices",
    [
        {"positions": Rotary()},
        {"positions": Alibi()},
        {"positions": T5()},
        {"positions": Shaw()},
        {"positions": Learned(max_length=12)},
        {"kv_heads": 1},
    ],
    ids=str,
)
def test_every_kind_of_position_reads_several_pieces_as_one_by_one(choices: Any) -> None:
    model = build(4, **choices)
    search = BeamSearch(beam=1, max_length=30)  # learned positions end the text at 12
    speculation = Speculation(drafts("itself", model), 3)
    found, counts = decode_drafted(model, SOURCES, search, SPECIAL, speculation)
    assert_same(found, decode(model, SOURCES, search, SPECIAL))
    assert counts.acceptance == 1


@pytest.mark.parametrize("kind", ["another", "copy"])
def test_controls_go_through_to_the_judge(kind: str) -> None:
    model = build(5)
    search = BeamSearch(
        beam=1, max_length=15, min_length=4, no_repeat_ngram=2, repetition_penalty=1.3
    )
    prefixes = [[9], [], [4, 4], [12], [8] * 15]
    ban = BannedPhrases([[9], [10, 11]])
    speculation = Speculation(drafts(kind, model), 3)
    found, _ = decode_drafted(
        model, SOURCES, search, SPECIAL, speculation, prefixes=prefixes, ban=ban
    )
    expected = decode(model, SOURCES, search, SPECIAL, prefixes=prefixes, ban=ban)
    assert isinstance(expected[-1], PrefixTooLong)
    assert_same(found, expected)


def test_close_pieces_are_decided_as_without_a_draft() -> None:
    model = build(6)
    with torch.no_grad():  # every piece but the end has a twin that is as good
        model.generator.table[22:] = model.generator.table[4:22]
    search = BeamSearch(beam=1, max_length=10)
    speculation = Speculation(drafts("another", model), 3)
    found, counts = decode_drafted(model, SOURCES, search, SPECIAL, speculation)
    assert counts.repeated == len(SOURCES)
    expected = [decode(model, [source], search, SPECIAL)[0] for source in SOURCES]
    assert found == expected  # to the bit


def test_a_reading_is_the_same_in_one_go_or_piece_by_piece_and_after_going_back() -> None:
    model = build(7)
    with torch.inference_mode():
        whole, _ = TorchReader(model).begin([7, 8, 2], [1]).read([1, 9, 10, 11])
        reading = TorchReader(model).begin([7, 8, 2], [1])
        first, reading = reading.read([1, 9])
        _, reading = reading.read([30, 31, 32])
        second, reading = reading.cut(2).read([10])
        third, reading = reading.cut(3).read([11])
        again, _ = reading.cut(0).read([1])
    torch.testing.assert_close(torch.cat((first, second, third)), whole)
    torch.testing.assert_close(again, whole[:1])


def test_what_cannot_go_back_is_refused_by_name() -> None:
    linear = build_model(config(attention=Linear()))
    with pytest.raises(ModelError, match="draft: LinearAttention keeps sums"):
        check_reading(linear, "draft")
    local = build_model(config(attention=Local(keys=5)))
    with pytest.raises(ModelError, match="model: local attention forgets"):
        check_reading(local, "model")
    recurrent = build_model(RecurrentConfig(vocabulary=40))
    assert isinstance(recurrent, RecurrentEncoderDecoder)
    with pytest.raises(ModelError, match="a RecurrentEncoderDecoder cannot go back"):
        decode_drafted(recurrent, SOURCES, BeamSearch(beam=1), SPECIAL, Speculation(CopyDrafts()))


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (BeamSearch(beam=4), "draft: verifies one hypothesis, and beam is 4; set beam to 1"),
        (BeamSearch(beam=1, coverage=0.2), "draft: allows no coverage penalty"),
    ],
)
def test_a_search_that_cannot_be_judged_is_refused(search: BeamSearch, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        decode_drafted(build(1), SOURCES, search, SPECIAL, Speculation(CopyDrafts()))


@pytest.mark.parametrize("length", [0, 1001])
def test_an_impossible_draft_length_is_refused(length: int) -> None:
    with pytest.raises(ConfigError, match=f"draft_length: {length} is not between 1 and 1000"):
        Speculation(CopyDrafts(), length)


@pytest.mark.parametrize("prefix", [[2], [-1], [40]])
def test_an_impossible_prefix_is_refused(prefix: list[int]) -> None:
    search, speculation = BeamSearch(beam=1), Speculation(CopyDrafts())
    with pytest.raises(ValueError, match="prefixes: "):
        decode_drafted(build(1), [[5]], search, SPECIAL, speculation, prefixes=[prefix])


def test_sampling_with_a_draft_goes_by_seeds_and_keeps_its_limit() -> None:
    model, sampling = build(8), Sampling(max_length=9)
    speculation = Speculation(drafts("another", model), 3)

    def drawn(sources: list[list[int]], seeds: list[int]) -> list[Any]:
        return decode_drafted(model, sources, sampling, SPECIAL, speculation, seeds=seeds)[0]

    first = drawn(SOURCES, [0, 1, 2, 3, 4])
    assert drawn(SOURCES[::-1], [4, 3, 2, 1, 0])[::-1] == first
    assert drawn(SOURCES, [5, 6, 7, 8, 9]) != first
    assert all(len(answer[0].log_probs) <= 9 for answer in first)


# A language model


def language_model(seed: int, **choices: Any) -> CausalLM:
    chosen = config(architecture="decoder-only", **choices)
    model = build_model(chosen, torch.Generator().manual_seed(seed)).eval()
    assert isinstance(model, CausalLM)
    with torch.no_grad():
        model.generator.table.mul_(3)
    return model


@pytest.mark.parametrize("kind", ["itself", "another", "copy"])
def test_greedy_continuations_with_a_draft_equal_those_without(kind: str) -> None:
    model = language_model(9)
    small = model if kind == "itself" else language_model(10, layers=1)
    made = CopyDrafts() if kind == "copy" else ModelDrafts(TorchReader(small), SPECIAL.end)
    sampling, seeds = Sampling(temperature=0.0, max_length=12), range(len(SOURCES))
    expected = continue_texts(model, SOURCES, sampling, SPECIAL, seeds=seeds)
    found, counts = continue_drafted(
        model, SOURCES, [12] * len(SOURCES), sampling, SPECIAL, Speculation(made, 3), seeds=seeds
    )
    assert_same([[each] for each in found], [[each] for each in expected])
    if kind == "itself":
        assert counts.acceptance == 1


def test_counts_add_up() -> None:
    one = DraftCounts(drafted=4, accepted=1, passes=2, pieces=3)
    assert one + one == DraftCounts(drafted=8, accepted=2, passes=4, pieces=6)
    assert (one.acceptance, one.pieces_per_pass) == (0.25, 1.5)
    assert (DraftCounts().acceptance, DraftCounts().pieces_per_pass) == (0.0, 0.0)


def test_hypotheses_are_one_at_most() -> None:
    model = build(1)
    found, _ = decode_drafted(model, [[5]], BeamSearch(beam=1), SPECIAL, Speculation(CopyDrafts()))
    assert isinstance(found[0], list)
    assert isinstance(found[0][0], Hypothesis)
