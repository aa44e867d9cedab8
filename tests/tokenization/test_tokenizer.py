import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken

from dragoman.errors import ModelError
from dragoman.tokenization import (
    NormalForm,
    SpecialIds,
    Tokenizer,
    TokenizerConfig,
    learn_bpe,
    learn_tokenizer,
)
from dragoman.tokenization.config import Kind

# What other tokenizers treat as markup, whitespace of every sort, and scripts that need care.
AWKWARD = (
    *("</s>", "<s>", "<pad>", "<unk>", "<0x41>", "<0xE2>", "<2de>", "<", ">", "0x41>", "/s>"),
    *("▁", "@@", "@@ ", "￭", "##", "Ġ", "&apos;", "&amp;amp;", "L'amitié & <b>"),
    *(" ", "  ", "   a", "\t", "\n", "\r\n", "\x00", "\x0b", "\x85", "\u2028", "\u3000", "\ufeff"),
    *("£2,000", "don't", '"q"', "a  b", "\ufffd", "\U0010ffff", "\ue000"),
    *("👩‍👩‍👧", "🇩🇪", "❤️", "1️⃣", "👍🏽"),
    *("mens\u030ci\u0301", "menší", "한국어", "한국어", "क़लम", "क्‍ष", "می‌خواهم", "ﬁ①Ａ"),
    *("≮", "<\u0338", "\u0301", "\u0327\u0301", "一只狗在雪地里跑。", "ab" * 300),
)
texts = st.lists(st.text() | st.sampled_from(AWKWARD)).map("".join)

PLAIN = ("Ein Hund läuft.", "Zwei Hunde laufen durch den Schnee.", "A dog runs.", "两只狗。") * 3
TRUNCATION = {"direction": "Right", "max_length": 9, "strategy": "LongestFirst", "stride": 0}
FORMS: tuple[NormalForm, ...] = ("NFC", "NFD", "NFKC", "NFKD", "none")


def learn(lines: Iterable[str], *, normal_form: NormalForm = "NFC", size: int = 900) -> Tokenizer:
    return learn_bpe(lines, TokenizerConfig(size=size, normal_form=normal_form))


plain = learn(PLAIN)
awkward = learn(AWKWARD * 40)
every_form = [learn((*PLAIN, *AWKWARD), normal_form=form) for form in FORMS]
bare = learn_bpe(PLAIN, TokenizerConfig(size=300, byte_fallback=False))
KINDS: tuple[Kind, ...] = ("bpe", "wordpiece", "unigram", "character", "word")
every_kind = [
    learn_tokenizer(lines, TokenizerConfig(kind=kind, size=900))
    for kind in KINDS
    for lines in (PLAIN, AWKWARD * 40)
]
tokenizers_of_all_kinds = st.sampled_from([plain, awkward, *every_form, *every_kind])

# By hand: 4 special symbols, 256 bytes, the characters by code point (" " 260, a 261, b 262,
# c 263), then the pair " "+a, seen 4 times (264), and " a"+b, seen 3 times (265); the rest once.
by_hand = learn(["ab ab ab ac"])


