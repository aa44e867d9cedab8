import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.errors import ModelError
from dragoman.interop.vocabulary import read_vocabulary
from dragoman.models import ModelConfig
from dragoman.tokenization import SpecialIds
from tests.interop.vocabulary.folders import (
    FAMILIES,
    OLD_PICKLE,
    PICKLE,
    family,
    marian,
    shared,
    write,
)
from tests.tokenization.foreign import KINDS, LINES, settings_of, texts, tokenizer_json

transformers = pytest.importorskip("transformers", reason="needs transformers, which tests have")
SPECIAL = {
    "bert": SpecialIds(padding=0, start=2, end=3, unknown=1),
    "gpt2": SpecialIds(padding=0, start=0, end=0, unknown=0),
    "bart": SpecialIds(padding=1, start=2, end=2, unknown=3),
    "t5": SpecialIds(padding=0, start=0, end=1, unknown=2),
    "mbart": SpecialIds(padding=1, start=2, end=2, unknown=3),
    "llama": SpecialIds(padding=2, start=1, end=2, unknown=0),
    "albert": SpecialIds(padding=0, start=2, end=3, unknown=1),
}


@pytest.fixture(autouse=True)
def _quiet() -> None:
    transformers.logging.set_verbosity_error()


def theirs(folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("name", FAMILIES)
def test_older_files_of_a_family_give_the_ids_of_transformers(name: str, tmp_path: Path) -> None:
    folder = family(name, tmp_path)
    (tokenizer,) = read_vocabulary(folder)
    assert tokenizer.special == SPECIAL[name]
    other = theirs(folder)
    # Taken apart, Hangul stays so there; SentencePiece puts it together again, and so do we.
    lines = LINES[:6] if name == "albert" else LINES
    for line in (*lines, "", "don't , stop !", "a  b"):
        ids = other(line, add_special_tokens=False).input_ids
        assert tokenizer.encode(line) == ids
        assert tokenizer.decode(ids) == other.decode(ids, skip_special_tokens=True)


@pytest.mark.filterwarnings("ignore:Recommended")  # sacremoses, of which nothing is used
@pytest.mark.parametrize("name", [*FAMILIES, "marian"])
def test_what_transformers_saves_is_read(name: str, tmp_path: Path) -> None:
    first, folder = tmp_path / "first", tmp_path / "saved"
    given = marian(first) if name == "marian" else family(name, first)
    theirs(given).save_pretrained(folder)
    (folder / "config.json").write_bytes((given / "config.json").read_bytes())
    tokenizer, other = read_vocabulary(folder)[0], theirs(folder)
    assert tokenizer.special == read_vocabulary(given)[0].special
    for line in (*LINES, "", " a  b ", "\u2028x", "don't , stop !"):
        ids = other(line, add_special_tokens=False, split_special_tokens=True).input_ids
        assert tokenizer.encode(line) == ids
        assert tokenizer.decode(ids) == other.decode(ids, skip_special_tokens=True)


def test_ids_of_a_folder_without_a_file_of_its_own_are_those_of_fairseq(tmp_path: Path) -> None:
    (tokenizer,) = read_vocabulary(family("mbart", tmp_path))
    names = tokenizer.names()
    assert names[:4] == ["<s>", "<pad>", "</s>", "<unk>"]
    codes = theirs(tmp_path).lang_code_to_id
    assert {code: names.index(code) for code in codes} == codes


@pytest.mark.parametrize("name", ["BertForSequenceClassification", "T5ForConditionalGeneration"])
def test_published_folders_give_the_ids_that_were_recorded(name: str) -> None:
    recorded = json.loads(shared("reference-outputs.json").read_text())[f"hf-tiny-{name}"]
    (tokenizer,) = read_vocabulary(shared(f"hf-tiny-{name}"))
    special = tokenizer.special
    for each in recorded:
        ids = [*tokenizer.encode(each["text"]), special.end]
        assert each["input_ids"] == [[special.start, *ids] if "Bert" in name else ids]


def test_a_published_language_model_gives_the_ids_that_were_recorded() -> None:
    name = "hf-tiny-BloomForCausalLM"
    (tokenizer,) = read_vocabulary(shared(name))
    for each in json.loads(shared("reference-outputs.json").read_text())[name]:
        assert each["input_ids"] == [tokenizer.encode(each["text"])]


@given(kind=st.sampled_from(["wordpiece", "byte-level", "byte-fallback"]), text=texts)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_tokenizer_file_gives_the_ids_of_transformers(
    kind: str, text: str, tmp_path: Path
) -> None:
    folder = tmp_path / kind
    if not folder.exists():
        write(folder, {"tokenizer.json": tokenizer_json(kind)})
    other = _loaded(folder)
    (tokenizer,) = read_vocabulary(folder)
    ids = other(text, add_special_tokens=False, split_special_tokens=True).input_ids
    assert tokenizer.encode(text) == ids


_kept: dict[Path, Any] = {}


def _loaded(folder: Path) -> Any:
    if folder not in _kept:
        _kept[folder] = transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json")
        )
    return _kept[folder]


