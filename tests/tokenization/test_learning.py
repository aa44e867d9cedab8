import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.configfile import read_record
from dragoman.errors import ConfigError, DataError
from dragoman.tokenization import (
    Tokenizer,
    TokenizerConfig,
    learn_bpe,
    learn_tokenizer,
    learn_tokenizers,
)
from dragoman.tokenization.config import Kind

GERMAN = ("Ein Hund läuft durch den Schnee.", "Zwei Männer spielen Gitarre.") * 5
ENGLISH = ("A dog runs through the snow.", "Two men are playing the guitar.") * 5
CHINESE = ("一只狗在雪地里跑。", "两个男人在弹吉他。", "一个男人和一只狗在雪地里。") * 5


def learnt(tokenizer: Tokenizer, *, reserved: int = 260) -> list[str]:
    return tokenizer.pieces(range(reserved, tokenizer.size))


def contents(tokenizer: Tokenizer, folder: Path) -> bytes:
    tokenizer.save(folder / "tokenizer.json")
    return (folder / "tokenizer.json").read_bytes()


def test_the_most_frequent_pairs_are_joined_in_order() -> None:
    # By hand: " ab" 3 times and " ac" once; " "+a 4 times, then " a"+b 3 times, then nothing twice.
    tokenizer = learn_bpe(["ab ab ab ac"], TokenizerConfig())
    assert learnt(tokenizer) == [" ", "a", "b", "c", " a", " ab"]
    assert tokenizer.pieces(range(5)) == ["<pad>", "<s>", "</s>", "<unk>", "<0x00>"]
    assert tokenizer.pieces([259]) == ["<0xFF>"]


def test_of_two_pairs_as_frequent_the_one_of_lower_code_points_is_joined_first() -> None:
    # By hand: "ab" and "cd" occur twice each, apart from any space; there is room for one.
    tokenizer = learn_bpe(["1cd1cd1ab1ab"], TokenizerConfig(size=260 + 12))
    assert learnt(tokenizer)[:7] == [" ", "1", "a", "b", "c", "d", "ab"]


def test_learning_joins_nothing_across_words_digits_and_angle_brackets() -> None:
    tokenizer = learn_bpe(["xy 12 <<b> x.y  \t"] * 20, TokenizerConfig(size=1000))
    joined = {piece for piece in learnt(tokenizer) if len(piece) > 1}
    # By hand: the words are " xy", " 1", "2", " ", "<", "<", "b", ">", " x", ".", "y" and blanks.
    assert joined == {" x", " xy", " 1"}


def test_the_vocabulary_has_the_size_asked_for_when_the_text_allows() -> None:
    assert learn_bpe(GERMAN, TokenizerConfig(size=300)).size == 300
    assert learn_bpe(GERMAN, TokenizerConfig(size=60, byte_fallback=False)).size == 60


@pytest.mark.parametrize("size", [262, 263, 270, 300])
def test_the_vocabulary_is_never_larger_than_asked_for(size: int) -> None:
    tokenizer = learn_bpe((*GERMAN, *CHINESE), TokenizerConfig(size=size))
    assert tokenizer.size <= size
    assert tokenizer.decode(tokenizer.encode(CHINESE[0])) == CHINESE[0]


def test_rare_characters_are_left_to_bytes_and_equals_go_by_code_point() -> None:
    # Room for 8 pieces, so 4 characters: of d, e, f, as rare as each other, one has a place left.
    lines = ["aaaa", "aaaa", "bbb", "fed"]
    tokenizer = learn_bpe(lines, TokenizerConfig(size=268))
    assert learnt(tokenizer)[:4] == [" ", "a", "b", "d"]
    assert tokenizer.pieces(tokenizer.encode("e"))[-1] == "<0x65>"


