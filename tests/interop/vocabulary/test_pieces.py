from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ModelError
from dragoman.interop.vocabulary import read_pieces, read_vocabulary, tokenizer_of_pieces
from dragoman.interop.vocabulary.subword_nmt import read_codes
from dragoman.tokenization import ImportedTokenizer, SpecialIds, tokenizer_from_json
from tests.interop.vocabulary.folders import OLD_PICKLE, PICKLE, shared
from tests.tokenization.foreign import LINES, sentencepiece_bytes, texts

SPECIAL = SpecialIds(padding=0, start=1, end=2, unknown=3)
SYMBOLS = ["<blank>", "<s>", "</s>", "<unk>"]
CODES = (("t", "h"), ("th", "e</w>"), ("e", "r</w>"), ("i", "n"), ("in", "g</w>"), ("a", "n"))
letters = st.text("thering anözÄ\u2028<>@/s", max_size=12)


def test_characters_are_pieces_where_no_piece_is_longer() -> None:
    tokenizer = tokenizer_of_pieces([*SYMBOLS, "a", "t", "آ", "▁"], SPECIAL)
    assert tokenizer.encode("at آx") == [4, 5, 7, 6, 3]
    assert tokenizer.decode([4, 5, 7, 6, 2, 0]) == "at آ"
    assert tokenizer.encode("<s>") == [3, 3, 3]


def test_a_published_list_of_characters_is_read() -> None:
    folder = shared("ct2-aren-transliteration/v1-aren-transliteration")
    pieces = read_pieces(folder / "target_vocabulary.txt")
    tokenizer = tokenizer_of_pieces(pieces, SpecialIds(padding=0, start=1, end=2, unknown=0))
    assert tokenizer.decode(tokenizer.encode("atzmon")) == "atzmon"
    assert tokenizer.pieces(tokenizer.encode("atz")) == ["a", "t", "z"]
    assert 0 not in tokenizer.encode("a漢b")  # nothing is called unknown, so it is left out


def test_users_may_give_pieces_between_spaces() -> None:
    words = tokenizer_of_pieces([*SYMBOLS, "the", "of"], SPECIAL)
    assert words.encode("of  the </s> x") == [5, 4, 3, 3]
    assert words.decode([5, 4, 2]) == "of the"
    marked = tokenizer_of_pieces([*SYMBOLS, "▁the", "▁o", "f"], SPECIAL, cut="pieces")
    assert marked.decode(marked.encode("▁o f ▁the")) == "of the"
    joined = tokenizer_of_pieces([*SYMBOLS, "th@@", "e", "o@@", "f"], SPECIAL)
    assert joined.decode(joined.encode("o@@ f th@@ e")) == "of the"


def test_a_published_list_of_words_is_read() -> None:
    pieces = read_pieces(shared("ct2-opennmt-lm/vocabulary.json"))
    tokenizer = tokenizer_of_pieces(pieces, SpecialIds(padding=1, start=2, end=2, unknown=0))
    assert tokenizer.pieces(tokenizer.encode("the united states of")) == [
        " the",
        " united",
        " states",
        " of",
    ]


def test_a_sentencepiece_model_cuts_for_a_list(tmp_path: Path) -> None:
    library = pytest.importorskip("sentencepiece", reason="needs sentencepiece, which tests have")
    (tmp_path / "m.model").write_bytes(sentencepiece_bytes())
    processor = library.SentencePieceProcessor(model_proto=sentencepiece_bytes())
    known = [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]
    pieces = [*SYMBOLS, *known[::2]]
    tokenizer = tokenizer_of_pieces(pieces, SPECIAL, cut=tmp_path / "m.model")
    ids = {piece: number for number, piece in enumerate(pieces)}
    for line in LINES:
        expected = [ids.get(piece, 3) for piece in processor.encode(line, out_type=str)]
        assert tokenizer.encode(line) == expected


def reference(text: str) -> list[str]:
    """Cut words as subword-nmt does: the first pair in the file that stands in a word is joined."""
    pieces: list[str] = []
    for word in filter(None, text.split(" ")):
        symbols = [*word[:-1], word[-1] + "</w>"]
        while True:
            pairs = [*pairwise(symbols)]
            ranked = [CODES.index(pair) for pair in pairs if pair in CODES]
            if not ranked:
                break
            symbols = joined(symbols, CODES[min(ranked)])
        pieces += [f"{each}@@" for each in symbols[:-1]] + [symbols[-1].removesuffix("</w>")]
    return pieces


def joined(symbols: Sequence[str], pair: tuple[str, str]) -> list[str]:
    done: list[str] = []
    place = 0
    while place < len(symbols):
        both = tuple(symbols[place : place + 2]) == pair
        done.append("".join(pair) if both else symbols[place])
        place += 2 if both else 1
    return done


@cache
def by_codes(folder: Path) -> ImportedTokenizer:
    file = folder / "codes"
    lines = "".join(f"{left} {right}\n" for left, right in CODES)
    file.write_text(f"#version: 0.2\n{lines}", encoding="utf-8")
    single = [*"theringaöz", *(f"{letter}@@" for letter in "theringaöz")]
    longer = ["the", "th@@", "er", "in@@", "ing", "an@@", "and"]
    return tokenizer_of_pieces([*SYMBOLS, *single, *longer], SPECIAL, cut=file)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("codes")