@given(tokenizer=tokenizers_of_all_kinds, text=texts)
def test_decoding_gives_back_the_normalised_text(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == tokenizer.normalize(text)


@pytest.mark.parametrize("text", AWKWARD)
@pytest.mark.parametrize("tokenizer", every_kind)
def test_awkward_text_comes_back(tokenizer: Tokenizer, text: str) -> None:
    for around in ("{}", " {}", "{} ", "a{}b", "<{}>", "{0}{0}"):
        whole = around.format(text)
        assert tokenizer.decode(tokenizer.encode(whole)) == tokenizer.normalize(whole)


@given(tokenizer=tokenizers_of_all_kinds, text=texts)
def test_normalising_twice_changes_nothing_more(tokenizer: Tokenizer, text: str) -> None:
    once = tokenizer.normalize(text)
    assert tokenizer.normalize(once) == once


@given(tokenizer=tokenizers_of_all_kinds, text=texts)
def test_normalising_first_gives_the_same_ids(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.encode(tokenizer.normalize(text)) == tokenizer.encode(text)


@given(text=texts)
def test_without_a_normal_form_text_comes_back_to_the_letter(text: str) -> None:
    tokenizer = every_form[FORMS.index("none")]
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(tokenizer=tokenizers_of_all_kinds, text=texts)
def test_no_text_gives_a_special_id(tokenizer: Tokenizer, text: str) -> None:
    assert not {0, 1, 2, 3} & {*tokenizer.encode(text)}


@pytest.mark.parametrize("text", ["</s>", "<pad>", "<unk>", "<s>", "<0x41>", "press </s> now"])
@pytest.mark.parametrize("kind", KINDS)
def test_markup_that_was_learnt_from_a_thousand_times_is_still_ordinary_text(
    text: str, kind: Kind
) -> None:
    tokenizer = learn_tokenizer([text] * 1000, TokenizerConfig(kind=kind, size=900))
    pieces = tokenizer.pieces(tokenizer.encode(text))
    assert "".join(pieces) == (text if kind == "character" else " " + text)
    assert [piece for piece in pieces if "<" in piece] == ["<"]
    # Its characters are all known, so no byte piece is needed, least of all the one for "A".
    assert min(tokenizer.encode(text)) >= 260


def test_ids_are_those_worked_out_by_hand() -> None:
    assert by_hand.size == 266
    assert by_hand.encode("ab ac") == [265, 264, 263]
    assert by_hand.encode("") == []
    assert by_hand.encode(" ") == [260, 260]
    assert by_hand.encode("é") == [260, 4 + 0xC3, 4 + 0xA9]
    assert by_hand.encode("e\u0301") == [260, 4 + 0xC3, 4 + 0xA9]
    assert by_hand.encode_many(["ab", "", "ac"]) == [[265], [], [264, 263]]
    assert by_hand.encode_many([]) == []


def test_special_ids_are_those_of_the_contract() -> None:
    assert by_hand.special == SpecialIds(padding=0, start=1, end=2, unknown=3)
    assert by_hand.pieces([0, 1, 2, 3]) == ["<pad>", "<s>", "</s>", "<unk>"]


def test_pieces_show_word_beginnings_and_bytes() -> None:
    assert by_hand.pieces(by_hand.encode("ab acé")) == [" ab", " a", "c", "<0xC3>", "<0xA9>"]


def test_special_symbols_leave_no_trace_in_text() -> None:
    assert by_hand.decode([1, 265, 3, 264, 263, 2, 0, 0]) == "ab ac"
    assert by_hand.decode([2]) == by_hand.decode([]) == ""


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        ("e2 82 ac", "€"),
        ("e2", "\ufffd"),
        ("e2 82", "\ufffd"),  # Unicode 3.9, table 3-8: one mark for each longest valid beginning
        ("ff fe", "\ufffd\ufffd"),
        ("c3 28", "\ufffd("),
        ("e2 82 ac ff", "€\ufffd"),  # what is valid beside it stays
        ("ed a0 bd", "\ufffd\ufffd\ufffd"),  # an encoded surrogate
    ],
)
def test_bytes_that_are_not_utf8_become_replacement_characters(octets: str, text: str) -> None:
    ids = [4 + byte for byte in bytes.fromhex(octets)]
    assert by_hand.decode([265, *ids, 264]) == f"ab{text} a"


@given(ids=st.lists(st.integers(0, plain.size - 1)))
def test_any_ids_decode_to_unicode_text(ids: list[int]) -> None:
    plain.decode(ids).encode("utf-8")


@pytest.mark.parametrize("number", [-1, 266])
def test_an_id_outside_the_vocabulary_is_named(number: int) -> None:
    message = f"id {number} is outside the vocabulary of 266 pieces"
    with pytest.raises(ValueError, match=message):
        by_hand.decode([260, number])
    with pytest.raises(ValueError, match=message):
        by_hand.pieces([260, number])


