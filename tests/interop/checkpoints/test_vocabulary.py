"""Lists of pieces with their own ids, and each way to cut text."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ConfigError, ModelError
from dragoman.interop.checkpoints import Asked, read_checkpoint
from dragoman.interop.checkpoints.lists import fairseq_texts, joeynmt_texts
from dragoman.interop.checkpoints.vocabulary import Cut, Listed, make_tokenizer, special_of
from dragoman.tokenization import ImportedTokenizer
from tests.interop.checkpoints.making import write, yaml_lines

SPECIAL = ("<unk>", "<pad>", "<s>", "</s>")
# As subword-nmt learns them; "l o w</w>" joins in two steps, "new" in two of which one is no piece.
MERGES = "#version: 0.2\nl o\nlo w</w>\nn e\nne w\ne r</w>\n"
MULTI30K = Path(__file__).parents[3].parent / "shared/data/pretrained/sentencepiece"


def listed(*pieces: str) -> Listed:
    names = (*SPECIAL, *pieces)
    wanted = ("<pad>", "<s>", "</s>", "<unk>")
    return Listed(names=names, special=special_of(names, Path("list"), wanted=wanted))


def tokenizer(cut: Cut | Path, *pieces: str) -> ImportedTokenizer:
    return make_tokenizer(listed(*pieces), cut)


def test_pieces_stand_between_spaces_and_come_back_as_words() -> None:
    made = tokenizer("pieces", "the", "cat", "sa@@", "t")
    assert made.encode("the  cat sa@@ t dog") == [4, 5, 6, 7, 0]
    assert made.decode([4, 5, 6, 7]) == "the cat sat"


def test_no_way_to_cut_gives_a_control_id() -> None:
    for cut in ("pieces", "characters", "longest", "smiles"):
        made = tokenizer(cut, "<", "s", ">", "▁")
        assert {1, 2, 3}.isdisjoint(made.encode("<s> </s> <pad> <unk><s>")), cut


def test_characters_of_joeynmt_write_a_space_as_a_bar() -> None:
    made = tokenizer("characters", "▁", "a", "b")
    assert made.encode("a bx") == [5, 4, 6, 0]
    assert made.decode([5, 4, 6]) == "a b"


def test_characters_may_have_a_space_of_their_own() -> None:
    made = tokenizer("characters", " ", "a", "b")
    assert made.encode("a b") == [5, 4, 6]
    assert made.decode([5, 4, 6]) == "a b"


def test_merges_of_subword_nmt_cut_as_it_does(tmp_path: Path) -> None:
    # By hand, as apply_bpe does: "low" is l o w</w> -> lo w</w> -> low</w>; "lower" is
    # l o w e r</w> -> lo w e r</w> -> lo w er</w>; "newer" is ne w er</w> -> new er</w>, and
    # new@@ is in no list, so that it is unknown; "x" is a character of no merge.
    codes = tmp_path / "codes"
    codes.write_text(MERGES)
    made = tokenizer(codes, "lo@@", "low", "w@@", "er", "ne", "x@@")
    assert made.encode("low lower") == [5, 4, 6, 7]
    assert made.encode("newer xer") == [0, 7, 9, 7]
    assert made.decode([5, 4, 6, 7]) == "low lower"
    assert made.encode("") == []


def test_merges_of_fastbpe_are_counted(tmp_path: Path) -> None:
    codes = tmp_path / "bpecodes"
    codes.write_text("l o 90\nlo w</w> 80\n")
    assert tokenizer(codes, "low").encode("low") == [4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("#version: 0.1\na b\n", "version 0.1 is not read"),
        ("a b\n", "is of version 0.1, which is not read"),
        ("", "holds no codes"),
        ("#version: 0.2\na b c d\n", "line 2: 'a b c d' is no pair of pieces"),
    ],
)
def test_a_file_of_no_merges_is_refused(content: str, message: str, tmp_path: Path) -> None:
    codes = tmp_path / "codes"
    codes.write_text(content)
    with pytest.raises(ModelError, match=message) as caught:
        tokenizer(codes, "a")
    assert str(codes) in str(caught.value)


@pytest.mark.skipif(not MULTI30K.is_dir(), reason="needs ../shared/data/pretrained")
def test_a_sentencepiece_model_cuts_and_the_list_says_ids() -> None:
    sentencepiece: Any = pytest.importorskip("sentencepiece", reason="needs sentencepiece")
    path = MULTI30K / "joeynmt-sp200.deen.model"
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = [processor.id_to_piece(number) for number in range(processor.get_piece_size())]
    pieces = [piece for piece in sorted(pieces) if piece not in SPECIAL]
    made = tokenizer(path, *pieces[:-20])  # some pieces have no id, as in a list that was cut
    ids = {piece: number for number, piece in enumerate((*SPECIAL, *pieces[:-20]))}
    unseen = 0
    for text in ("ein mann spielt gitarre .", "two dogs, one ball", "", "  é 漢字 </s> ▁"):
        found = processor.encode(text, out_type=str)
        assert made.encode(text) == [ids.get(p, 0) if p not in SPECIAL else 0 for p in found]
        unseen += made.encode(text).count(0)
    assert unseen
    assert made.decode(made.encode("ein mann")) == "ein mann"


def test_a_dictionary_of_fairseq_begins_with_four_pieces_that_it_does_not_name(
    tmp_path: Path,
) -> None:
    (tmp_path / "dict.de.txt").write_text("the@@ 99\n# 3\nmadeupword0000 0\n")
    said = {"source_lang": "de", "target_lang": "de"}
    source, target = fairseq_texts(said, tmp_path / "model.pt", Asked())
    assert source.listed == target.listed
    assert source.listed.names[:6] == ("<s>", "<pad>", "</s>", "<unk>", "the@@", "#")
    special = source.listed.special
    # Targets begin with the end symbol there, and <s> is in no text.
    assert (special.padding, special.start, special.end, special.unknown) == (1, 2, 2, 3)
    assert source.listed.controls == (0,)
    assert source.tokenizer().encode("the@@ <s> # word") == [4, 3, 5, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("the", "line 2: 'the' is not a piece and its count"),
        ("the many", "line 2: 'the many' is not a piece and its count"),
        ("the 5 #fairseq:overwrite", "is not a piece and its count; give the dict.LANGUAGE.txt"),
        ("a 3", "has the piece 'a' twice"),
        ("<pad> 3", "has the piece '<pad>' twice"),
    ],
)
def test_a_dictionary_that_is_none_is_refused(line: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "dict.de.txt"
    file.write_text(f"a 4\n{line}\n")
    said = {"source_lang": "de", "target_lang": "de"}
    with pytest.raises(ModelError, match=message) as caught:
        fairseq_texts(said, tmp_path / "model.pt", Asked())
    assert str(file) in str(caught.value)


def test_the_list_of_joeynmt_may_name_its_symbols_and_tags_of_languages(tmp_path: Path) -> None:
    for side in ("src", "trg"):
        (tmp_path / f"{side}_vocab.txt").write_text("[U]\n[P]\n[B]\n[E]\n<de>\na\n")
    symbols = {"unk_token": "[U]", "pad_token": "[P]", "bos_token": "[B]", "eos_token": "[E]"}
    data: dict[str, Any] = {"src": {"level": "word"}, "trg": {"level": "word"}}
    data["special_symbols"] = {**symbols, "lang_tags": ["<de>"]}
    source, _ = joeynmt_texts({"data": data}, tmp_path / "1.ckpt", Asked())
    special = source.listed.special
    assert (special.unknown, special.padding, special.start, special.end) == (0, 1, 2, 3)
    assert source.listed.controls == (4,)
    assert source.tokenizer().encode("a <de> [B]") == [5, 0, 0]


def joeynmt(folder: Path, source: dict[str, Any], **data: Any) -> Any:
    for side in ("src", "trg"):
        (folder / f"{side}_vocab.txt").write_text("\n".join((*SPECIAL, "a", "lo@@", "low", "▁")))
    table = {"src": source, "trg": {"level": "word"}, **data}
    return joeynmt_texts({"data": table}, folder / "1.ckpt", Asked())[0]


def test_the_ways_of_joeynmt_to_cut_text(tmp_path: Path) -> None:
    codes = tmp_path / "codes.bpe"
    codes.write_text(MERGES)
    own = {"codes": "/where/it/was/trained/codes.bpe"}
    assert joeynmt(tmp_path, {"level": "bpe", "tokenizer_cfg": own}).cut == codes
    assert joeynmt(tmp_path, {"level": "char"}).cut == "characters"
    assert joeynmt(tmp_path, {"level": "word"}).cut == "pieces"
    with pytest.raises(ConfigError, match=r"other.bpe: no such file; put it there, or give --tok"):
        joeynmt(tmp_path, {"level": "bpe", "tokenizer_cfg": {"codes": "other.bpe"}})
    with pytest.raises(
        ConfigError, match=r"data.src: level: 'bpe' names no file; give --tokenizer"
    ):
        joeynmt(tmp_path, {"level": "bpe"})
    with pytest.raises(ConfigError, match="pretokenizer: 'moses' is not applied here; cut text by"):
        joeynmt(tmp_path, {"level": "bpe", "tokenizer_cfg": {**own, "pretokenizer": "moses"}})


def test_before_its_second_release_subwords_of_joeynmt_came_from_outside(tmp_path: Path) -> None:
    for side in ("src", "trg"):
        (tmp_path / f"{side}_vocab.txt").write_text("\n".join((*SPECIAL, "lo@@", "w")))
    data = {"src": "de", "trg": "en", "level": "bpe", "lowercase": False}
    source, _ = joeynmt_texts({"data": data}, tmp_path / "1.ckpt", Asked())
    assert source.tokenizer().encode("lo@@ w") == [4, 5]


def test_joeynmt_normalizes_and_lowers_text_first(tmp_path: Path) -> None:
    # By hand, as its helpers read: NFKC, plain quotes, one space, none before a full stop.
    source = joeynmt(tmp_path, {"level": "char", "normalize": True, "lowercase": True})
    assert source.tokenizer().normalize(" Ａ  \u201cB\u201d\u200b’s .") == 'a "b"\'s.'


def test_what_whoever_imports_says_of_text_wins(tmp_path: Path) -> None:
    write(tmp_path, "joeynmt", "post")
    codes = tmp_path / "codes"
    codes.write_text(MERGES)
    bundle = read_checkpoint(tmp_path, asked=Asked(tokenizer=(codes,)))
    assert bundle.source_tokenizer.cut("e1 e2") == ["e1", "e2"]
    assert bundle.source_tokenizer.encode("e1 e2") == [0, 0, 0, 0]  # letters, which are no pieces
    bundle = read_checkpoint(tmp_path, asked=Asked(cut="characters"))
    assert bundle.source_tokenizer.encode("e1") == [0, 0]


def test_lists_that_do_not_fit_the_tables_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "fairseq", "joint")
    other = tmp_path / "dict.en.txt"
    good = other.read_text()
    other.write_text(good.replace("e3 7", "x3 7"))
    with pytest.raises(ModelError, match=r"dict.en.txt: has other pieces than .*dict.de.txt"):
        read_checkpoint(path)
    other.write_text(good + "x 1\n")
    with pytest.raises(ModelError, match=r"dict.en.txt: has 13 pieces, and the table of the chec"):
        read_checkpoint(path)


def test_sides_that_pad_by_different_ids_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "joeynmt", "post")
    target = tmp_path / "trg_vocab.txt"
    lines = target.read_text().split("\n")
    target.write_text("\n".join([lines[1], lines[0], *lines[2:]]))
    with pytest.raises(ModelError, match="the padding piece is 1 in sources and 0 in targets"):
        read_checkpoint(tmp_path)


def test_sources_end_with_the_end_symbol_of_their_own_list(tmp_path: Path) -> None:
    write(tmp_path, "joeynmt", "post")
    source = tmp_path / "src_vocab.txt"
    lines = source.read_text().split("\n")
    source.write_text("\n".join([*lines[:2], lines[3], lines[2], *lines[4:]]))
    bundle = read_checkpoint(tmp_path)
    assert (bundle.frame.source_after, bundle.frame.target_before) == ((2,), (2,))
    assert bundle.target_tokenizer.special.end == 3


def test_settings_beside_the_checkpoint_are_read_as_users_write_them(tmp_path: Path) -> None:
    assert yaml_lines({"a": {"b": True}}) == ["a:", "    b: true"]
    write(tmp_path, "joeynmt", "post")
    (tmp_path / "config.yaml").unlink()
    with pytest.raises(
        ModelError, match=r"config.yaml: no such file; JoeyNMT keeps it beside 3.ck"
    ):
        read_checkpoint(tmp_path)
