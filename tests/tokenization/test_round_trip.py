"""The law of tokenizers on 100,000 strings of many scripts, for every kind of vocabulary.

``decode(encode(text)) == normalize(text)``, and no control id, whatever is typed.
"""

import random
import unicodedata
from dataclasses import astuple
from functools import cache

import pytest
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, pre_tokenizers, trainers

from dragoman.tokenization import (
    Tokenizer,
    TokenizerConfig,
    learn_tokenizer,
    read_existing,
    with_languages,
)
from dragoman.tokenization.config import Kind
from tests.tokenization.sentencepiece_models import NAMES, model_file

STRINGS = 100_000
# First and last character of blocks: scripts, punctuation, symbols, and what is invisible.
BLOCKS = (
    *((0x20, 0x7E), (0x20, 0x7E), (0xA0, 0x17F), (0x370, 0x3FF), (0x400, 0x4FF), (0x530, 0x58F)),
    *((0x590, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0x980, 0x9FF), (0xB80, 0xBFF)),
    *((0xE00, 0xE7F), (0xF00, 0xFFF), (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF)),
    *((0x1200, 0x137F), (0x13A0, 0x13FF), (0x1780, 0x17FF), (0x1E00, 0x1EFF), (0x2000, 0x206F)),
    *((0x20A0, 0x20CF), (0x2100, 0x214F), (0x2190, 0x22FF), (0x2580, 0x259F), (0x3000, 0x30FF)),
    *((0x4E00, 0x9FFF), (0xA000, 0xA48F), (0xAC00, 0xD7A3), (0xE000, 0xE0FF), (0xFB00, 0xFFFD)),
    *((0x10330, 0x1034F), (0x12000, 0x123FF), (0x1D400, 0x1D7FF), (0x1F300, 0x1FAFF)),
    *((0x20000, 0x2A6DF), (0xE0020, 0xE007F), (0x10FF00, 0x10FFFF)),
)
MARKS = ((0x300, 0x36F), (0x483, 0x489), (0x93C, 0x94D), (0x20D0, 0x20F0), (0xFE00, 0xFE0F))
CONTROLS = ((0x00, 0x1F), (0x7F, 0x9F), (0x2028, 0x202E), (0x200B, 0x200F), (0xFFF9, 0xFFFC))
TYPED = (
    *("</s>", "<s>", "<pad>", "<unk>", "<2de>", "<2zh-Hans>", "<0x41>", "<0xE2>", "<", ">", "<<"),
    *("▁", "▁▁", "Ġ", "##", "@@ ", "<b>", "</b>", "{x}", "&amp;", " ", "  ", "\t", "\r\n", "\n"),
    *("👩‍👩‍👧", "🇩🇪", "❤️", "1️⃣", "👍🏽", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "क्‍ष", "می‌خواهم", "ﬁ①Ａ", "＜2de＞", "≮", "<\u0338"),
    *("The old man", " walks", "reads the book", "Ein Hund", " läuft", "ab" * 40),
)
LINES = ("Ein Hund läuft. <b>Zwei {x}</b>", "The old man walks <2de> and reads.", "两只狗。") * 30
KINDS: tuple[Kind, ...] = ("bpe", "wordpiece", "unigram", "character", "word")


@cache
def strings() -> tuple[str, ...]:
    """Make the strings, from a seed; no lone surrogates, which are no text."""
    rng = random.Random(1)
    groups = (BLOCKS, BLOCKS, BLOCKS, MARKS, CONTROLS)

    def part() -> str:
        if rng.random() < 0.3:
            return rng.choice(TYPED)
        first, last = rng.choice(rng.choice(groups))
        return "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 4)))

    return tuple("".join(part() for _ in range(rng.randint(0, 6))) for _ in range(STRINGS))


def learnt(kind: Kind, *, byte_fallback: bool) -> Tokenizer:
    config = TokenizerConfig(
        kind=kind,
        size=400 if byte_fallback else 130,
        byte_fallback=byte_fallback,
        pieces=("<b>", "{x}"),
    )
    return with_languages(learn_tokenizer(LINES, config), ["de", "zh-Hans"])


