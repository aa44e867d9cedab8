"""Pairs made anew: what they may become, how often, and how long."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data import CaseAugmentation, Redraw
from dragoman.errors import ConfigError
from dragoman.tokenization import (
    LatticeSampling,
    MergeDropout,
    SubwordSampler,
    TokenizerConfig,
    extend_tokenizer,
    learn_tokenizer,
    read_existing,
    with_languages,
)
from tests.tokenization.sentencepiece_models import NAMES, model_file

GERMAN = ("ein Hund läuft durch den Schnee", "zwei Hunde {x} laufen", "die Straße ist leer") * 9
ENGLISH = ("a dog runs through the snow", "two dogs {x} run", "the street is empty") * 9
config = TokenizerConfig(size=340, pieces=("{x}",))
joint = with_languages(learn_tokenizer([*GERMAN, *ENGLISH], config), ["en", "de"])
unigram = learn_tokenizer([*GERMAN, *ENGLISH], TokenizerConfig(kind="unigram", size=340))
words = learn_tokenizer(ENGLISH, TokenizerConfig(kind="word", size=300))
bare = learn_tokenizer(GERMAN, TokenizerConfig(size=60, byte_fallback=False))
dropout = Redraw((joint,), sampling=MergeDropout(chance=0.3), case=None)


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(
    source=st.sampled_from(GERMAN) | st.text(),
    target=st.sampled_from(ENGLISH) | st.text(),
    seed=st.integers(0, 99),
)
def test_sampled_sides_are_the_same_text_no_longer_than_planned(
    source: str, target: str, seed: int
) -> None:
    stored = [joint.languages["de"], *joint.encode(source)], joint.encode(target)
    drawn = dropout(*stored, rng(seed), pair=0)
    assert drawn[0][0] == joint.languages["de"]
    for before, after in zip(stored, drawn, strict=True):
        assert joint.decode(after) == joint.decode(before)
        assert len(after) <= dropout.planned(np.array([len(before)]))[0]
    assert drawn == dropout(*stored, rng(seed), pair=0)


def test_different_chance_cuts_differently_on_both_sides() -> None:
    stored = joint.encode(GERMAN[0]), joint.encode(ENGLISH[0])
    drawn = [dropout(*stored, rng(seed), pair=0) for seed in range(20)]
    for side in (0, 1):
        assert len({tuple(pair[side]) for pair in drawn}) > 10


def test_pieces_come_as_often_as_the_sampler_alone_gives_them() -> None:
    ids = joint.encode("Hunde Hunde")
    alone = SubwordSampler(joint, MergeDropout(chance=0.3))
    draws = rng(7)
    times = 4_000
    expected = Counter(len(alone.encode("Hunde Hunde", draws.random)) for _ in range(times))
    room = dropout.planned(np.array([len(ids)]))[0]
    found = Counter(len(dropout(ids, ids, rng(8, n), pair=0)[0]) for n in range(times))
    for length in range(len(ids) + 1, int(room) + 1):  # longer ones are as stored
        assert found[length] / times == pytest.approx(expected[length] / times, abs=0.04)


def test_capitals_come_as_often_as_asked_on_both_sides_at_once() -> None:
    case = CaseAugmentation(upper=0.2, title=0.1)
    redraw = Redraw((joint,), sampling=None, case=case, whole=("{x}",))
    source, target = "ein Hund {x} ist groß", "a dog {x} is big"
    pairs = 6_000
    ids = joint.encode(source), joint.encode(target)
    found = Counter(
        tuple(map(joint.decode, redraw(*ids, rng(1, pair), pair=pair))) for pair in range(pairs)
    )
    # By hand; the placeholder stays.
    upper = ("EIN HUND {x} IST GROSS", "A DOG {x} IS BIG")
    title = ("Ein Hund {x} Ist Groß", "A Dog {x} Is Big")
    assert {*found} == {(source, target), upper, title}
    assert found[upper] / pairs == pytest.approx(0.2, abs=0.02)
    assert found[title] / pairs == pytest.approx(0.1, abs=0.02)


def test_a_pair_with_room_is_in_capitals_in_some_epochs_only_and_others_never() -> None:
    redraw = Redraw((joint,), sampling=None, case=CaseAugmentation(upper=0.1))
    ids = joint.encode("ein Hund"), joint.encode("a dog")
    lengths = np.full(1_000, len(ids[0]))
    roomy = redraw.planned(lengths) > lengths
    assert roomy.mean() == pytest.approx(0.2, abs=0.01)
    for pair in (int(roomy.argmax()), int((~roomy).argmax())):
        changed = [redraw(*ids, rng(epoch), pair=pair)[0] != ids[0] for epoch in range(400)]
        assert np.mean(changed) == pytest.approx(0.5 if roomy[pair] else 0.0, abs=0.1)


@pytest.mark.parametrize("target", ["一只狗", "12", ""])
def test_a_pair_without_cases_on_a_side_stays(target: str) -> None:
    redraw = Redraw((joint,), sampling=None, case=CaseAugmentation(upper=0.9))
    ids = joint.encode("ein Hund"), joint.encode(target)
    assert all(redraw(*ids, rng(pair), pair=pair) == ids for pair in range(50))


def test_a_language_tag_stays_in_front_of_capitals() -> None:
    redraw = Redraw((joint,), sampling=MergeDropout(), case=CaseAugmentation(upper=0.9))
    tag = joint.languages["de"]
    drawn = [
        redraw([tag, *joint.encode("a dog")], joint.encode("ein Hund"), rng(pair), pair=pair)
        for pair in range(40)
    ]
    assert all(source[0] == tag and tag not in source[1:] + target for source, target in drawn)
    assert "A DOG" in {joint.decode(source) for source, _ in drawn}


def test_what_has_no_room_stays_as_stored() -> None:
    ids = joint.encode(GERMAN[0]), joint.encode(ENGLISH[0])
    longest = len(ids[0])
    redraw = Redraw((joint,), sampling=None, case=CaseAugmentation(upper=0.9), longest=longest)
    assert redraw.planned(np.array([longest, longest + 9, 0])).tolist() == [
        longest,
        longest + 9,  # planned in a batch of its own
        2,
    ]
    assert all(redraw(*ids, rng(pair), pair=pair) == ids for pair in range(30))


def test_without_chance_nothing_needs_room() -> None:
    redraw = Redraw((joint,), sampling=None, case=None)
    assert redraw.planned(np.array([3, 0, 7])).tolist() == [3, 0, 7]
    assert redraw([5], [6, 7], rng(1), pair=3) == ([5], [6, 7])


def test_a_side_whose_text_does_not_come_back_stays() -> None:
    redraw = Redraw((bare, joint), sampling=MergeDropout(chance=0.9), case=None)
    unknown = bare.encode("ein 狗 Hund")
    assert bare.special.unknown in unknown
    euro = joint.encode("two € dogs")
    cut = euro[: euro.index(4 + 0xE2) + 1]  # by the rule for long pairs, within a character
    for seed in range(20):
        assert redraw(unknown, cut, rng(seed), pair=0) == (unknown, cut)


def test_extended_vocabularies_are_sampled_too() -> None:
    tokenizer = extend_tokenizer(joint, ["neue Wörter"] * 9, 9)
    redraw = Redraw((tokenizer,), sampling=MergeDropout(chance=0.3), case=None)
    ids = tokenizer.encode("neue Wörter {x}")
    assert max(ids) >= joint.size
    drawn = {tuple(redraw(ids, ids, rng(seed), pair=0)[0]) for seed in range(20)}
    assert len(drawn) > 3
    assert {tokenizer.decode(each) for each in drawn} == {"neue Wörter {x}"}
    assert all(tokenizer.pieces(each).count("{x}") == 1 for each in drawn)


@pytest.mark.parametrize("name", NAMES)
def test_vocabularies_of_another_program_are_sampled_too(name: str) -> None:
    tokenizer = read_existing(model_file(name), TokenizerConfig())
    choice = MergeDropout(chance=0.3) if name == "bpe" else LatticeSampling(sharpness=0.1)
    redraw = Redraw((tokenizer,), sampling=choice, case=None)
    text = "the young woman <b>walks"
    ids = tokenizer.encode(text)
    drawn = {tuple(redraw(ids, ids, rng(seed), pair=0)[0]) for seed in range(20)}
    assert len(drawn) > 3
    assert {tokenizer.decode(each) for each in drawn} == {text}
    assert all(tokenizer.pieces(each).count("<b>") == 1 for each in drawn)


def test_a_unigram_vocabulary_is_sampled_by_its_lattice() -> None:
    redraw = Redraw((unigram,), sampling=LatticeSampling(sharpness=0.1), case=None)
    ids = unigram.encode(GERMAN[0])
    drawn = {tuple(redraw(ids, ids, rng(seed), pair=0)[0]) for seed in range(20)}
    assert len(drawn) > 3
    assert {unigram.decode(each) for each in drawn} == {GERMAN[0]}


def test_sampling_for_another_kind_is_refused_at_its_place() -> None:
    with pytest.raises(ConfigError, match=r"^tokenizer\.sampling: lattice needs a unigram"):
        Redraw((joint,), sampling=LatticeSampling(), case=None)
    # A target side of another kind is cut as ever.
    redraw = Redraw((joint, words), sampling=MergeDropout(chance=0.3), case=None)
    ids = joint.encode(GERMAN[0]), words.encode(ENGLISH[0])
    assert all(redraw(*ids, rng(seed), pair=0)[1] == ids[1] for seed in range(9))
