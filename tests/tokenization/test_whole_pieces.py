"""Pieces of the user's own, which are one piece wherever they stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.configfile import read_record, write_record
from dragoman.errors import ConfigError
from dragoman.tokenization import (
    TargetTokenizer,
    Tokenizer,
    TokenizerConfig,
    extend_tokenizer,
    learn_tokenizer,
)
from dragoman.tokenization.config import Kind

KINDS: tuple[Kind, ...] = ("bpe", "wordpiece", "unigram", "character", "word")
PIECES = ("<b>", "</b>", "{0}", "und", "q")
LINES = ("Hund und <b>Hunde</b> {0} {1}", "Hunde, q und qu", "der <b>Hund</b> und", "<b") * 5
OWN = range(260, 265)


def learn(kind: Kind, *, pieces: tuple[str, ...] = PIECES, size: int = 400) -> Tokenizer:
    return learn_tokenizer(LINES, TokenizerConfig(kind=kind, size=size, pieces=pieces))


every_kind = {kind: learn(kind) for kind in KINDS}
texts = st.lists(st.text(max_size=3) | st.sampled_from([*PIECES, "<", "b>", "\u0338", "</s>", " "]))


@pytest.mark.parametrize("kind", KINDS)
def test_they_come_first_and_are_kept_whole_even_inside_words(kind: Kind) -> None:
    tokenizer = every_kind[kind]
    assert tokenizer.pieces(OWN) == [*PIECES]
    ids = tokenizer.encode("<b>Hunde</b>{0}q<b")
    # By hand: "Hunde" holds "und".
    assert [number - 260 for number in ids if number in OWN] == [0, 3, 1, 2, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_learnt_from_what_they_hold(kind: Kind) -> None:
    learnt = every_kind[kind].pieces(range(265, every_kind[kind].size))
    assert not [piece for piece in learnt if any(own in piece for own in PIECES)]
    assert len({*learnt}) == len(learnt)


@given(kind=st.sampled_from(KINDS), parts=texts)
def test_text_comes_back_and_control_ids_never_do(kind: Kind, parts: list[str]) -> None:
    tokenizer, text = every_kind[kind], "".join(parts)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == tokenizer.normalize(text)
    assert not {0, 1, 2, 3} & {*ids}


@given(kind=st.sampled_from(KINDS), parts=texts)
def test_each_place_where_one_stands_is_found(kind: Kind, parts: list[str]) -> None:
    tokenizer = every_kind[kind]
    text = tokenizer.normalize("".join(parts))
    found = sum(number in OWN for number in tokenizer.encode(text))
    assert found == sum(text.count(piece) for piece in PIECES)  # none can overlap another


def test_of_two_that_begin_alike_the_longer_is_taken() -> None:
    tokenizer = learn("bpe", pieces=("<b", "<b>"))
    assert tokenizer.pieces(tokenizer.encode("<b><b")) == [" ", "<b>", "<b"]


def test_a_vocabulary_with_them_can_grow() -> None:
    old = every_kind["bpe"]
    new = extend_tokenizer(old, ["Katze <b>Katze</b>"] * 9, 5)
    assert old.size < new.size <= old.size + 5
    assert new.encode("Hunde <b>") == old.encode("Hunde <b>")
    assert new.pieces(new.encode("<b>Katze"))[1] == "<b>"


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        (["a", ""], "pieces: one is empty; leave it out"),
        (["a", "b", "a"], "pieces: 'a' is there twice; leave it out"),
        (["</s>"], "pieces: '</s>' holds a symbol that no text may become; choose another name"),
        (["x<0x41>"], "pieces: 'x<0x41>' holds a symbol that no text may become"),
        (
            ["e\u0301"],
            "pieces: 'e\u0301' is not in the form NFC, so no text holds it; write '\u00e9'",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(pieces: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_record(TokenizerConfig, {"pieces": pieces})
    assert str(caught.value).startswith(message)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(ConfigError, match="is not Unicode text"):
        TokenizerConfig(pieces=("\ud83d",))


def test_they_count_towards_the_size() -> None:
    with pytest.raises(
        ConfigError, match=r"262 leaves no room .* and 1 of your own; give at least 263"
    ):
        TokenizerConfig(size=262, pieces=("<b>",))


def test_the_target_side_may_have_others() -> None:
    config = TokenizerConfig(pieces=("<b>",), target=TargetTokenizer(kind="word"))
    assert config.of_target().pieces == ("<b>",)
    config = TokenizerConfig(pieces=("<b>",), target=TargetTokenizer(pieces=()))
    assert config.of_target().pieces == ()
    assert read_record(TokenizerConfig, write_record(config)) == config