def test_half_a_surrogate_pair_is_refused_and_located() -> None:
    message = r"character 2 is U\+D83D, half of a surrogate pair"
    with pytest.raises(ValueError, match=f"^{message}"):
        plain.encode("ab\ud83d")
    with pytest.raises(ValueError, match=f"^{message}"):
        plain.normalize("ab\ud83d")
    with pytest.raises(ValueError, match=f"^text 1: {message}"):
        plain.encode_many(["fine", "ab\ud83d"])


def test_what_is_no_text_is_a_type_error() -> None:
    for value in (3, None, b"text"):
        with pytest.raises(TypeError, match="str"):
            plain.encode(value)  # pyright: ignore[reportArgumentType]  # what is tested
        with pytest.raises(TypeError, match="str"):
            plain.encode_many(["fine", value])  # pyright: ignore[reportArgumentType]  # what is tested


@given(many=st.lists(texts, max_size=4))
def test_many_texts_get_the_ids_they_get_alone(many: list[str]) -> None:
    ids = awkward.encode_many(many)
    assert ids == [awkward.encode(text) for text in many]
    assert awkward.decode_many(ids) == [awkward.normalize(text) for text in many]


@pytest.fixture(scope="module")
def awkward_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tokenizer.json"
    awkward.save(path)
    return path


@pytest.fixture(scope="module", params=range(len(every_kind)))
def beside_the_library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    path = tmp_path_factory.mktemp("model") / "tokenizer.json"
    every_kind[request.param].save(path)
    return every_kind[request.param], tokenizers.Tokenizer.from_file(str(path))


@given(text=texts)
def test_the_library_reads_the_same_ids_and_text_from_the_file(
    beside_the_library: tuple[Tokenizer, tokenizers.Tokenizer], text: str
) -> None:
    ours, library = beside_the_library
    ids = library.encode(text).ids
    assert ids == ours.encode(text)
    assert library.decode(ids) == ours.decode(ids)


@pytest.mark.parametrize(
    ("form", "text", "normalised"),
    [
        # By hand from the Unicode character database.
        ("NFC", "mens\u030ci\u0301", "men\u0161\u00ed"),
        ("NFD", "men\u0161\u00ed", "mens\u030ci\u0301"),
        ("NFC", "\u1112\u1161\u11ab", "\ud55c"),  # Hangul han from its letters
        ("NFC", "\u0958", "\u0915\u093c"),  # Devanagari qa, excluded from composition
        ("NFC", "q\u0307\u0323", "q\u0323\u0307"),  # marks in canonical order
        ("NFC", "ﬁ①Ａ", "ﬁ①Ａ"),
        ("NFKC", "ﬁ①Ａ", "fi1A"),
        ("NFKD", "ﬁ\u00e9", "fie\u0301"),
        ("none", "e\u0301\u00e9", "e\u0301\u00e9"),
    ],
)
def test_text_is_brought_to_the_chosen_normal_form(
    form: NormalForm, text: str, normalised: str
) -> None:
    tokenizer = every_form[FORMS.index(form)]
    assert tokenizer.normal_form == form
    assert tokenizer.normalize(text) == normalised
    assert tokenizer.decode(tokenizer.encode(text)) == normalised


def test_composed_and_decomposed_accents_get_the_same_ids() -> None:
    assert plain.encode("men\u0161\u00ed") == plain.encode("mens\u030ci\u0301")


def test_a_first_word_gets_the_id_it_has_elsewhere() -> None:
    assert by_hand.encode("ab ab") == [265, 265]


def test_without_byte_fallback_unseen_characters_are_unknown_and_left_out() -> None:
    assert 3 not in bare.encode("Ein Hund läuft.")
    ids = bare.encode("Ein Ωω Hund")
    assert ids.count(3) == 2
    assert bare.decode(ids) == "Ein  Hund"
    assert not any(piece.startswith("<0x") for piece in bare.pieces(range(bare.size)))


def test_a_megabyte_without_a_space_comes_back() -> None:
    for text in ("a" * 1_000_000, "狗" * 333_333, "-" * 1_000_000):
        assert plain.decode(plain.encode(text)) == text


