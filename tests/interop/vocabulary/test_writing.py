import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigError, ModelError
from dragoman.interop.vocabulary import (
    TARGET_FOLDER,
    read_vocabulary,
    tokenizer_of_pieces,
    vocabulary_lines,
    write_vocabulary,
)
from dragoman.tokenization import (
    Imported,
    ImportedTokenizer,
    SpecialIds,
    Tokenizer,
    TokenizerConfig,
    learn_tokenizer,
    with_languages,
)
from tests.interop.vocabulary.folders import PICKLE, marian, write
from tests.tokenization.foreign import LINES, settings_of, texts

transformers = pytest.importorskip("transformers", reason="needs transformers, which tests have")
KINDS = ("bpe", "unigram", "wordpiece", "character", "word")
TYPES = ("marian", "bart", "t5", "gpt2", "llama", "bloom", "bert")


@cache
def learnt(kind: Any) -> Tokenizer:
    config = TokenizerConfig(kind=kind, size=420, byte_fallback=kind != "unigram")
    return with_languages(learn_tokenizer(LINES * 4, config), ["de", "pt-BR"])


@cache
def written(kind: str, folder: Path) -> Any:
    (folder / kind).mkdir()
    write_vocabulary(folder / kind, [learnt(kind)])
    return transformers.AutoTokenizer.from_pretrained(folder / kind)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@given(kind=st.sampled_from(KINDS), text=texts)
def test_transformers_gives_the_same_ids_and_the_text_back(
    kind: str, text: str, folder: Path
) -> None:
    ours, theirs = learnt(kind), written(kind, folder)
    ids = theirs(text).input_ids
    assert ids == [*ours.encode(text), ours.special.end]
    assert theirs.decode(ids, skip_special_tokens=True) == ours.decode(ids)


def test_special_symbols_are_known_by_their_ids(folder: Path) -> None:
    theirs = written("bpe", folder)
    ours = learnt("bpe")
    found = (theirs.pad_token_id, theirs.bos_token_id, theirs.eos_token_id, theirs.unk_token_id)
    assert found == (0, 1, 2, 3)
    assert len(theirs) == ours.size
    tags = theirs.convert_tokens_to_ids(["<2de>", "<2pt-BR>"])
    assert tags == [ours.languages["de"], ours.languages["pt-BR"]]


@pytest.mark.parametrize("model_type", TYPES)
def test_every_family_loads_it_as_it_is(model_type: str, tmp_path: Path) -> None:
    ours = learnt("bpe")
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = {"model_type": model_type, "vocab_size": ours.size, **special}
    folder = write(tmp_path, {"config.json": config})
    reads = model_type == "bert"
    write_vocabulary(folder, [ours], before=[1] if reads else [], reads=reads, longest=512)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert theirs.model_max_length == 512
    types = {"token_type_ids"} if reads else set[str]()
    assert {*theirs("a")} == {"input_ids", "attention_mask"} | types
    for line in (*LINES, "", "</s> <2de>", "\u2028 x"):
        assert theirs(line).input_ids == [*[1] * reads, *ours.encode(line), 2]
    pair = theirs("a", "b").input_ids
    assert pair == [*[1] * reads, *ours.encode("a"), 2, *ours.encode("b"), 2]
    if reads:
        names = theirs.cls_token, theirs.sep_token, theirs.mask_token
        assert names == ("<s>", "</s>", "<unk>")


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_written_is_read_as_the_same_tokenizer(kind: str, tmp_path: Path) -> None:
    write_vocabulary(tmp_path, [learnt(kind)])
    (back,) = read_vocabulary(tmp_path)
    assert back.to_json() == learnt(kind).to_json()
    assert back.lossless


def test_two_vocabularies_have_two_folders(tmp_path: Path) -> None:
    write_vocabulary(tmp_path, [learnt("bpe"), learnt("word")])
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / TARGET_FOLDER)
    assert theirs("a book").input_ids == [*learnt("word").encode("a book"), 2]
    source, target = read_vocabulary(tmp_path)
    assert source.to_json() == learnt("bpe").to_json()
    assert target.to_json() == learnt("word").to_json()


def _imported(kind: str, special: SpecialIds) -> ImportedTokenizer:
    return ImportedTokenizer(settings_of(kind), Imported(special=special))