@pytest.mark.filterwarnings("ignore:Recommended")  # sacremoses, of which nothing is used
def test_marian_takes_ids_from_its_list_and_cuts_each_side_in_its_own_way(tmp_path: Path) -> None:
    source, target = read_vocabulary(marian(tmp_path))
    other = theirs(tmp_path)
    assert source.special == target.special == SpecialIds(padding=2, start=2, end=0, unknown=1)
    assert source.languages == {"fra": 3, "cmn_Hans": 4}
    for line in (*LINES, "", "  a  b ", "▁"):
        assert source.encode(line) == other(line, add_special_tokens=False).input_ids
        ids = other(text_target=line, add_special_tokens=False).input_ids
        assert target.encode(line) == ids
        assert target.decode(ids) == other.decode(ids, skip_special_tokens=True)
    assert source.encode("</s>>>fra<< x").count(3) == 0


@pytest.mark.filterwarnings("ignore:Recommended")  # sacremoses, of which nothing is used
def test_marian_with_two_lists_has_two_vocabularies(tmp_path: Path) -> None:
    source, target = read_vocabulary(marian(tmp_path, separate=True))
    assert source.size != target.size
    other = theirs(tmp_path)
    for line in LINES:
        ids = other(text_target=line, add_special_tokens=False).input_ids
        assert target.encode(line) == ids
        assert source.encode(line) == other(line, add_special_tokens=False).input_ids


def test_marian_is_one_tokenizer_when_both_sides_are_cut_alike(tmp_path: Path) -> None:
    folder = marian(tmp_path)
    (folder / "target.spm").write_bytes((folder / "source.spm").read_bytes())
    (tokenizer,) = read_vocabulary(folder)
    assert tokenizer.encode("") == []


def test_the_model_may_have_more_ids_than_there_are_pieces_and_not_fewer(tmp_path: Path) -> None:
    folder = family("t5", tmp_path)
    config = ModelConfig(layers=1, d_model=8, heads=1, d_ff=8, vocabulary=320)
    (tokenizer,) = read_vocabulary(folder, config)
    assert tokenizer.size == 320
    assert tokenizer.names()[-1] == "<unused-id-319>"
    config = ModelConfig(layers=1, d_model=8, heads=1, d_ff=8, vocabulary=90)
    with pytest.raises(ModelError, match=r"spiece.model: .* more than the 90 of its model"):
        read_vocabulary(folder, config)