def test_the_neighbours_of_a_rare_character_are_not_neighbours() -> None:
    # By hand: room for 3 characters: " " and a and b occur 4 times, c twice. Cut at c, the words
    # are " aa", " bb" and twice " a" and "b": only the pair " "+a occurs twice or more.
    tokenizer = learn_bpe(["aa bb acb acb"], TokenizerConfig(size=266))
    assert learnt(tokenizer) == [" ", "a", "b", " a"]


def test_more_rare_characters_than_the_library_takes_at_once_are_left_out() -> None:
    # Every second of 24,000 code points, so that no two lie in one range: 12,000 ranges.
    rare = "".join(chr(0x20000 + 2 * number) for number in range(12_000))
    tokenizer = learn_bpe(["ab ab", rare], TokenizerConfig(size=266))
    assert learnt(tokenizer) == [" ", "a", "b", " a", " ab"]


def test_chinese_words_become_pieces() -> None:
    # By hand: 男+人 3 times, then the space before a line +男人 twice; the rest once.
    tokenizer = learn_bpe(["男人跑", "男人吃", "看男人"], TokenizerConfig())
    assert learnt(tokenizer) == [" ", "人", "吃", "男", "看", "跑", "男人", " 男人"]
    assert tokenizer.pieces(tokenizer.encode("看男人男")) == [" ", "看", "男人", "男"]


def test_a_word_does_not_go_on_for_ever() -> None:
    # Learning is quadratic in the length of a word: uncut, this line takes minutes.
    tokenizer = learn_bpe(["a" * 200_000], TokenizerConfig())
    # By hand: " " and 256 times "a" in the longest word.
    assert max(map(len, learnt(tokenizer))) <= 257


def test_text_is_normalised_before_it_is_counted() -> None:
    composed = learn_bpe(["m\u00e9m\u00e9"] * 3, TokenizerConfig())
    decomposed = learn_bpe(["me\u0301me\u0301"] * 3, TokenizerConfig())
    assert learnt(composed) == learnt(decomposed)
    assert "\u00e9" in learnt(composed)
    apart = learn_bpe(["m\u00e9m\u00e9"] * 3, TokenizerConfig(normal_form="NFD"))
    assert "\u00e9" not in learnt(apart)


def test_a_joint_vocabulary_is_one_object_learnt_from_both_sides() -> None:
    source, target = learn_tokenizers(iter(GERMAN), iter(ENGLISH), TokenizerConfig())
    assert source is target
    assert {" Hund", " dog"} <= {*learnt(source)}


def test_separate_vocabularies_know_one_side_each() -> None:
    source, target = learn_tokenizers(GERMAN, ENGLISH, TokenizerConfig(joint=False))
    assert " Hund" in learnt(source)
    assert " Hund" not in learnt(target)
    assert " dog" in learnt(target)


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "character", "word"])
def test_one_stream_of_text_is_learnt_as_its_kind_says(kind: Kind, tmp_path: Path) -> None:
    config = TokenizerConfig(kind=kind, size=400)
    alone = contents(learn_tokenizer(iter(GERMAN), config), tmp_path)
    assert contents(learn_tokenizer(GERMAN, config), tmp_path) == alone
    # Both sides together are one stream, too.
    source, target = learn_tokenizers(GERMAN, ENGLISH, config)
    assert source is target
    both = learn_tokenizer([*GERMAN, *ENGLISH], config)
    assert contents(source, tmp_path) == contents(both, tmp_path)


def test_a_stream_that_is_read_once_teaches_the_same_as_a_list(tmp_path: Path) -> None:
    config = TokenizerConfig(size=400)
    from_list = contents(learn_bpe(GERMAN, config), tmp_path)
    assert contents(learn_bpe(iter(GERMAN), config), tmp_path) == from_list
    joint, _ = learn_tokenizers(iter(GERMAN), iter(ENGLISH), config)
    both = learn_bpe([*GERMAN, *ENGLISH], config)
    assert contents(joint, tmp_path) == contents(both, tmp_path)


class Exhausted:
    """Claims to be readable again and is not."""

    def __init__(self) -> None:
        self.lines = iter(GERMAN)

    def __iter__(self) -> Iterator[str]:
        return self.lines