IMPORTED = {
    "wordpiece": SpecialIds(padding=0, start=2, end=3, unknown=1),
    "byte-level": SpecialIds(padding=0, start=0, end=0, unknown=0),
    "unigram": SpecialIds(padding=0, start=0, end=1, unknown=2),
    "byte-fallback": SpecialIds(padding=2, start=1, end=2, unknown=0),
}


@pytest.mark.parametrize("kind", IMPORTED)
def test_imported_vocabularies_are_written_back(kind: str, tmp_path: Path) -> None:
    ours = _imported(kind, IMPORTED[kind])
    reads = kind == "wordpiece"
    write_vocabulary(tmp_path, [ours], before=[2] if reads else [], reads=reads)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for line in (*LINES, "", "  a  b "):
        ids = theirs(line).input_ids
        assert ids == [*[2] * reads, *ours.encode(line), ours.special.end]
        assert theirs.decode(ids, skip_special_tokens=True) == ours.decode(ids)
    if reads:
        assert (theirs.cls_token, theirs.sep_token, theirs.mask_token) == (
            "[CLS]",
            "[SEP]",
            "[MASK]",
        )
    (back,) = read_vocabulary(tmp_path)
    assert isinstance(back, ImportedTokenizer)
    assert back.imported == ours.imported
    for line in LINES:
        assert back.encode(line) == ours.encode(line)


def test_a_card_says_whether_text_comes_back() -> None:
    (line,) = vocabulary_lines([learnt("bpe")])
    assert line == (
        "- vocabulary: 422 pieces; padding `<pad>` (0), start `<s>` (1), end `</s>` (2), "
        "unknown `<unk>` (3); lossless up to the form NFC"
    )
    lines = vocabulary_lines([_imported("unigram", IMPORTED["unigram"]), learnt("word")])
    assert lines[0].startswith("- source vocabulary: ")
    assert "start `<pad>` (0), end `</s>` (1)" in lines[0]
    assert "text does not always come back" in lines[0]
    assert lines[1].startswith("- target vocabulary: ")


def test_ids_of_a_list_have_no_place_in_the_format(tmp_path: Path) -> None:
    listed = tokenizer_of_pieces(["<pad>", "<s>", "</s>", "<unk>", "a"], SpecialIds())
    with pytest.raises(ConfigError, match="tokenizer: its ids are those of a list"):
        write_vocabulary(tmp_path, [listed])
    assert not [*tmp_path.iterdir()]


@pytest.mark.filterwarnings("ignore:Recommended")  # sacremoses, of which nothing is used
@pytest.mark.parametrize("separate", [False, True])
def test_vocabularies_of_marian_become_its_files_again(separate: bool, tmp_path: Path) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    marian(first, separate=separate)
    given = read_vocabulary(first)
    again.mkdir()
    (again / "config.json").write_bytes((first / "config.json").read_bytes())
    write_vocabulary(again, given, longest=512)
    read = read_vocabulary(again)
    assert [each.to_json() for each in read] == [each.to_json() for each in given]
    theirs = transformers.AutoTokenizer.from_pretrained(again)
    assert theirs.model_max_length == 512
    for line in (*LINES, "", " a  b "):
        assert theirs(line).input_ids == [*given[0].encode(line), 0]
        assert theirs(text_target=line).input_ids == [*given[1].encode(line), 0]
    with pytest.raises(ConfigError, match="puts the end symbol behind text, and nothing else"):
        write_vocabulary(again, given, before=[3])


def test_a_written_folder_that_was_changed_is_refused(tmp_path: Path) -> None:
    write_vocabulary(tmp_path, [learnt("bpe")])
    for config, message in (
        ({"vocab_size": 7}, "has 422 pieces, and its model 7 ids"),
        ({"pad_token_id": 7}, "has the id 0 where config.json, pad_token_id says 7"),
    ):
        (tmp_path / "config.json").write_text(json.dumps(config))
        with pytest.raises(ModelError, match=f"^{tmp_path / 'tokenizer.json'}: {message}"):
            read_vocabulary(tmp_path)
    (tmp_path / "config.json").unlink()
    for file in sorted(tmp_path.iterdir()):
        right = file.read_bytes()
        file.write_bytes(PICKLE)
        with pytest.raises(ModelError, match=f"^{file}: "):
            read_vocabulary(tmp_path)
        file.write_bytes(right)
