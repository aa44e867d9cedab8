"""Vocabularies of others, beside the libraries that made them."""

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, trainers

from dragoman.errors import ConfigError, ModelError
from dragoman.tokenization import (
    LatticeSampling,
    MergeDropout,
    SubwordSampler,
    TargetTokenizer,
    Tokenizer,
    TokenizerConfig,
    extend_tokenizer,
    learn_tokenizer,
    learn_tokenizers,
    pair_draws,
    read_existing,
)
from dragoman.tokenization.byte_level import from_byte_characters, to_byte_characters
from tests.tokenization.sentencepiece_models import NAMES, model_file, processor
from tests.tokenization.test_sentencepiece_model import field, piece

LINES = ("The old dog walks.", "Two dogs play, and an old man reads.", "Ein Hund läuft.") * 9
AWKWARD = (
    *("</s>", "<pad>", "<unk>", "<s>", "<0x41>", "<b>", "</b>", "▁", "Ġ", "  ", "\n", "\t", "ﬁ"),
    *("mens\u030c", "狗", "👩‍👩‍👧", "\u0338", "\ufeff", "\x00", "The old dog"),
)
texts = st.lists(st.text(max_size=6) | st.sampled_from(AWKWARD)).map("".join)


def read(name: str, **choices: Any) -> Tokenizer:
    return read_existing(model_file(name), TokenizerConfig(**choices))


def over_bytes(path: Path, *, add_prefix_space: bool = False) -> tokenizers.Tokenizer:
    """Learn as GPT-2 did."""
    library = tokenizers.Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "</s>", "<pad>", "[MASK]"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()[:200],  # not all
        show_progress=False,
    )
    library.train_from_iterator(LINES, trainer)
    library.save(str(path))
    return library


def metaspaced(path: Path) -> tokenizers.Tokenizer:
    """Write a vocabulary as T5 has it."""
    scores = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), ("▁The", -3.0)]
    scores += [("▁old", -3.5), ("d", -4.0), ("o", -4.1), ("g", -4.2), ("▁do", -3.9), ("T", -5.0)]
    library = tokenizers.Tokenizer(models.Unigram(scores, 2, False))
    library.normalizer = normalizers.Sequence([normalizers.NFKC()])
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.decoder = decoders.Metaspace()
    library.add_special_tokens([AddedToken(each, special=True) for each in ("<pad>", "</s>")])
    library.add_tokens([AddedToken("<extra>")])
    library.save(str(path))
    return library


