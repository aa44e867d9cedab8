"""Cutting by chance: the distribution, and that text and runs stay what they are."""

import json
import math
import random
from collections import Counter
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models

from dragoman.configfile import read_record, write_record
from dragoman.errors import ConfigError
from dragoman.tokenization import (
    LatticeSampling,
    MergeDropout,
    SubwordSampler,
    TargetTokenizer,
    Tokenizer,
    TokenizerConfig,
    learn_tokenizer,
    pair_draws,
)
from dragoman.tokenization import sampling as module
from dragoman.tokenization.config import Kind
from dragoman.tokenization.sampling import merge_with_dropout
from dragoman.tokenization.tokenizer import assemble
from dragoman.tokenization.unigram_lattice import every_cut

LINES = ("Hund und <b>Hunde</b> im Schnee", "Hunde, ein Mann und Männer", "Schneehunde") * 5
bpe = learn_tokenizer(LINES, TokenizerConfig(size=320, pieces=("<b>",)))
unigram = learn_tokenizer(LINES, TokenizerConfig(kind="unigram", size=320, pieces=("<b>",)))
bare = learn_tokenizer(LINES, TokenizerConfig(kind="unigram", size=60, byte_fallback=False))
dropout = SubwordSampler(bpe, MergeDropout(chance=0.5))
lattice = SubwordSampler(unigram, LatticeSampling(sharpness=0.1))
texts = st.lists(
    st.text(max_size=8) | st.sampled_from(["Hunde", " Schnee", "<b>", "</s>", "狗", "ΩΩ"])
).map("".join)

# a b, then ab c, as learnt; ids: a 0, b 1, c 2, ab 3, abc 4, bc 5.
MERGES = {(0, 1): (0, 3), (3, 2): (1, 4), (1, 2): (2, 5)}


def test_merges_are_left_out_as_the_algorithm_says() -> None:
    # By hand. First a b is left out (0.1 < 0.5) and b c made, then nothing can be merged.
    draws = iter([0.1, 0.9])
    assert merge_with_dropout([0, 1, 2], MERGES, 0.5, lambda: next(draws)) == [0, 5]
    # Both could be made: the lower rank is. Then ab c is left out, and that is the end.
    draws = iter([0.9, 0.9, 0.1])
    assert merge_with_dropout([0, 1, 2], MERGES, 0.5, lambda: next(draws)) == [3, 2]
    assert merge_with_dropout([0, 1, 2], MERGES, 0.5, lambda: 0.0) == [0, 1, 2]
    assert merge_with_dropout([0, 1, 2], MERGES, 0.5, lambda: 0.99) == [4]
    assert merge_with_dropout([], MERGES, 0.5, lambda: 0.99) == []


def test_segmentations_come_as_often_as_the_algorithm_makes_them() -> None:
    # By hand with p = 1/4. First round: a b kept (3/4), then ab c kept 3/4: [4] 9/16, [3, 2] 3/16.
    # a b left out, b c kept: [0, 5], 3/16. Both left out: [0, 1, 2], 1/16.
    rng = random.Random(1)
    times = 20_000
    drawn = (merge_with_dropout([0, 1, 2], MERGES, 0.25, rng.random) for _ in range(times))
    found = Counter(map(tuple, drawn))
    expected = {(4,): 9 / 16, (3, 2): 3 / 16, (0, 5): 3 / 16, (0, 1, 2): 1 / 16}
    assert found.keys() == expected.keys()
    for cut, share in expected.items():
        assert found[cut] / times == pytest.approx(share, abs=0.015)  # 4 standard deviations


def test_a_sampler_gives_the_same_shares_with_fewer_numbers() -> None:
    # The same by hand as above; the lead is a piece of its own, as no merge begins with it.
    reserved = TokenizerConfig().reserved_pieces
    vocabulary = {each: n for n, each in enumerate((*reserved, *" abc", "ab", "abc", "bc"))}
    merges = [("a", "b"), ("ab", "c"), ("b", "c")]
    model = models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", byte_fallback=True)
    tokenizer = assemble(model, "NFC")
    expected = {"abc": 9 / 16, "ab c": 3 / 16, "a bc": 3 / 16, "a b c": 1 / 16}
    times = 20_000
    for longest in (module.LONGEST_REMEMBERED, 0):  # remembered, and by the slow twin
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "LONGEST_REMEMBERED", longest)
            sampler = SubwordSampler(tokenizer, MergeDropout(chance=0.25))
            rng = random.Random(3)
            drawn = (sampler.encode("abc", rng.random)[1:] for _ in range(times))
            found = Counter(" ".join(tokenizer.pieces(ids)) for ids in drawn)
        assert found.keys() == expected.keys()
        for cut, share in expected.items():
            assert found[cut] / times == pytest.approx(share, abs=0.015)


@given(text=texts)
def test_without_dropping_anything_text_is_cut_as_ever(text: str) -> None:
    assert dropout.encode(text, lambda: 0.999) == bpe.encode(text)


SHARES = {" ": 0.1, "a": 0.2, "b": 0.1, "ab": 0.2, " a": 0.1, " ab": 0.05, "ba": 0.25}
by_hand = assemble(
    models.Unigram(
        [(piece, 0.0) for piece in TokenizerConfig().reserved_pieces]
        + [(piece, math.log(share)) for piece, share in SHARES.items()],
        3,
        True,
    ),
    "NFC",
)