def written_by_the_library(kind: str) -> str:
    """Learn a vocabulary with the library, as others do, and give its file."""
    made = Library(models.Unigram() if kind == "unigram" else models.BPE(unk_token="<unk>"))
    special = ["<unk>", "</s>"]
    if kind == "bytes":
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    else:
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        if kind == "unigram":
            trainer = trainers.UnigramTrainer(
                vocab_size=60, special_tokens=special, unk_token="<unk>", show_progress=False
            )
        else:
            trainer = trainers.BpeTrainer(
                vocab_size=90, special_tokens=special, show_progress=False
            )
    made.train_from_iterator(LINES, trainer)
    made.add_tokens(["{x}", "<2de>"])
    return made.to_str()


def check(tokenizer: Tokenizer) -> None:
    """Encode and decode all strings, some thousands at a time."""
    controls = {*astuple(tokenizer.special), *tokenizer.languages.values()}
    for start in range(0, STRINGS, 10_000):
        texts = strings()[start : start + 10_000]
        many = tokenizer.encode_many(texts)
        assert not controls & {number for ids in many for number in ids}
        assert tokenizer.decode_many(many) == [*map(tokenizer.normalize, texts)]


def test_the_strings_hold_what_they_should() -> None:
    joined = "".join(strings())
    found = {unicodedata.category(character) for character in {*joined}}
    assert found >= {"Lu", "Ll", "Lo", "Lm", "Mn", "Mc", "Me", "Nd", "So", "Sk", "Zs", "Cc", "Cf"}
    assert {"Zl", "Zp", "Co", "Cn", "Pd", "Sc", "Sm"} <= found
    assert "Cs" not in found
    assert all(typed in joined for typed in TYPED)


@pytest.mark.parametrize("kind", KINDS)
def test_every_string_comes_back(kind: Kind) -> None:
    check(learnt(kind, byte_fallback=True))


@pytest.mark.parametrize("kind", KINDS)
def test_without_byte_fallback_what_is_known_comes_back_in_order(kind: Kind) -> None:
    # What has no piece is unknown and leaves no trace; the rest is a part of the text, in order.
    tokenizer = learnt(kind, byte_fallback=False)
    controls = {*astuple(tokenizer.special), *tokenizer.languages.values()}
    controls.remove(tokenizer.special.unknown)
    whole = 0
    for start in range(0, STRINGS, 10_000):
        texts = strings()[start : start + 10_000]
        for text, ids in zip(texts, tokenizer.encode_many(texts), strict=True):
            assert not controls.intersection(ids)
            decoded, normalised = tokenizer.decode(ids), tokenizer.normalize(text)
            if tokenizer.special.unknown not in ids:
                assert decoded == normalised
                whole += 1
            else:
                rest = iter(" " + normalised)  # a lead is unknown too where no piece is a space
                assert all(character in rest for character in decoded)
    assert whole > STRINGS // 100


@pytest.mark.parametrize("byte_fallback", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_every_string_comes_back_through_a_sentencepiece_model(
    name: str, byte_fallback: bool
) -> None:
    tokenizer = read_existing(model_file(name), TokenizerConfig(byte_fallback=byte_fallback))
    tokenizer = with_languages(tokenizer, ["de", "zh-Hans"])
    if byte_fallback:
        check(tokenizer)
        return
    for start in range(0, STRINGS, 10_000):
        for ids in tokenizer.encode_many(strings()[start : start + 10_000]):
            assert not {0, 1, 2, *tokenizer.languages.values()}.intersection(ids)


@pytest.mark.parametrize("kind", ["unigram", "bpe", "bytes"])
def test_every_string_comes_back_through_a_tokenizer_json(
    kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("existing") / "tokenizer.json"
    path.write_text(written_by_the_library(kind), encoding="utf-8")
    check(with_languages(read_existing(path, TokenizerConfig()), ["de", "zh-Hans"]))