@pytest.fixture(scope="module")
def of_every_kind(tmp_path_factory: pytest.TempPathFactory) -> list[Tokenizer]:
    folder = tmp_path_factory.mktemp("files")
    over_bytes(folder / "bytes.json")
    over_bytes(folder / "spaced.json", add_prefix_space=True)
    metaspaced(folder / "spaces.json")
    config = TokenizerConfig(pieces=("dog", "{0}"))
    names = ("bytes.json", "spaced.json", "spaces.json")
    paths = [*(folder / name for name in names), model_file("unigram"), model_file("bpe")]
    return [read_existing(path, each) for path in paths for each in (config, TokenizerConfig())]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "text",
    [
        *("The old dog walks.", "walking and talking", "A man, a book.", "", "parks"),
        *("the <b>dog</b> runs", "<b><b>", "a young man reads in the house by the river"),
    ],
)
def test_text_is_cut_as_sentencepiece_cuts_it(name: str, text: str) -> None:
    tokenizer = read(name)
    expected = [each.replace("▁", " ") for each in processor(name).encode(text, out_type=str)]
    assert tokenizer.pieces(tokenizer.encode(text)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_what_sentencepiece_does_not_know_becomes_bytes(name: str) -> None:
    tokenizer = read(name)
    spelled = tokenizer.pieces(tokenizer.encode("Ω"))
    assert spelled == [" ", "<0xCE>", "<0xA9>"]  # its UTF-8


@given(text=texts)
def test_text_comes_back_and_control_ids_never_do(
    of_every_kind: list[Tokenizer], text: str
) -> None:
    for tokenizer in of_every_kind:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == tokenizer.normalize(text)
        assert not {0, 1, 2, 3} & {*ids}


@given(text=texts)
def test_sampling_gives_text_back_too(of_every_kind: list[Tokenizer], text: str) -> None:
    for tokenizer in of_every_kind:
        merging = json.loads(tokenizer.to_json())["model"]["type"] == "BPE"
        choice = MergeDropout(chance=0.4) if merging else LatticeSampling(sharpness=0.1)
        sampler = SubwordSampler(tokenizer, choice)
        ids = sampler.encode(text, pair_draws(1, 1, 1))
        assert tokenizer.decode(ids) == tokenizer.normalize(text)
        assert not {0, 1, 2, 3} & {*ids}


def test_our_symbols_come_first_and_those_of_the_file_go() -> None:
    tokenizer = read("unigram")
    assert tokenizer.pieces(range(4)) == ["<pad>", "<s>", "</s>", "<unk>"]
    assert tokenizer.pieces([4, 259, 260, 261, 262]) == ["<0x00>", "<0xFF>", "<b>", "</b>", " "]
    # Of those in the file <unk>, <s> and </s> go, and 4 and 256 of ours come.
    assert tokenizer.size == len(processor("unigram")) - 3 + 260
    assert read("unigram", byte_fallback=False).size == len(processor("unigram")) - 3 + 4


def test_pieces_of_the_user_come_beside_those_of_the_file() -> None:
    tokenizer = read("bpe", pieces=("dog",))
    assert tokenizer.pieces(tokenizer.encode("the dogs <b>"))[1:] == [" ", "dog", "s", " ", "<b>"]


def test_a_saved_one_is_read_as_it_is(of_every_kind: list[Tokenizer], tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    for tokenizer in of_every_kind:
        tokenizer.save(path)
        for again in (Tokenizer.load(path), read_existing(path, TokenizerConfig())):
            assert again.to_json() == tokenizer.to_json()
            assert again.encode_many(AWKWARD) == tokenizer.encode_many(AWKWARD)


@given(text=st.text() | st.sampled_from(["The old dog", "läuft, 狗", "  a  "]))
def test_bytes_are_cut_as_the_library_cuts_them(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.mktemp("bytes") / "tokenizer.json"
    library = over_bytes_once(path)
    ours = read_existing(path, TokenizerConfig())
    expected = [from_byte_characters(each).decode("utf-8", "replace") for each in library(text)]
    if "<" not in text and sum(map(len, library(text))) == len(text.encode()):  # none left out
        assert ours.pieces(ours.encode(text)) == expected


_bytes_file: list[tuple[bytes, tokenizers.Tokenizer]] = []


def over_bytes_once(path: Path) -> Any:
    if not _bytes_file:
        library = over_bytes(path)
        _bytes_file.append((path.read_bytes(), library))
    content, library = _bytes_file[0]
    path.write_bytes(content)
    return lambda text: library.encode(text).tokens


def test_spaces_are_cut_as_the_library_cuts_them(tmp_path: Path) -> None:
    library = metaspaced(tmp_path / "tokenizer.json")
    ours = read_existing(tmp_path / "tokenizer.json", TokenizerConfig())
    for text in ("The old dog", "dog", "dogged old god"):
        found = [each for each in ours.pieces(ours.encode(text)) if not each.startswith("<0x")]
        expected = [each.replace("▁", " ") for each in library.encode(text).tokens]
        assert found == [each for each in expected if each not in ("e", "<unk>")]
    assert ours.pieces(ours.encode("a<extra>"))[-1] == "<extra>"  # an added piece, as it says
    assert ours.normal_form == "NFKC"


def test_byte_characters_are_those_of_gpt2() -> None:
    # From its encoder.json.
    assert to_byte_characters(" é\n") == "ĠÃ©Ċ"
    assert from_byte_characters("ĠÃ©Ċ") == " é\n".encode()
    with pytest.raises(ValueError, match="'狗' stands for no byte"):
        from_byte_characters("狗")


def test_a_recipe_names_the_file() -> None:
    config = TokenizerConfig(file=model_file("bpe"))
    source, target = learn_tokenizers(["not"], ["read"], config)
    assert source is target
    assert source.to_json() == read("bpe").to_json()
    config = TokenizerConfig(target=TargetTokenizer(file=model_file("unigram")), size=300)
    source, target = learn_tokenizers([*LINES], ["not read"], config)
    assert source.size <= 300
    assert target.to_json() == read("unigram").to_json()
    config = TokenizerConfig(file=model_file("bpe"), target=TargetTokenizer(size=300))
    assert config.of_target().file is None
    alone = learn_tokenizer(["x"], TokenizerConfig(file=model_file("bpe")))
    assert alone.to_json() == read("bpe").to_json()


def test_a_vocabulary_of_sentencepiece_can_grow_and_one_over_bytes_not(tmp_path: Path) -> None:
    old = read("bpe")
    new = extend_tokenizer(old, ["Zebra Zebras"] * 5, 4)
    assert old.size < new.size
    assert new.encode("The old dog") == old.encode("The old dog")
    over_bytes(tmp_path / "tokenizer.json")
    with pytest.raises(ConfigError, match="extend: a vocabulary over bytes cannot grow here"):
        extend_tokenizer(read_existing(tmp_path / "tokenizer.json", TokenizerConfig()), ["a"], 4)


def rules(name: bytes) -> bytes:
    return field(3, field(1, name) + field(2, b"table"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (piece("a") + field(2, field(3, 3)), 'is of the kind word, .*; learn one: kind = "word"'),
        (piece("a") + field(2, field(24, 1)), "puts spaces behind words"),
        (piece("a") + rules(b"nmt_nfkc_cf"), "changes text by the rule 'nmt_nfkc_cf'"),
        (piece("a") + rules(b""), "changes text by the rule 'of its own'"),
        (b"\xff", "not a SentencePiece model, or damaged"),
        (b"{", "not a tokenizer, or damaged"),
        (b"{}", "not a tokenizer, or damaged"),
        (b'{"model": 3, "added_tokens": []}', "not a tokenizer, or damaged"),
        (b'{"model": {"type": "WordPiece", "vocab": {}}, "added_tokens": []}', ".*forgets spaces"),
    ],
)
def test_what_cannot_be_read_without_loss_is_refused(
    content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "vocabulary"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=rf"vocabulary: {message}"):
        read_existing(path, TokenizerConfig())
    with pytest.raises(ModelError, match="absent: cannot be read: No such file"):
        read_existing(tmp_path / "absent", TokenizerConfig())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normalizer": {"type": "Lowercase"}}, "changes text by Lowercase"),
        (
            {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Punctuation", "behavior": "Isolated"}, {"type": "ByteLevel"}]}},
            "cuts text by Punctuation in a way that is not read here",
        ),
    ],
)  # fmt: skip
def test_steps_that_lose_text_are_refused(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    over_bytes(path)
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **change}), encoding="utf-8")
    with pytest.raises(ModelError, match=rf"tokenizer\.json: {message}"):
        read_existing(path, TokenizerConfig())
