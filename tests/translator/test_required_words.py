import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding import NEVER
from dragoman.errors import ConfigError
from dragoman.tokenization import TokenizerConfig, learn_bpe
from dragoman.translator import Translator
from dragoman.translator.required_words import RequiredWords
from dragoman.translator.spelling import Spelling
from tests.fixtures import ENGLISH, GERMAN, tiny_translator

TOKENIZER = learn_bpe(GERMAN * 4 + ENGLISH * 4, TokenizerConfig(size=300))
SPELLING = Spelling(TOKENIZER)
PIECES = sorted(number for number, spelled in TOKENIZER.piece_bytes().items() if spelled)


def walk(words: RequiredWords, ids: list[int]) -> int:
    state = 0
    for piece in ids:
        state = words.after(state, piece)
    return state


def spelled(text: str) -> list[int]:
    """Spell a text with the pieces of single bytes, as no tokenizer would."""
    names = {name: number for number, name in enumerate(TOKENIZER.pieces(range(TOKENIZER.size)))}
    return [names[f"<0x{byte:02X}>"] for byte in text.encode()]


@pytest.mark.parametrize(
    ("ways", "text", "stands"),
    [
        ("cat", "the cat drinks", True),
        ("cat", "cat", True),
        ("cat", "a “cat”", True),
        ("cat", "cats", False),
        ("cat", "a tomcat", False),
        ("cat", "Cat", False),
        ("cat|Cat", "Cat", True),
        ("cat", "scat cat cats", True),
        ("the cat", "the  cat", False),
        ("the cat", "bathe cat", False),
        ("...", "so...what", True),
        ("é", "née", False),
        ("é", "é", True),
        ("猫", "小猫喝牛奶", True),
        ("heat pump|heat", "heat pumps", True),
    ],
)
def test_a_phrase_has_come_as_a_word_however_it_is_cut(ways: str, text: str, stands: bool) -> None:
    for ids in (TOKENIZER.encode(text), spelled(" " + text)):
        words = RequiredWords([tuple(ways.split("|"))], SPELLING)
        assert (words.remaining(walk(words, ids)) == 0) is stands


# Independent: the whole text is looked at with plain expressions for Latin words.
@settings(max_examples=200, deadline=None)
@given(
    ids=st.lists(st.sampled_from(PIECES), max_size=12),
    phrases=st.lists(
        st.sampled_from(["a", "th", "e", "dog", "at", "the d", "s .", "d", "é"]),
        min_size=1,
        max_size=3,
    ),
)
def test_all_has_come_exactly_if_the_text_holds_all(ids: list[int], phrases: list[str]) -> None:
    text = b"".join(TOKENIZER.piece_bytes()[number] for number in ids).decode("utf-8", "replace")
    ends = {p: re.escape(p) + (r"(?!\w)" if p[-1].isalpha() else "") for p in phrases}
    holds = all(re.search(rf"(?<!\w){ends[p]}", text) for p in phrases)
    words = RequiredWords([(phrase,) for phrase in phrases], SPELLING)
    assert (words.remaining(walk(words, ids)) == 0) is holds


@settings(max_examples=100, deadline=None)
@given(
    ids=st.lists(st.sampled_from(PIECES), max_size=8),
    phrases=st.lists(
        st.sampled_from(["a", "dog", "the d", "...", "猫", "the man", "xy", "é"]),
        min_size=1,
        max_size=3,
    ),
)
def test_some_piece_always_brings_the_end_nearer(ids: list[int], phrases: list[str]) -> None:
    words = RequiredWords([(phrase,) for phrase in phrases], SPELLING)
    state = walk(words, ids)
    while remaining := words.remaining(state):
        after = [words.after(state, piece) for piece in words.leading(state)]
        state = min(after, key=words.remaining)
        assert words.remaining(state) < remaining


def test_shortest_spelling_counts_pieces() -> None:
    # By hand: "abc" is ab + c or a + bc, but "abcd" is a + bcd and not ab + c + d.
    class Few:
        def piece_bytes(self) -> dict[int, bytes]:
            return dict(enumerate([b"", b"a", b"ab", b"bcd", b"bc", b"c", b"d"]))

    few: Any = Few()
    spelling = Spelling(few)
    assert [spelling.fewest(text) for text in (b"", b"abc", b"abcd", b"aab")] == [0, 2, 2, 2]
    assert spelling.fewest(b"ae") == NEVER
    assert spelling.beginnings(b"abcd") == [1, 2]
    assert SPELLING.fewest(b"\xff\xfe") == 2  # single bytes are pieces


def test_what_the_vocabulary_cannot_write_never_comes() -> None:
    class Poor:
        def piece_bytes(self) -> dict[int, bytes]:
            return {0: b" a", 1: b"b"}

    poor: Any = Poor()
    assert RequiredWords([("abc",)], Spelling(poor)).remaining(0) == NEVER
    assert RequiredWords([("ab",)], Spelling(poor)).remaining(0) == 2


def test_empty_phrases_are_refused() -> None:
    with pytest.raises(ValueError, match="phrases: one is empty"):
        RequiredWords([("a", "")], SPELLING)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(layers=2)


