import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigError, ModelError
from dragoman.tokenization import (
    Imported,
    ImportedTokenizer,
    LatticeSampling,
    SpecialIds,
    SubwordSampler,
    extend_tokenizer,
    load_tokenizer,
    tokenizer_from_json,
    with_languages,
)
from tests.tokenization.foreign import KINDS, LINES, settings_of, texts, tokenizer_json

SPECIAL = {
    "wordpiece": SpecialIds(padding=0, start=2, end=3, unknown=1),
    "byte-level": SpecialIds(padding=0, start=0, end=0, unknown=0),
    "unigram": SpecialIds(padding=0, start=0, end=1, unknown=2),
    "byte-fallback": SpecialIds(padding=0, start=1, end=2, unknown=0),
    "words": SpecialIds(padding=1, start=2, end=3, unknown=0),
}


def imported(kind: str, **more: Any) -> ImportedTokenizer:
    return ImportedTokenizer(settings_of(kind), Imported(special=SPECIAL[kind], **more))


def theirs(kind: str) -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer.from_str(tokenizer_json(kind))
    library.encode_special_tokens = True
    return library


@pytest.mark.parametrize("kind", KINDS)
def test_text_is_cut_and_put_together_as_the_library_does(kind: str) -> None:
    tokenizer, library = imported(kind), theirs(kind)
    for line in (*LINES, "", " ", "a  b ", "\u2028", "Ünï\tx"):
        ids = tokenizer.encode(line)
        assert ids == library.encode(line, add_special_tokens=False).ids
        assert tokenizer.decode(ids) == library.decode(ids, skip_special_tokens=True)
    assert tokenizer.encode_many(LINES) == [tokenizer.encode(line) for line in LINES]


@given(kind=st.sampled_from(KINDS), text=texts)
def test_no_text_gives_a_control_id(kind: str, text: str) -> None:
    tokenizer = imported(kind)
    unknown = {tokenizer.special.unknown} - {
        tokenizer.special.padding,
        tokenizer.special.start,
        tokenizer.special.end,
    }
    ids = tokenizer.encode(text)
    assert not {*ids} & ({*tokenizer.controls.values()} - unknown)
    assert len(tokenizer.spans(text)) == len(ids)
    assert all(0 <= first <= last <= len(text) for first, last in tokenizer.spans(text))


@given(kind=st.sampled_from(KINDS), text=texts)
def test_pieces_spell_what_decode_gives(kind: str, text: str) -> None:
    tokenizer = imported(kind)
    spelled = tokenizer.piece_bytes()
    ids = tokenizer.encode(text)
    whole = b"".join(spelled[number] for number in ids).decode("utf-8", "replace")
    decoded = tokenizer.decode(ids)
    if kind == "wordpiece":  # its decoder takes out spaces before punctuation
        whole, decoded = whole.replace(" ", ""), decoded.replace(" ", "")
    assert whole.removeprefix(tokenizer.lead) == decoded


@pytest.mark.parametrize("kind", KINDS)
def test_saving_and_loading_keeps_every_fact(kind: str, tmp_path: Path) -> None:
    size = imported(kind).size
    tokenizer = imported(kind, size=size + 3, controls=(9,), languages={"de": 9}, tidy=True)
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = load_tokenizer(tmp_path / "tokenizer.json")
    assert isinstance(loaded, ImportedTokenizer)
    assert loaded.imported == tokenizer.imported
    assert loaded.to_json() == tokenizer.to_json()
    assert loaded.controls == tokenizer.controls
    assert loaded.size == size + 3
    assert loaded.names()[-1] == f"<unused-id-{size + 2}>"


def test_others_read_the_file_that_is_saved(tmp_path: Path) -> None:
    imported("unigram").save(tmp_path / "tokenizer.json")
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for line in LINES:
        assert library.encode(line, add_special_tokens=False).ids == imported("unigram").encode(
            line
        )


