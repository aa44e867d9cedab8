import math

import pytest

from dragoman.decoding import BeamSearch, next_pieces_of
from dragoman.errors import DragomanError
from dragoman.tokenization import TokenizerConfig, learn_bpe
from dragoman.translator import Translator, word_place
from dragoman.translator.alternatives import pieces_before
from tests.fixtures import ENGLISH, GERMAN, tiny_translator

TOKENIZER = learn_bpe(GERMAN * 4 + ENGLISH * 4, TokenizerConfig(size=300))
SHORT = BeamSearch(max_length=14)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(layers=2)


@pytest.mark.parametrize(
    ("text", "place", "before"),
    [
        ("the cat drinks", 0, ""),
        ("the cat drinks", 2, ""),
        ("the cat drinks", 3, "the"),  # the white space before a word belongs to it
        ("the cat drinks", 5, "the"),
        ("the cat drinks", 8, "the cat"),
        ("the cat drinks", 14, "the cat drinks"),
        ("the cat .", 8, "the cat"),
        ("the cat.", 7, "the cat"),
        ("the cat ", 8, "the cat "),
        ("小猫喝", 2, "小猫"),
        ("", 0, ""),
    ],
)
def test_what_stands_before_the_word_at_a_place_is_kept(text: str, place: int, before: str) -> None:
    assert TOKENIZER.decode(pieces_before(TOKENIZER, text, place)) == before


def test_words_are_counted_from_one_and_signs_are_words() -> None:
    text = "the cat, too"
    assert [word_place(text, number) for number in range(1, 6)] == [0, 4, 7, 9, 12]
    assert word_place("", 3) == 0


# By enumeration: the probability of every piece after what stands before, and a search that is
# forced to go on with it.
@pytest.mark.parametrize("position", [0, 4, 8, 14])
def test_alternatives_are_the_most_probable_pieces_each_completed(
    translator: Translator, position: int
) -> None:
    source, target = GERMAN[0], "the dog sleeps ."
    found = translator.alternatives(source, target, position, 4, search=SHORT)
    tokenizer = translator.bundle.target_tokenizer
    before = tokenizer.encode(target[:position].strip()) if position else []
    ids = translator.bundle.source_tokenizer.encode(source)
    every = next_pieces_of(translator.model, ids, tokenizer.special, before, tokenizer.size)
    assert found[0].probability == pytest.approx(math.exp(every[0][1]))
    assert [each.probability for each in found] == sorted(
        (each.probability for each in found), reverse=True
    )
    assert len({(each.word, each.place) for each in found}) == len(found) == 4
    kept = tokenizer.decode(before)
    known = {math.exp(value): piece for piece, value in every}
    for each in found:
        piece = next(p for chance, p in known.items() if chance == each.probability)
        assert each.text.startswith(kept)
        assert each.text[each.place :].startswith(each.word)
        if piece == tokenizer.special.end:
            assert (each.word, each.text) == ("", kept)
        else:
            beginning = tokenizer.decode([*before, piece])
            assert each.text.startswith(beginning.rstrip("\ufffd"))


def test_a_word_that_several_pieces_begin_is_given_once(translator: Translator) -> None:
    found = translator.alternatives(GERMAN[1], "the cat", 4, 40, search=SHORT)
    assert len({(each.word, each.place) for each in found}) == len(found)


def test_they_are_broken_off_once_nobody_waits_for_them(translator: Translator) -> None:
    asked: list[bool] = []

    def wanted() -> bool:
        asked.append(len(asked) < 7)
        return asked[-1]

    with pytest.raises(DragomanError, match="nobody waited"):
        translator.alternatives(GERMAN[0], "the dog", 0, 4, wanted=wanted)
    assert asked.count(True) == 7  # that is, after a step or two of four words


def test_positions_and_counts_that_are_none_are_refused(translator: Translator) -> None:
    with pytest.raises(ValueError, match="position 8 of 7, count 5"):
        translator.alternatives(GERMAN[0], "the dog", 8)
    with pytest.raises(ValueError, match="position 0 of 7, count 0"):
        translator.alternatives(GERMAN[0], "the dog", 0, 0)
    with pytest.raises(DragomanError, match=r"the prefix has .* the limit is 3"):
        translator.alternatives(GERMAN[0], "the dog sleeps .", 16, search=BeamSearch(max_length=3))
