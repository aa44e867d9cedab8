"""A vocabulary grows: old ids and old text stay as they were, new text gets shorter, losslessly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigError
from dragoman.tokenization import (
    Tokenizer,
    TokenizerConfig,
    extend_tokenizer,
    extend_tokenizers,
    learn_bpe,
    learn_tokenizer,
    spelled_before,
)
from dragoman.tokenization.byte_pair import best_pair, count_pairs, join_pair
from dragoman.tokenization.config import Kind
from dragoman.tokenization.extending import continue_merges

OLD = ("Ein Hund läuft.", "Zwei Hunde laufen durch den Schnee.", "A dog runs.") * 3
NEW = (
    *("Die Ärztin untersucht das Knie.", "Das Kniegelenk ist entzündet.", "Кошка спит.") * 4,
    *("Кошка ест.", "</s> <0x41> < x", "die Entzündung im Gelenk", "Hunde laufen") * 3,
)
texts = st.lists(
    st.text() | st.sampled_from([*OLD, *NEW, "<", "</s>", "<0x41>", "▁", "  ", "\r\n", "🇩🇪"])
).map(" ".join)


def learn(kind: Kind = "bpe", *, byte_fallback: bool = True) -> Tokenizer:
    return learn_tokenizer(OLD, TokenizerConfig(kind=kind, size=340, byte_fallback=byte_fallback))


EXTENDABLE = [
    *((kind, learn(kind)) for kind in ("bpe", "character", "word")),
    ("bare bpe", learn(byte_fallback=False)),
    ("bare word", learn("word", byte_fallback=False)),
]
PAIRS = [(old, extend_tokenizer(old, NEW, 40)) for _, old in EXTENDABLE]
either = st.sampled_from(PAIRS)
with_bytes = st.sampled_from(PAIRS[:3])


@given(pair=with_bytes, text=texts)
def test_decoding_still_gives_back_the_normalised_text(
    pair: tuple[Tokenizer, Tokenizer], text: str
) -> None:
    _, new = pair
    assert new.decode(new.encode(text)) == new.normalize(text)


@given(pair=either, text=texts)
def test_text_without_new_pieces_keeps_its_ids(
    pair: tuple[Tokenizer, Tokenizer], text: str
) -> None:
    old, new = pair
    ids = new.encode(text)
    if max(ids, default=0) < old.size:
        assert ids == old.encode(text)
    assert {0, 1, 2}.isdisjoint(ids)


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_old_pieces_keep_their_ids_and_old_text_its_pieces(old: Tokenizer, new: Tokenizer) -> None:
    assert old.size < new.size <= old.size + 40
    assert new.pieces(range(old.size)) == old.pieces(range(old.size))
    if old.decode(old.encode("Ein Hund läuft.")) == "Ein Hund läuft.":
        assert new.encode_many(OLD) == old.encode_many(OLD)


@pytest.mark.parametrize(("old", "new"), [PAIRS[0], PAIRS[2]])
def test_new_text_gets_shorter(old: Tokenizer, new: Tokenizer) -> None:
    before, after = (sum(map(len, t.encode_many(NEW))) for t in (old, new))
    assert after < 0.8 * before


def test_merges_go_on_as_worked_out_by_hand() -> None:
    # Pieces of learn_bpe(["ab ab ab ac"]): " " 260, a 261, b 262, c 263, " a" 264, " ab" 265.
    old = learn_bpe(["ab ab ab ac"], TokenizerConfig(size=900))
    assert old.size == 266
    # Cut by the old merges: three times " ab" c c, twice " a" c. So " ab"+c, three times, comes
    # first (its rival c+c is as frequent, and later in the alphabet), then " abc"+c, then " a"+c.
    new = extend_tokenizer(old, ["abcc abcc abcc ac ac"], 3)
    assert new.pieces(range(266, new.size)) == [" abc", " abcc", " ac"]
    assert new.encode("abcc ac ab") == [267, 268, 265]
    assert spelled_before(old, new) == [[265, 263], [265, 263, 263], [264, 263]]


def test_a_new_character_takes_the_place_of_its_bytes() -> None:
    old = learn_bpe(["ab ab"], TokenizerConfig(size=900))
    new = extend_tokenizer(old, ["ж ж"], 1)
    assert new.pieces([old.size]) == ["ж"]
    assert spelled_before(old, new) == [[4 + 0xD0, 4 + 0xB6]]  # UTF-8 of U+0436


def test_what_occurs_once_gets_no_piece() -> None:
    old = learn()
    assert extend_tokenizer(old, ["qz жя"], 40).size == old.size


def test_a_pair_that_spells_an_old_piece_is_never_joined() -> None:
    words = {("a", "bc"): 9, ("x", "y"): 2}
    assert continue_merges(words, {"a", "bc", "abc", "x", "y"}, 5) == [("x", "y")]


WORDS = st.dictionaries(
    st.lists(st.sampled_from(["a", "b", "c", "ab"]), min_size=1, max_size=8).map(tuple),
    st.integers(1, 5),
    max_size=8,
)


@given(words=WORDS, pieces=st.integers(0, 8))
def test_counting_incrementally_gives_what_counting_afresh_gives(
    words: dict[tuple[str, ...], int], pieces: int
) -> None:
    known = {"a", "b", "c", "ab"}
    cut = {word: word for word in words}
    slow: list[tuple[str, str]] = []
    made: set[str] = set()
    while True:
        counts = count_pairs((cut[word], count) for word, count in words.items())
        allowed = {p: n for p, n in counts.items() if n >= 2 and p[0] + p[1] not in known}
        if not allowed:
            break
        pair, _ = best_pair(allowed)
        if "".join(pair) not in made and len(made) == pieces:
            break
        made.add("".join(pair))
        slow.append(pair)
        cut = {word: join_pair(symbols, pair, "".join(pair)) for word, symbols in cut.items()}
    assert continue_merges(words, known, pieces) == slow


def test_one_vocabulary_grows_by_both_sides_and_two_by_their_own() -> None:
    old = learn()
    sides = (["Gelenk Gelenk"], ["joint joint"])
    (both,) = extend_tokenizers([old], sides, 60)
    for word in ("Gelenk", "joint"):
        assert both.pieces(both.encode(word)) == [f" {word}"]
    source, target = extend_tokenizers([old, old], sides, 60)
    assert source.pieces(source.encode("Gelenk")) == [" Gelenk"]
    assert source.encode("joint") == old.encode("joint")
    assert target.pieces(target.encode("joint")) == [" joint"]


def test_an_extended_vocabulary_can_be_extended_again_and_kept_in_a_file(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    old, once = PAIRS[0]
    twice = extend_tokenizer(once, ["Krankenhaus Krankenhaus"], 20)
    path = tmp_path_factory.mktemp("kept") / "tokenizer.json"
    twice.save(path)
    read = Tokenizer.load(path)
    assert read.pieces(range(once.size)) == once.pieces(range(once.size))
    assert read.encode_many(NEW) == twice.encode_many(NEW)
    assert read.size > once.size > old.size


def test_wordpiece_is_refused_with_a_reason() -> None:
    with pytest.raises(ConfigError, match=r"extend: .*wordpiece cannot grow.*leave it at 0"):
        extend_tokenizer(learn("wordpiece"), NEW, 5)


def test_a_line_with_half_a_surrogate_pair_is_named() -> None:
    with pytest.raises(ValueError, match="line 2: character 1 is"):
        extend_tokenizer(learn(), ["fine", "a\udc80"], 5)