def _set(file: str, **values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / file
        table = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(table | values))

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            "t5",
            _set("generation_config.json", eos_token_id=2),
            "for end is 1 in config.json",
        ),
        ("t5", _set("tokenizer_config.json", pad_token="</s>"), "padding is 0 in config.json"),
        ("t5", _set("special_tokens_map.json", eos_token={"content": "<pad>"}), "special_tokens_m"),
        ("bart", _set("generation_config.json", decoder_start_token_id=0), "the id for start is 2"),
        ("t5", _set("config.json", eos_token_id="x"), "eos_token_id: 'x' is no id"),
        ("t5", _set("config.json", vocab_size="x"), "vocab_size: 'x' is no number"),
        ("t5", _set("tokenizer_config.json", eos_token=3), "eos_token: 3 is no piece"),
        ("gpt2", _set("added_tokens.json", **{"a": 3}), "added_tokens.json: 'a' has the id 3, but"),
        ("bert", _set("config.json", vocab_size=7), "vocab.txt: has 160 pieces, more than the 7"),
        ("llama", _set("tokenizer_config.json", tokenizer_class="XGLMTokenizer"), "its own way"),
        ("bert", _set("tokenizer_config.json", tokenizer_class="MPNetTokenizer"), "its own way"),
        ("gpt2", _set("tokenizer_config.json", tokenizer_class="CLIPTokenizer"), "its own way"),
        ("gpt2", _set("tokenizer_config.json", auto_map={"AutoTokenizer": ["x"]}), "is a program"),
        ("gpt2", _set("vocab.json", **{"<|x|>": 3}), "vocab.json: two pieces have one id"),
        ("gpt2", _set("vocab.json", **{"<|x|>": -1}), "vocab.json: '<|x|>' has the id -1"),
    ],
)
def test_files_that_disagree_are_refused_by_name(
    name: str, change: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    folder = family(name, tmp_path)
    change(folder)
    with pytest.raises(ModelError, match=message) as refused:
        read_vocabulary(folder)
    assert str(refused.value).startswith(str(folder))


def test_older_files_beside_a_tokenizer_file_must_say_the_same(tmp_path: Path) -> None:
    folder = family("bert", tmp_path)
    (folder / "tokenizer.json").write_text(tokenizer_json("wordpiece"))
    read_vocabulary(folder)
    lines = (folder / "vocab.txt").read_text().split("\n")
    (folder / "vocab.txt").write_text("\n".join([*lines[:5], *lines[6:]]))
    with pytest.raises(ModelError, match=r"vocab.txt: the id of .* is 5, but 6 in tokenizer.json"):
        read_vocabulary(folder)


@pytest.mark.parametrize("name", [*FAMILIES, "marian", "marian-two", *KINDS])
def test_every_file_replaced_by_a_pickle_is_refused_by_name(name: str, tmp_path: Path) -> None:
    if name in KINDS:
        config = {"eos_token_id": 1}
        empty: dict[str, Any] = {"special_tokens_map.json": {}, "added_tokens.json": {}}
        folder = write(
            tmp_path, {"tokenizer.json": settings_of(name), "config.json": config} | empty
        )
    elif name in FAMILIES:
        folder = family(name, tmp_path)
    else:
        folder = marian(tmp_path, separate=name == "marian-two")
    read_vocabulary(folder)
    for file in sorted(folder.iterdir()):
        right = file.read_bytes()
        for poison in (PICKLE, OLD_PICKLE):
            file.write_bytes(poison)
            with pytest.raises(ModelError, match=f"^{folder}.*") as refused:
                read_vocabulary(folder)
            assert file.name in str(refused.value)
        file.write_bytes(right)


@pytest.mark.parametrize("name", [*FAMILIES, "marian"])
def test_a_file_that_is_missing_or_cut_off_is_refused(name: str, tmp_path: Path) -> None:
    folder = marian(tmp_path) if name == "marian" else family(name, tmp_path)
    for file in sorted(folder.iterdir()):
        if file.name in ("config.json", "tokenizer_config.json"):
            continue
        right = file.read_bytes()
        file.write_bytes(right[: len(right) // 2 + 1])
        if file.name not in ("merges.txt", "vocab.txt"):  # of which a half is whole in itself
            with pytest.raises(ModelError, match=f"^{folder}"):
                read_vocabulary(folder)
        file.unlink()
        with pytest.raises(ModelError, match=f"^{folder}"):
            read_vocabulary(folder)
        file.write_bytes(right)


def test_a_folder_without_a_vocabulary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no vocabulary that is known"):
        read_vocabulary(tmp_path)
    with pytest.raises(ModelError, match="no such folder"):
        read_vocabulary(tmp_path / "none")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("normalizer",), {"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        (("normalizer",), {"type": "Precompiled", "precompiled_charsmap": 3}),
        (("normalizer",), {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAD/"}),
        (("decoder",), {"type": "Strip", "content": " ", "start": 0, "stop": 1}),
        (("model", "unk_id"), None),
        (("model", "unk_id"), 10**6),
        (("model", "vocab"), []),
        (("model", "type"), "Other"),
        (("model",), None),
        (("added_tokens",), 3),
    ],
)
def test_damaged_settings_are_refused_before_the_library_sees_them(
    place: tuple[str, ...], value: object, tmp_path: Path
) -> None:
    changed = settings_of("unigram")
    inside: Any = changed
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    folder = write(tmp_path, {"tokenizer.json": changed})
    with pytest.raises(ModelError, match=f"^{folder / 'tokenizer.json'}: "):
        read_vocabulary(folder)


@pytest.mark.parametrize(
    "said", [{"do_lower_case": False}, {"strip_accents": False}, {"tokenize_chinese_chars": False}]
)
def test_text_of_bert_that_is_prepared_in_two_ways_is_refused(
    said: dict[str, object], tmp_path: Path
) -> None:
    names = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a")
    form = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    model = {"type": "WordPiece", "vocab": {name: number for number, name in enumerate(names)}}
    settings = {
        "normalizer": {"type": "BertNormalizer", **form, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": model
        | {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9},
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(settings))
    usual = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(usual))
    assert read_vocabulary(tmp_path)[0].encode("A") == [4]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(usual | said))
    with pytest.raises(ModelError, match=f"{next(iter(said))} is False, but True in"):
        read_vocabulary(tmp_path)