@pytest.mark.parametrize("sharpness", [0.0, 0.3, 1.0])
def test_unigram_segmentations_come_by_their_probability(sharpness: float) -> None:
    cuts = [*every_cut(" aba", SHARES)]
    assert len(cuts) == 6
    weights = [math.prod(SHARES[each] for each in cut) ** sharpness for cut in cuts]
    sampler = SubwordSampler(by_hand, LatticeSampling(sharpness=sharpness))
    rng = random.Random(2)
    times = 10_000
    found = Counter(tuple(by_hand.pieces(sampler.encode("aba", rng.random))) for _ in range(times))
    assert {*found} <= {*cuts}
    for cut, weight in zip(cuts, weights, strict=True):
        assert found[cut] / times == pytest.approx(weight / sum(weights), abs=0.02)


@given(text=texts)
def test_with_great_sharpness_the_best_segmentation_comes(text: str) -> None:
    for tokenizer in (unigram, bare):
        sampler = SubwordSampler(tokenizer, LatticeSampling(sharpness=100))
        found, best = sampler.encode(text, lambda: 0.5), tokenizer.encode(text)
        if found != best:  # as likely as each other
            assert likelihood(found, tokenizer) == pytest.approx(likelihood(best, tokenizer))


def likelihood(ids: list[int], tokenizer: Tokenizer) -> float:
    vocabulary = json.loads(tokenizer.to_json())["model"]["vocab"]
    return sum(vocabulary[number][1] for number in ids)


@given(text=texts, seed=st.integers(0, 99))
def test_text_comes_back_whatever_is_drawn(text: str, seed: int) -> None:
    for tokenizer, sampler in ((bpe, dropout), (unigram, lattice)):
        ids = sampler.encode(text, pair_draws(seed, 0, 0))
        assert tokenizer.decode(ids) == tokenizer.normalize(text)
        assert not {0, 1, 2, 3} & {*ids}
        whole = tokenizer.normalize(text).count("<b>")
        assert tokenizer.pieces(ids).count("<b>") == whole


def test_the_same_epoch_and_pair_give_the_same_ids_and_others_other_ones() -> None:
    text = "Schneehunde und Männer im Schnee"
    for sampler in (dropout, SubwordSampler(unigram, LatticeSampling(sharpness=0))):
        once = sampler.encode(text, pair_draws(1, 2, 3))
        sampler.encode("dazwischen", pair_draws(9, 9, 9))
        assert sampler.encode(text, pair_draws(1, 2, 3)) == once
        drawn = {
            tuple(sampler.encode(text, pair_draws(*place)))
            for place in ((1, 2, 3, 0), (2, 2, 3, 0), (1, 3, 3, 0), (1, 2, 4, 0), (1, 2, 3, 1))
        }
        assert len(drawn) == 5


def test_draws_are_those_of_python_for_ever() -> None:
    # From Python 3.11; `random.seed` promises them for later versions.
    assert pair_draws(1, 2, 3)() == random.Random("1 2 3 0").random()


def test_a_sampler_forgets_without_changing_what_it_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Hund Hunde Schnee Hund Mann Hunde"
    monkeypatch.setattr(module, "REMEMBERED", 2)
    small = SubwordSampler(unigram, LatticeSampling(sharpness=0.1))
    assert small.encode(text, pair_draws(1, 1, 1)) == lattice.encode(text, pair_draws(1, 1, 1))


def test_unknown_characters_in_a_row_are_one_unknown_as_ever() -> None:
    sampler = SubwordSampler(bare, LatticeSampling(sharpness=1))
    draws = cycle([0.3, 0.7])
    assert sampler.encode("ΩΩ Hund", lambda: next(draws)).count(3) == 1


@pytest.mark.parametrize(
    ("kind", "choice"),
    [
        ("bpe", LatticeSampling()),
        ("unigram", MergeDropout()),
        ("character", MergeDropout()),
        ("word", LatticeSampling()),
    ],
)
def test_a_choice_for_another_kind_is_refused(
    kind: Kind, choice: MergeDropout | LatticeSampling
) -> None:
    tokenizer = learn_tokenizer(LINES, TokenizerConfig(kind=kind, size=320))
    with pytest.raises(ConfigError, match=r"^sampling: (dropout|lattice) needs .*; leave it out"):
        SubwordSampler(tokenizer, choice)
    with pytest.raises(ConfigError, match=rf"sampling: {choice.kind} is not for the kind {kind};"):
        TokenizerConfig(kind=kind, sampling=choice)


def test_the_choice_is_a_table_with_a_kind() -> None:
    config = read_record(TokenizerConfig, {"sampling": {"kind": "dropout", "chance": 0.2}})
    assert config.sampling == MergeDropout(chance=0.2)
    assert read_record(TokenizerConfig, write_record(config)) == config
    table = {"kind": "unigram", "sampling": {"kind": "lattice"}}
    assert read_record(TokenizerConfig, table).sampling == LatticeSampling(sharpness=0.2)
    with pytest.raises(ConfigError, match=r"sampling\.chance: .*less than 1"):
        read_record(TokenizerConfig, {"sampling": {"kind": "dropout", "chance": 1.0}})


def test_a_target_side_of_another_kind_is_cut_as_ever() -> None:
    config = TokenizerConfig(sampling=MergeDropout(), target=TargetTokenizer(kind="word"))
    assert config.of_target().sampling is None
    config = TokenizerConfig(sampling=MergeDropout(), target=TargetTokenizer(size=500))
    assert config.of_target().sampling == MergeDropout()
