"""Normal forms as SentencePiece applies the tables that we write."""

import io
import random
import unicodedata
from functools import cache
from typing import Any, Literal, get_args

import pytest

from dragoman.tokenization import Tokenizer, TokenizerConfig, learn_bpe
from dragoman.tokenization.character_map import character_map, replacements
from dragoman.tokenization.sentencepiece_writing import to_sentencepiece

library = pytest.importorskip("sentencepiece", reason="needs sentencepiece, which tests have")

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS = get_args(Form)
SENTENCES = (
    "Žluťoučký kůň úpěl ďábelské ódy",
    "Tiếng Việt có dấu: ặ ậ ỗ ữ",
    "한국어 문장입니다",
    "がぎぐげご ｶﾞｷﾞ ﾊﾟﾋﾟ",
    "שָׁלוֹם עֲלֵיכֶם",
    "مُحَمَّد",
    "हिन्दी क़लम ড়াঢ়",
    "ﬁne ① ＡＢＣ ½ K Å",
)


@cache
def written(form: Form) -> tuple[Tokenizer, Any]:
    tokenizer = learn_bpe(["der hund"] * 3, TokenizerConfig(size=280, normal_form=form))
    model = to_sentencepiece(tokenizer)
    return tokenizer, library.SentencePieceProcessor(model_proto=model)


def theirs(form: Form, text: str) -> str:
    return str(written(form)[1].normalize(text))[1:].replace("▁", " ")


@pytest.mark.parametrize("form", FORMS)
def test_every_character_comes_into_its_form(form: Form) -> None:
    # In lumps, since a call costs more than a character: none of them touches its neighbours.
    codes = [*range(1, 0x3400), *range(0xA000, 0xB400), *range(0xF900, 0x20000)]
    codes += range(0x2F800, 0x2FA20)  # left out are thousands that are alike, and private ones
    characters = [chr(code) for code in codes if code != 0x2581]  # which is a space there
    for start in range(0, len(characters), 500):
        text = ".".join(characters[start : start + 500])
        assert theirs(form, text) == written(form)[0].normalize(text)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("given", ["NFC", "NFD", "NFKD"])
def test_text_of_many_scripts_comes_into_its_form(form: Form, given: Form) -> None:
    for sentence in SENTENCES:
        text = unicodedata.normalize(given, sentence)
        assert theirs(form, text) == unicodedata.normalize(form, text)


def test_korean_letters_join_in_any_state() -> None:
    rng = random.Random(1)
    syllables = "".join(chr(rng.randrange(0xAC00, 0xD7A4)) for _ in range(2000))
    letters = unicodedata.normalize("NFD", syllables)
    assert theirs("NFC", letters) == syllables
    # A syllable without its last letter, and then that letter.
    assert theirs("NFC", "가\u11a8 하\u11ab") == "각 한"


def test_a_table_replaces_nothing_that_is_in_its_form() -> None:
    rules = replacements("NFC")
    assert all(unicodedata.normalize("NFC", text) == text for text in rules.values())
    assert all(unicodedata.normalize("NFC", key) == text for key, text in rules.items())


def test_without_a_form_there_is_no_table() -> None:
    assert character_map("none") == b""


def test_the_library_reads_the_rules_of_its_own_form_as_ours(tmp_path: Any) -> None:
    """Their NFKC, from their own table, says of every character what ours does."""
    out = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(["der hund schläft"] * 9),
        model_writer=out,
        vocab_size=40,
        normalization_rule_name="nfkc",
        remove_extra_whitespaces=False,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
    )
    own = library.SentencePieceProcessor(model_proto=out.getvalue())
    text = " ".join(SENTENCES)
    assert own.normalize(text) == written("NFKC")[1].normalize(text)