def test_ids_of_another_list_are_looked_up_by_piece() -> None:
    settings = settings_of("words")
    names = ("</s>", "<unk>", "<pad>", "river", "The", "old")
    special = SpecialIds(padding=2, start=2, end=0, unknown=1)
    tokenizer = ImportedTokenizer(settings, Imported(special=special, names=names))
    assert tokenizer.encode("The old river </s> man") == [4, 5, 3, 1, 1]
    assert tokenizer.encode_many(["The old river", "old man"]) == [[4, 5, 3], [5, 1]]
    assert tokenizer.decode([2, 4, 5, 1, 3, 0]) == "The old river"
    assert tokenizer.names() == list(names)
    again = tokenizer_from_json(tokenizer.to_json())
    assert again.encode("old The") == [5, 4]


def test_what_has_no_piece_is_left_out_where_nothing_is_called_unknown() -> None:
    names = ("</s>", "river", "The")
    special = SpecialIds(padding=0, start=0, end=0, unknown=0)
    tokenizer = ImportedTokenizer(settings_of("words"), Imported(special=special, names=names))
    assert tokenizer.encode("The old river") == [2, 1]
    assert tokenizer.spans("The old river") == [(0, 3), (8, 13)]


def test_it_says_that_text_does_not_always_come_back() -> None:
    tokenizer = imported("wordpiece")
    assert not tokenizer.lossless
    assert tokenizer.decode(tokenizer.encode("The  OLD man")) == "the old man"
    assert tokenizer.normalize("The OLD") == "the old"
    assert tokenizer.pieces(tokenizer.encode("the")) in ([" the"], [" t", "he"], [" th", "e"])


def test_choosing_the_next_piece_never_bans_the_end() -> None:
    assert SpecialIds().banned == (0, 1, 3)
    assert SpecialIds(padding=0, start=2, end=2, unknown=3).banned == (0, 3)
    assert SpecialIds(padding=0, start=0, end=1, unknown=1).banned == (0,)


def test_ids_outside_the_vocabulary_are_refused() -> None:
    tokenizer = imported("wordpiece")
    for number in (-1, tokenizer.size):
        with pytest.raises(ValueError, match=f"id {number} is outside"):
            tokenizer.decode([number])
    special = SpecialIds(padding=0, start=2, end=9999, unknown=1)
    with pytest.raises(ModelError, match="no id 9999"):
        ImportedTokenizer(settings_of("wordpiece"), Imported(special=special))
    with pytest.raises(ModelError, match="more than the 7 of its model"):
        imported("wordpiece", size=7)


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_surrogate_pair_is_refused(kind: str) -> None:
    for call in (imported(kind).encode, imported(kind).normalize, imported(kind).cut):
        with pytest.raises(ValueError, match="surrogate"):
            call("a\ud800")
    with pytest.raises(ValueError, match="text 1: character 1 is U\\+D800"):
        imported(kind).encode_many(["a", "b\ud800"])


def test_an_imported_vocabulary_does_not_change() -> None:
    tokenizer = imported("unigram", languages={"de": 5})
    with pytest.raises(ConfigError, match="cannot grow"):
        extend_tokenizer(tokenizer, ["text"], 5)
    with pytest.raises(ConfigError, match="its languages are: de"):
        with_languages(tokenizer, ["fr"])
    assert with_languages(tokenizer, ["de"]) is tokenizer
    with pytest.raises(ConfigError, match="not cut by chance"):
        SubwordSampler(tokenizer, LatticeSampling())


def test_damaged_files_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    imported("unigram").save(file)
    whole = json.loads(file.read_text())
    del whole["model"]["dragoman"]["special"]
    for content in (b"\x80\x04N.", b"{}", b"[]", b'{"model": 3}', json.dumps(whole).encode()):
        file.write_bytes(content)
        with pytest.raises(ModelError, match=f"^{file}: "):
            load_tokenizer(file)


def test_two_ids_of_one_piece_and_ids_far_away_are_refused() -> None:
    for changed, message in (
        ({"id": 7, "content": "<pad>", "special": True}, "two ids for '<pad>'"),
        ({"id": 10**9, "content": "<far>", "special": True}, "far beyond"),
    ):
        settings = settings_of("words")
        settings["added_tokens"] = [{**settings["added_tokens"][0], **changed}]
        with pytest.raises(ModelError, match=message):
            ImportedTokenizer(settings, Imported(special=SPECIAL["words"]))
