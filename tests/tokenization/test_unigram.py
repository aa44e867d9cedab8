"""Learning a unigram vocabulary, beside a plain rendering of the algorithm."""

import math
import random

import pytest

from dragoman.errors import ConfigError, DataError
from dragoman.tokenization import Tokenizer, TokenizerConfig, extend_tokenizer, learn_unigram
from dragoman.tokenization import unigram as module
from dragoman.tokenization.unigram import learn_unigram_scores, seed_pieces
from dragoman.tokenization.unigram_lattice import every_cut

GERMAN = ("Ein Hund läuft durch den Schnee.", "Zwei Hunde spielen im Schnee.", "Ein Mann.") * 5


def learn(lines: list[str], *, size: int = 8000, byte_fallback: bool = True) -> Tokenizer:
    config = TokenizerConfig(kind="unigram", size=size, byte_fallback=byte_fallback)
    return learn_unigram(lines, config)


def learnt(tokenizer: Tokenizer) -> list[str]:
    return tokenizer.pieces(range(260, tokenizer.size))


def test_parts_of_words_are_counted_and_those_that_cover_most_come_first() -> None:
    # By hand: "ab" 5 times covers 10, "abc" and "bc" 3 times cover 9 and 6; "xy" once is left out.
    words = {"abc": 3, "ab": 2, "xy": 1}
    assert list(seed_pieces(words, 9).items()) == [("ab", 5), ("abc", 3), ("bc", 3)]
    assert list(seed_pieces(words, 1)) == ["ab"]


def reference(words: dict[str, int], characters: list[str], size: int) -> dict[str, float]:
    """Learn as ``learn_unigram_scores``, listing all segmentations."""
    seeds = seed_pieces(words, 10_000)
    counts: dict[str, float] = {**seeds}
    single = {each: sum(word.count(each) * words[word] for word in words) for each in characters}
    counts = {**single, **counts}

    def logs(of: dict[str, float]) -> dict[str, float]:
        floors = {each: max(of[each], 0.5 if each in characters else 1e-10) for each in of}
        return {each: math.log(floors[each] / sum(floors.values())) for each in of}

    def expect(scores: dict[str, float]) -> dict[str, float]:
        found = dict.fromkeys(scores, 0.0)
        for word, times in words.items():
            cuts = [*every_cut(word, scores)]
            shares = [math.exp(sum(scores[each] for each in cut)) for cut in cuts]
            for cut, share in zip(cuts, shares, strict=True):
                for each in cut:
                    found[each] += times * share / sum(shares)
        return found

    def loss(piece: str, scores: dict[str, float], used: dict[str, float]) -> float:
        if piece in characters:
            return math.inf
        if used[piece] < 0.5:
            return -math.inf
        others = {*scores} - {piece}
        best = max(sum(scores[each] for each in cut) for cut in every_cut(piece, others))
        return used[piece] * (scores[piece] - best)

    while True:
        scores = logs(expect(logs(counts)))
        counts = expect(scores)
        if len(counts) <= size:
            break
        ordered = sorted(counts, key=lambda each: -loss(each, scores, counts))
        kept = {*ordered[: max(size, int(0.75 * len(counts)))]}
        counts = {each: count for each, count in counts.items() if each in kept}
    return logs({each: n for each, n in counts.items() if n >= 0.5 or each in characters})


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [5, 8, 100])
def test_learning_agrees_with_the_algorithm_written_plainly(seed: int, size: int) -> None:
    rng = random.Random(seed)
    drawn = ["".join(rng.choices("abc", k=rng.randint(1, 6))) for _ in range(8)]
    words = {word: rng.randint(1, 30) for word in drawn}
    found = learn_unigram_scores(words, ["a", "b", "c"], size)
    expected = reference(words, ["a", "b", "c"], size)
    assert found == pytest.approx(expected, abs=2e-6)
    assert len(found) <= size


def test_frequent_words_become_pieces_that_are_used() -> None:
    tokenizer = learn([*GERMAN])
    assert {" Hund", " Schnee", " Ein"} <= {*learnt(tokenizer)}
    assert tokenizer.pieces(tokenizer.encode("Ein Hund")) == [" Ein", " Hund"]


def test_pieces_do_not_cross_words_digits_and_angle_brackets() -> None:
    pieces = learnt(learn(["xy 12 <<b> x.y  \t"] * 20))
    # By hand, as for byte-pair encoding: the words are " xy", " 1", "2", " ", "<", "b" and blanks.
    assert {piece for piece in pieces if len(piece) > 1} <= {" x", "xy", " xy", " 1"}


@pytest.mark.parametrize("size", [262, 263, 270, 300])
def test_the_vocabulary_is_never_larger_than_asked_for(size: int) -> None:
    tokenizer = learn([*GERMAN], size=size)
    assert tokenizer.size <= size
    assert tokenizer.decode(tokenizer.encode("Ein 狗")) == "Ein 狗"


def test_rare_characters_are_left_to_bytes() -> None:
    # By hand: room for 8, so 4 characters: a 8 times, " " and b 3 times, and of d, e, f the first.
    tokenizer = learn(["aaaa", "aaaa", "bbb", "fed"], size=268)
    assert {piece for piece in learnt(tokenizer) if len(piece) == 1} == {" ", "a", "b", "d"}
    assert tokenizer.pieces(tokenizer.encode("e"))[-1] == "<0x65>"


def test_without_byte_fallback_what_is_unseen_is_unknown_once_and_left_out() -> None:
    tokenizer = learn([*GERMAN], size=100, byte_fallback=False)
    ids = tokenizer.encode("Ein Ωω Hund")
    assert ids.count(tokenizer.special.unknown) == 1
    assert tokenizer.decode(ids) == "Ein  Hund"


def test_the_order_of_lines_does_not_matter() -> None:
    assert learn([*GERMAN]).to_json() == learn([*GERMAN[::-1]]).to_json()


def test_of_very_much_text_the_rarest_words_teach_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHARACTERS_READ", 8)
    # By hand: " ab" and " cd" hold 6 characters; the next word is one too many.
    pieces = learnt(learn(["ab ab ab cd cd cd", "ef ef"]))
    assert " ab" in pieces
    assert " ef" not in pieces


def test_learning_from_nothing_is_refused() -> None:
    with pytest.raises(DataError, match="training text: is empty; name files that hold text"):
        learn(["", ""])


def test_a_single_character_is_text_enough() -> None:
    tokenizer = learn(["x"])
    assert tokenizer.decode(tokenizer.encode("xyx")) == "xyx"


def test_a_unigram_vocabulary_does_not_grow() -> None:
    with pytest.raises(ConfigError, match="extend: a vocabulary of the kind unigram cannot grow"):
        extend_tokenizer(learn([*GERMAN]), ["neue Wörter"] * 3, 10)