@given(text=letters)
def test_codes_cut_words_as_their_algorithm_does(text: str, folder: Path) -> None:
    tokenizer = by_codes(folder)
    ids = {name: number for number, name in enumerate(tokenizer.names()) if number > 3}
    assert tokenizer.encode(text) == [ids.get(piece, 3) for piece in reference(text)]


def test_codes_give_words_back(folder: Path) -> None:
    tokenizer = by_codes(folder)
    for again in (tokenizer, tokenizer_from_json(tokenizer.to_json())):
        ids = again.encode("the zither  in nö")
        assert again.decode(ids) == "the zither in nö"
        spelled = b"".join(again.piece_bytes()[number] for number in ids).decode()
        assert spelled == "the zither in nö "
        assert again.pieces(ids)[:3] == ["the ", "z", "i"]


def test_published_codes_are_read() -> None:
    codes = read_codes(shared("sentencepiece/opennmt-sample.bpe"))
    assert codes[:3] == [("t", "h"), ("i", "n"), ("th", "e</w>")]


def test_codes_of_fastbpe_have_a_count(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text("t h 12\nth e</w> 9\n")
    assert read_codes(tmp_path / "codes") == [("t", "h"), ("th", "e</w>")]


@given(text=texts)
def test_no_text_gives_a_control_id(text: str) -> None:
    names = [*SYMBOLS, "[CLS]", "▁the", "a", "</s>x"]
    tokenizer = tokenizer_of_pieces(names, SPECIAL, controls=[4], languages={"de": 6})
    assert not {*tokenizer.encode(text)} & {0, 1, 2, 4, 6}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PICKLE, "no text in UTF-8"),
        (b"", "holds no codes"),
        (b"t h\n", "version 0.1"),
        (b"#version: 0.3\nt h\n", "version 0.3 is not read"),
        (b"#version: 0.2\nt h\nx\n", "line 3: 'x' is no pair"),
    ],
)
def test_damaged_codes_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "codes"
    file.write_bytes(content)
    with pytest.raises(ModelError, match=f"^{file}: .*{message}"):
        read_codes(file)
    if b"\0" not in content:
        with pytest.raises(ModelError, match=f"^{file}: "):
            tokenizer_of_pieces([*SYMBOLS, "a"], SPECIAL, cut=file)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.txt", PICKLE, "no text in UTF-8"),
        ("v.json", PICKLE, "no text in UTF-8"),
        ("v.json", OLD_PICKLE, "is no JSON"),
        ("v.json", b'{"a": 1}', "is no list of pieces"),
        ("v.json", b'["a", 1]', "is no list of pieces"),
        ("v.json", b"[" * 100_000, "is no JSON"),
        ("v.txt", b"a\nb\na\n", "holds 'a' twice"),
        ("v.txt", b"", "holds no pieces"),
        ("v.txt", b"a\0\n", "holds a zero byte"),
    ],
)
def test_damaged_lists_are_refused(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ModelError, match=f"^{file}: .*{message}"):
        read_pieces(file)


def test_lines_end_where_files_end_them_only(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes("\ufeffa\r\n\u2028\n\x85\nb".encode())
    assert read_pieces(tmp_path / "v.txt") == ["a", "\u2028", "\x85", "b"]


def test_files_that_are_too_large_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(b" " * (17 * 2**20))
    with pytest.raises(ModelError, match=f"^{file}: has 17,825,792 bytes, more than"):
        read_vocabulary(tmp_path)
    with pytest.raises(ModelError, match="no such file"):
        read_pieces(tmp_path / "none.txt")


def test_the_longest_piece_at_each_place_may_be_taken() -> None:
    pieces = [*SYMBOLS, "C", "Cl", "c", "(", ")", "=", "O", "[nH]", "1"]
    tokenizer = tokenizer_of_pieces(pieces, SPECIAL, cut="longest")
    ids = tokenizer.encode("ClC(=O)c1[nH]C")
    assert tokenizer.pieces(ids) == ["Cl", "C", "(", "=", "O", ")", "c", "1", "[nH]", "C"]
    assert tokenizer.decode(ids) == "ClC(=O)c1[nH]C"
    assert tokenizer.encode("CXYC</s>") == [4, 3, 4, 3]
    spaced = tokenizer_of_pieces([*SYMBOLS, "▁th", "▁t", "e", "he"], SPECIAL, cut="longest")
    assert spaced.pieces(spaced.encode("the the")) == [" th", "e", " th", "e"]
    assert spaced.decode(spaced.encode("the the")) == "the the"


def test_a_list_of_no_known_class_is_cut_into_its_longest_pieces(tmp_path: Path) -> None:
    # As RXNMapper has it: formulas of molecules, for an ALBERT.
    lines = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "C", "Cl", "(", ")", "O", "="]
    (tmp_path / "vocab.txt").write_text("\n".join(lines))
    (tmp_path / "config.json").write_text('{"model_type": "albert", "vocab_size": 10}')
    (tokenizer,) = read_vocabulary(tmp_path)
    assert tokenizer.special == SpecialIds(padding=0, start=2, end=3, unknown=1)
    assert tokenizer.encode("ClC(=O)N") == [5, 4, 6, 9, 8, 7, 1]