@pytest.mark.parametrize("tokenizer", every_kind)
def test_a_long_text_without_a_space_comes_back(tokenizer: Tokenizer) -> None:
    for text in ("a" * 50_000, "狗" * 50_000, "-" * 50_000):
        assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("tokenizer", [*every_form, *every_kind, bare])
def test_a_saved_tokenizer_loads_as_it_was(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "source.tokenizer.json"
    tokenizer.save(path)
    loaded = Tokenizer.load(path)
    assert loaded.normal_form == tokenizer.normal_form
    assert loaded.special == tokenizer.special
    assert loaded.size == tokenizer.size
    assert loaded.pieces(range(loaded.size)) == tokenizer.pieces(range(loaded.size))
    assert loaded.encode_many(AWKWARD) == tokenizer.encode_many(AWKWARD)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["again.json", path.name]


def test_saving_where_nothing_can_be_written_says_so(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "tokenizer.json"
    with pytest.raises(ModelError, match=r"tokenizer\.json: cannot be written: No such file"):
        plain.save(path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelError, match="folder: cannot be written"):
        plain.save(tmp_path / "folder")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]  # nothing half-written


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"tokenizer\.json: no such file"):
        Tokenizer.load(tmp_path / "tokenizer.json")
    with pytest.raises(ModelError, match="cannot be read"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", b"[1, 2]", b"null", b'{"model": 3}'])
def test_a_file_that_is_no_tokenizer_is_refused(damage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(damage)
    with pytest.raises(ModelError, match=r"tokenizer\.json: not a tokenizer, or damaged"):
        Tokenizer.load(path)


@given(share=st.floats(0, 0.999))
def test_a_file_cut_short_is_refused(
    awkward_file: Path, tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    whole = awkward_file.read_bytes()
    path = tmp_path_factory.mktemp("cut") / "tokenizer.json"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ModelError, match="not a tokenizer, or damaged"):
        Tokenizer.load(path)


def rename(settings: dict[str, Any], old: str, new: str | int) -> None:
    vocabulary = settings["model"]["vocab"]
    number = vocabulary.pop(old)
    vocabulary.update({new: number} if isinstance(new, str) else {old: new})


def let_a_merge_form_the_end_symbol(settings: dict[str, Any]) -> None:
    settings["pre_tokenizer"] = None
    vocabulary = settings["model"]["vocab"]
    for piece in ("</", "s>"):
        vocabulary[piece] = len(vocabulary)
    settings["model"]["merges"] += [["<", "/"], ["s", ">"], ["</", "s>"]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda it: rename(it, "</s>", "[EOS]"), "has no piece </s>"),
        (lambda it: rename(it, "<pad>", 9999), "has ids that are not 0, 1, 2"),
        (lambda it: it.update(normalizer={"type": "Lowercase"}), "changes text in a way"),
        (lambda it: it.update(normalizer=None), "changes text in a way"),
        (let_a_merge_form_the_end_symbol, "turns typed text such as </s> into control ids"),
        (lambda it: it["pre_tokenizer"].update(behavior="Removed"), "gives back ' <pad> "),
        (
            lambda it: it.update(truncation=TRUNCATION),
            "cuts or pads text; set truncation and padding to null",
        ),
    ],
)
def test_a_file_that_breaks_a_promise_is_refused(
    change: Callable[[dict[str, Any]], None], message: str, awkward_file: Path, tmp_path: Path
) -> None:
    settings = json.loads(awkward_file.read_bytes())
    change(settings)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(ModelError, match=rf"tokenizer\.json: {re.escape(message)}"):
        Tokenizer.load(path)


def test_a_file_with_added_tokens_is_refused(awkward_file: Path, tmp_path: Path) -> None:
    library = tokenizers.Tokenizer.from_file(str(awkward_file))
    library.add_special_tokens([AddedToken("</s>", special=True)])
    library.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ModelError, match="has added tokens, which would be found inside"):
        Tokenizer.load(tmp_path / "tokenizer.json")
