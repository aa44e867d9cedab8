import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import ConfigError
from dragoman.tokenization import TokenizerConfig, learn_bpe
from dragoman.translator import Translator
from dragoman.translator.banned_words import BannedWords
from tests.fixtures import ENGLISH, GERMAN, tiny_translator

TOKENIZER = learn_bpe(GERMAN * 4 + ENGLISH * 4, TokenizerConfig(size=300))
END = TOKENIZER.special.end
PIECES = sorted(number for number, spelled in TOKENIZER.piece_bytes().items() if spelled)


def allowed(ban: BannedWords, ids: list[int]) -> bool:
    """Walk through ids and the end as a search does."""
    state = 0
    for piece in [*ids, END]:
        if piece in ban.forbidden(state).tolist():
            return False
        state = ban.after(state, piece)
    return True


def spelled(text: str) -> list[int]:
    """Spell a text with the pieces of single bytes, as no tokenizer would."""
    names = {name: number for number, name in enumerate(TOKENIZER.pieces(range(TOKENIZER.size)))}
    return [names[f"<0x{byte:02X}>"] for byte in text.encode()]


@pytest.mark.parametrize(
    ("phrase", "text", "stands"),
    [
        ("cat", "the cat drinks", True),
        ("cat", "cat", True),
        ("cat", "a cat.", True),
        ("cat", "a “cat”", True),
        ("cat", "cats", False),
        ("cat", "a tomcat", False),
        ("cat", "cat_1 and cat2", False),
        ("cat", "Cat", False),
        ("cat", "scat cat cats", True),
        ("the cat", "the cat", True),
        ("the cat", "the  cat", False),
        ("the cat", "bathe cat", False),
        ("...", "so...what", True),
        ("é", "é", True),
        ("é", "née", False),
        ("猫", "小猫喝牛奶", True),
        ("猫", "a猫b", True),
        ("猫喝", "小猫 喝", False),
    ],
)
def test_a_phrase_is_banned_as_a_word_however_it_is_cut(
    phrase: str, text: str, stands: bool
) -> None:
    ban = BannedWords([phrase], TOKENIZER)
    assert allowed(ban, TOKENIZER.encode(text)) is not stands
    assert allowed(ban, spelled(" " + text)) is not stands


# Independent: the whole text is looked at with the plain expression for a Latin word.
@settings(max_examples=150, deadline=None)
@given(
    ids=st.lists(st.sampled_from(PIECES), max_size=12),
    words=st.lists(st.sampled_from(["a", "th", "e", "dog", "at", "the d", "s ."]), min_size=1),
)
def test_ids_are_allowed_exactly_if_their_text_holds_no_banned_word(
    ids: list[int], words: list[str]
) -> None:
    text = b"".join(TOKENIZER.piece_bytes()[number] for number in ids).decode("utf-8", "replace")
    bounds = {word: re.escape(word) + (r"(?!\w)" if word[-1].isalpha() else "") for word in words}
    stands = any(re.search(rf"(?<!\w){bounds[word]}", text) for word in words)
    assert allowed(BannedWords(words, TOKENIZER), ids) is not stands


def test_a_forced_prefix_is_no_part_of_a_phrase() -> None:
    ban = BannedWords(["the dog"], TOKENIZER)
    state = 0
    for piece in TOKENIZER.encode("the"):
        state = ban.after(state, piece, forced=True)
    for piece in TOKENIZER.encode("dog"):
        assert piece not in ban.forbidden(state).tolist()
        state = ban.after(state, piece)


def test_blank_words_are_refused() -> None:
    with pytest.raises(ConfigError, match="banned_words: one of them is blank; leave it out"):
        BannedWords(["a", " "], TOKENIZER)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(layers=2)


@pytest.mark.parametrize("beam", [1, 4])
def test_a_translation_holds_no_banned_word(translator: Translator, beam: int) -> None:
    before = translator.translate(GERMAN, beam=beam, max_length=8)
    # Ban what the model writes first, again and again.
    words: list[str] = []
    for _ in range(3):
        found = translator.translate(GERMAN, beam=beam, max_length=8, banned_words=words)
        bans = [re.compile(rf"(?<!\w){re.escape(word)}(?!\w)") for word in words]
        assert not any(ban.search(t.text) for t in found for ban in bans)
        words += [w for t in found for w in re.findall(r"\w+", t.text)[:1] if w not in words]
    assert words
    assert translator.translate(GERMAN, beam=beam, max_length=8) == before


def test_words_are_a_list(translator: Translator) -> None:
    with pytest.raises(TypeError, match="banned_words is a list of strings"):
        translator.translate(["der hund"], banned_words="dog")