def test_lines_that_differ_the_second_time_are_refused() -> None:
    with pytest.raises(ValueError, match="the second reading differs from the first"):
        learn_bpe(Exhausted(), TokenizerConfig())


LEARN = """
import sys
from pathlib import Path
from dragoman.tokenization import TokenizerConfig, learn_tokenizer
lines = Path(sys.argv[1]).read_text(encoding="utf-8").split("\\n")
for kind in ("bpe", "wordpiece", "character", "word"):
    path = Path(f"{sys.argv[2]}.{kind}")
    learn_tokenizer(lines, TokenizerConfig(kind=kind, size=500)).save(path)
assert "torch" not in sys.modules, "tokenization needs no torch"
"""


def test_hash_seed_and_threads_change_nothing(tmp_path: Path) -> None:
    # Words of four letters in every order: very many pairs and characters are equally frequent.
    words = (hashlib.sha256(f"{number}".encode()).hexdigest() for number in range(400))
    letters = str.maketrans("0123456789", "ghijklmnop")
    rare = "".join(chr(0x4E00 + number) for number in range(200))
    text = "\n".join([*(word.translate(letters) for word in words), rare])
    (tmp_path / "lines").write_text(text, encoding="utf-8")
    kinds = ("bpe", "wordpiece", "character", "word")
    digests: set[tuple[str, ...]] = set()
    for seed, parallel, threads in (("1", "false", "1"), ("2", "true", "1"), ("3", "true", "3")):
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONHASHSEED": seed,
            "TOKENIZERS_PARALLELISM": parallel,
            "RAYON_NUM_THREADS": threads,
        }
        path = tmp_path / seed
        command = [sys.executable, "-c", LEARN, str(tmp_path / "lines"), str(path)]
        subprocess.run(command, env=environment, check=True, timeout=60)
        files = [tmp_path / f"{seed}.{kind}" for kind in kinds]
        digests.add(tuple(hashlib.sha256(file.read_bytes()).hexdigest() for file in files))
    assert len(digests) == 1


@pytest.mark.parametrize("lines", [[], ["", ""], iter(())])
def test_learning_from_nothing_is_refused(lines: list[str]) -> None:
    with pytest.raises(DataError, match="training text: is empty; name files that hold text"):
        learn_bpe(lines, TokenizerConfig())


def test_a_line_with_half_a_surrogate_pair_is_named() -> None:
    with pytest.raises(ValueError, match=r"^line 2: character 1 is U\+DC80, half of a surrogate"):
        learn_bpe(["fine", "a\udc80"], TokenizerConfig())


@pytest.mark.parametrize(
    ("size", "byte_fallback", "message"),
    [
        (
            261,
            True,
            "tokenizer.size: 261 leaves no room beside 4 special symbols and 256 byte pieces; "
            "give at least 262",
        ),
        (5, False, "tokenizer.size: 5 leaves no room beside 4 special symbols; give at least 6"),
    ],
)
def test_a_size_without_room_is_refused_and_the_hint_works(
    size: int, byte_fallback: bool, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        TokenizerConfig(size=size, byte_fallback=byte_fallback)
    assert str(caught.value.inside("tokenizer")) == message
    hinted = TokenizerConfig(size=size + 1, byte_fallback=byte_fallback)
    assert learn_bpe(["a a"], hinted).size <= size + 1


def test_the_recipe_table_is_read_and_its_mistakes_are_located() -> None:
    config = read_record(TokenizerConfig, {"size": 4000, "joint": False, "normal_form": "NFKC"})
    assert config == TokenizerConfig(size=4000, joint=False, normal_form="NFKC")
    with pytest.raises(ConfigError) as caught:
        read_record(TokenizerConfig, {"normal_form": "NFCK", "kind": "bep", "sise": 3})
    assert {mistake.place for mistake in caught.value.mistakes} == {"normal_form", "kind", "sise"}