def holds(text: str, phrase: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("phrases", [["the dog"], ["heat pump", "a man"], ["猫"], ["xyz", "ü"]])
def test_every_translation_holds_what_is_required(
    translator: Translator, beam: int, phrases: list[str]
) -> None:
    before = translator.translate(GERMAN, beam=beam, max_length=30)
    found = translator.translate(GERMAN, beam=beam, n_best=beam, max_length=30, required=phrases)
    for translation in found:
        assert translation.required == tuple(phrases)
        assert translation.missing == ()
        for candidate in translation.hypotheses:
            assert all(holds(candidate.text, phrase) or phrase == "猫" for phrase in phrases)
            assert candidate.missing == ()
        scores = [candidate.score for candidate in translation.hypotheses]
        assert scores == sorted(scores, reverse=True)
    assert translator.translate(GERMAN, beam=beam, max_length=30) == before


def test_each_text_has_its_own_and_copied_ones_have_none(translator: Translator) -> None:
    texts = [GERMAN[0], "", GERMAN[1], "...", GERMAN[2]]
    own = [["heat"], ["heat"], [], ["heat"], ["the", "pump"]]
    found = translator.translate(texts, max_length=20, required=own)
    assert [translation.required for translation in found] == [
        ("heat",), (), (), (), ("the", "pump")
    ]  # fmt: skip
    assert found[2] == translator.translate([GERMAN[1]], max_length=20)[0]
    assert [found[1].text, found[3].text] == ["", "..."]


# Field report 24.
def test_what_is_required_depends_on_nothing_but_the_sentence(translator: Translator) -> None:
    texts = [*GERMAN, " ".join(["sehr"] * 20) + " lang", GERMAN[0] + " 2"]
    options: dict[str, Any] = {"max_length": 20, "required": ["the man"]}
    options["glossary"] = [("hund", "dog"), ("sehr", "very much")]
    alone = [translator.translate([text], **options)[0] for text in texts]
    for batch_tokens, n_best in ((1, 4), (60, 1), (4096, 4)):
        together = translator.translate(texts, n_best=n_best, batch_tokens=batch_tokens, **options)
        for one, other in zip(alone, together, strict=True):
            assert one.tokens == other.tokens
            assert one.required == other.required
            assert one.score == pytest.approx(other.score, abs=1e-5)


def test_terms_of_a_glossary_are_required_where_their_source_stands(
    translator: Translator,
) -> None:
    glossary = [("hund", "hound|dogs"), ("buch", "volume")]
    found = translator.translate(GERMAN, max_length=20, glossary=glossary)
    assert [each.required for each in found] == [("hound|dogs",), (), ("volume",), ()]
    assert any(holds(found[0].text, way) for way in ("hound", "dogs", "Hound", "Dogs"))
    assert holds(found[2].text, "volume") or holds(found[2].text, "Volume")
    plain = translator.translate([GERMAN[1], GERMAN[3]], max_length=20)
    assert [found[1], found[3]] == plain


def test_each_part_of_a_long_text_holds_its_own_terms(translator: Translator) -> None:
    text = "Der hund schläft. Ein mann liest ein buch."
    glossary = [("hund", "hound"), ("buch", "volume")]
    (found,) = translator.translate(
        [text], sentences=True, max_length=20, glossary=glossary, required=["zoo"]
    )
    assert found.parts == 2
    assert found.required == ("zoo", "hound", "volume")
    assert found.missing == ()
    assert re.search("hound.*volume", found.text, re.IGNORECASE)


def test_what_does_not_fit_the_limit_is_an_error_of_its_text_alone(
    translator: Translator,
) -> None:
    free, full, prefixed = translator.translate(
        GERMAN[:3],
        max_length=4,
        required=[[], ["the dog drinks milk"], ["the"]],
        prefix=[None, None, "the"],
    )
    assert (free.error, prefixed.error, prefixed.missing) == ("", "", ())
    assert full.text == ""
    assert "what is required takes" in full.error
    assert full.missing == ("the dog drinks milk",)


def test_what_is_banned_and_required_leaves_nothing(translator: Translator) -> None:
    (found,) = translator.translate(
        GERMAN[:1], max_length=12, required=["the cat"], banned_words=["cat"]
    )
    assert "no translation within the limit is left" in found.error


def test_what_is_missing_is_flagged(translator: Translator) -> None:
    (found,) = translator.translate(GERMAN[:1], max_length=20, required=["the dog"])
    assert "missing-term" not in found.flags
    # A search gives none, so one is made.
    lost = tuple(replace(each, missing=("the dog",)) for each in found.hypotheses)
    assert "missing-term" in replace(found, hypotheses=lost).flags


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"required": "dog"}, TypeError, "required is a list of strings"),
        ({"required": ["dog", ["cat"]]}, TypeError, "or of a list for each text"),
        ({"required": [["dog"]]}, ValueError, "1 lists of what is required for 2 texts"),
        ({"required": [" "]}, ConfigError, "required: one phrase is blank; leave it out"),
        ({"glossary": [("a", "")]}, ConfigError, "glossary: entry 1 has a blank term"),
    ],
)
def test_misuse_is_refused(
    translator: Translator, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        translator.translate(GERMAN[:2], **options)


def test_machines_are_kept_from_call_to_call(translator: Translator) -> None:
    words = translator._words  # what is kept cannot be seen from outside
    assert words.ban(["a", "b"]) is words.ban(["a", "b"])
    assert words.ban(["a"]) is not words.ban(["b"])
    assert words.ban([]) is None


def test_machines_may_be_shared_by_threads() -> None:
    options: dict[str, Any] = {"max_length": 14, "required": ["the dog"], "banned_words": ["a"]}
    expected = [tiny_translator().translate([text], **options) for text in GERMAN * 2]
    shared = tiny_translator()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: shared.translate([text], **options), GERMAN * 2))
    assert found == expected
