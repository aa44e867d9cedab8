"""Ids in flat arrays: the same as the library gives text by text, whatever the text."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.tokenization import (
    NormalForm,
    Packed,
    Packer,
    Tokenizer,
    TokenizerConfig,
    learn_tokenizer,
    packing,
    read_existing,
    with_languages,
)
from dragoman.tokenization.config import Kind
from tests.tokenization.sentencepiece_models import NAMES, model_file
from tests.tokenization.test_round_trip import BLOCKS, CONTROLS, LINES, MARKS, TYPED

KINDS: tuple[Kind, ...] = ("bpe", "wordpiece", "unigram", "character", "word")
FORMS: tuple[NormalForm, ...] = ("NFC", "NFD", "NFKC", "NFKD", "none")

characters = st.one_of(
    *(st.characters(min_codepoint=first, max_codepoint=last) for first, last in {*BLOCKS}),
    *(st.characters(min_codepoint=first, max_codepoint=last) for first, last in MARKS),
    *(st.characters(min_codepoint=first, max_codepoint=last) for first, last in CONTROLS),
)
# What NFKC turns into a space and a mark, or into spaces; and marks where a word would begin.
spaced = st.sampled_from(["¨", "\u037a", "\u00a0", "\u3000", " \u0301", "  \u0308a", "e \u0301e"])
fragments = st.one_of(
    st.sampled_from([" ", "  ", "   "]), characters, spaced, st.sampled_from(TYPED), st.text()
)
texts = st.lists(
    st.one_of(st.lists(fragments, max_size=8).map("".join), st.text(max_size=80)), max_size=6
)


def rows(packed: Packed) -> list[list[int]]:
    """Cut flat arrays into lists."""
    ends = packed.lengths.cumsum()
    assert packed.ids.dtype == packed.lengths.dtype == np.int32
    assert packed.ids.size == (ends[-1] if ends.size else 0)
    return [row.tolist() for row in np.split(packed.ids, ends[:-1])] if ends.size else []


@cache
def learnt(kind: Kind, form: NormalForm = "NFC", *, byte_fallback: bool = True) -> Tokenizer:
    size = 400 if byte_fallback else 130
    config = TokenizerConfig(kind=kind, size=size, normal_form=form, byte_fallback=byte_fallback)
    return learn_tokenizer(LINES, config)


@cache
def packer(tokenizer: Tokenizer) -> Packer:
    """Keep what it remembers from example to example."""
    return Packer(tokenizer)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("byte_fallback", [True, False])
@given(texts)
@settings(max_examples=60)
def test_packing_gives_the_ids_of_every_kind(
    kind: Kind, byte_fallback: bool, lines: list[str]
) -> None:
    tokenizer = learnt(kind, byte_fallback=byte_fallback)
    assert rows(packer(tokenizer).pack(lines)) == tokenizer.encode_many(lines)


@pytest.mark.parametrize("form", FORMS)
@given(texts)
@settings(max_examples=60)
def test_packing_gives_the_ids_in_every_normal_form(form: NormalForm, lines: list[str]) -> None:
    tokenizer = learnt("bpe", form)
    assert rows(packer(tokenizer).pack(lines)) == tokenizer.encode_many(lines)


@cache
def others() -> tuple[Tokenizer, ...]:
    config = TokenizerConfig(size=400, pieces=("<b>", "{x}", "New York"))
    return (
        learn_tokenizer(LINES, config),
        with_languages(learnt("bpe"), ["de", "zh-Hans"]),
        *(read_existing(model_file(name), TokenizerConfig()) for name in NAMES),
    )


@pytest.mark.parametrize("which", range(4))
@given(texts)
@settings(max_examples=60)
def test_packing_gives_the_ids_with_user_pieces_tags_and_vocabularies_of_others(
    which: int, lines: list[str]
) -> None:
    tokenizer = others()[which]
    assert rows(packer(tokenizer).pack(lines)) == tokenizer.encode_many(lines)


@given(st.lists(texts, max_size=4), st.integers(0, 3))
@settings(max_examples=60)
def test_a_memory_that_overflows_changes_nothing(parts: list[list[str]], most: int) -> None:
    tokenizer = learnt("bpe")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packing, "REMEMBERED", most)
        small = Packer(tokenizer)
        for lines in parts:
            assert rows(small.pack(lines)) == tokenizer.encode_many(lines)


def test_words_met_before_are_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = Tokenizer.encode_many

    def listening(self: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
        asked.extend(texts)
        return ask(self, texts)

    long = "x" * 33  # one longer than what is worth remembering
    fast = Packer(learnt("bpe"))
    monkeypatch.setattr(Tokenizer, "encode_many", listening)
    fast.pack(["ein Hund", f"Hund {long} {long}"])
    assert sorted(asked) == sorted(["ein", "Hund", long])
    asked.clear()
    fast.pack([f"{long} Hund ein"])
    assert asked == [long]


def test_texts_without_letters_or_without_anything_keep_their_place() -> None:
    tokenizer = learnt("bpe")
    space = tokenizer.encode(" ")[0]
    packed = Packer(tokenizer).pack(["", " ", "", "   "])
    # By hand: one space goes before each text but the empty one, and each space is a piece.
    assert rows(packed) == [[], [space] * 2, [], [space] * 4]
    assert rows(Packer(tokenizer).pack([])) == []


@pytest.mark.parametrize("tokenizer", [learnt("bpe"), learnt("character"), learnt("bpe", "none")])
@pytest.mark.parametrize("text", ["a\ud800", "\udc00 b", "ab \udfff"])
def test_half_a_surrogate_pair_is_told_as_encoding_tells_it(
    tokenizer: Tokenizer, text: str
) -> None:
    with pytest.raises(ValueError, match="text 2: character") as expected:
        tokenizer.encode_many(["a", "b c", text])
    found = Packer(tokenizer)
    with pytest.raises(ValueError, match="text 2: character") as caught:
        found.pack(["a", "b c", text])
    assert str(caught.value) == str(expected.value)
    assert rows(found.pack(["a b"])) == tokenizer.encode_many(["a b"])  # it goes on
