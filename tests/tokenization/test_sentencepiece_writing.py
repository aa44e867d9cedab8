"""Vocabularies of ours as ``.model`` files, cut by SentencePiece itself."""

import random
from functools import cache
from typing import Any

import pytest

from dragoman.errors import ConfigError
from dragoman.tokenization import (
    Tokenizer,
    TokenizerConfig,
    learn_tokenizer,
    read_existing,
    to_sentencepiece,
    with_languages,
)
from dragoman.tokenization.sentencepiece_model import parse_sentencepiece_model
from tests.fixtures import ENGLISH, GERMAN
from tests.tokenization.sentencepiece_models import NAMES, model_bytes, model_file

library = pytest.importorskip("sentencepiece", reason="needs sentencepiece, which tests have")

LINES = [
    *GERMAN,
    *ENGLISH,
    "Die alte Frau liest den Kindern das Buch vor, nicht wahr?",
    "In 1999 there were 3,500 people; now (2024) there are 12.",
    "ein Hund, zwei Hunde, der Hundehalter und die Hundehütte",
    "mieux vaut tard que jamais -- l'été, d'où vient-il?",
] * 4
KINDS: dict[str, dict[str, Any]] = {
    "bpe": {},
    "bpe-whole": {"pieces": ("[PLACE]", "Hund", "((")},
    "bpe-nfkc": {"normal_form": "NFKC"},
    "bpe-no-form": {"normal_form": "none"},
    "unigram": {"kind": "unigram"},
    "unigram-whole": {"kind": "unigram", "pieces": ("[PLACE]", "Hund", "((")},
    "character": {"kind": "character"},
    "character-whole": {"kind": "character", "pieces": ("[PLACE]",)},
}
TEXTS = [
    *LINES[:14],
    "",
    " ",
    "  two  spaces \t and a tab ",
    "</s> <s> <pad> <unk> <0x41> <2de> a<b >c",
    "[PLACE] and [PLACE]s, Hunde(( Hund",
    "неизвестно 未知 🦊 e\u0301",
    "1234567890 1,000.50 10:30",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
]


@cache
def learnt(name: str) -> Tokenizer:
    return learn_tokenizer(LINES, TokenizerConfig(**{"size": 420, **KINDS[name]}))


def processor(tokenizer: Tokenizer) -> Any:
    return library.SentencePieceProcessor(model_proto=to_sentencepiece(tokenizer))


def generated(count: int) -> list[str]:
    rng = random.Random(4)
    letters = "abdehinrstu  .,!?-'<>/0159éüñ\t(["
    return ["".join(rng.choices(letters, k=rng.randint(1, 60))) for _ in range(count)]


@pytest.mark.parametrize("name", KINDS)
def test_the_library_cuts_text_into_the_same_ids(name: str) -> None:
    tokenizer = learnt(name)
    texts = [*TEXTS, *generated(500)]
    assert processor(tokenizer).encode(texts, out_type=int) == tokenizer.encode_many(texts)


@pytest.mark.parametrize("name", KINDS)
def test_the_library_writes_the_same_text(name: str) -> None:
    tokenizer = learnt(name)
    other = processor(tokenizer)
    for text in TEXTS:
        ids = tokenizer.encode(text)
        assert other.decode(ids) == tokenizer.decode(ids)


def test_special_pieces_have_their_types_and_ids() -> None:
    other = processor(learnt("bpe"))
    assert (other.pad_id(), other.bos_id(), other.eos_id(), other.unk_id()) == (0, 1, 2, 3)
    assert [other.is_control(number) for number in range(5)] == [True, True, True, False, False]
    assert other.is_unknown(3)
    assert [other.is_byte(number) for number in (3, 4, 259, 260)] == [False, True, True, False]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_the_library_comes_out_as_it_went_in(name: str) -> None:
    tokenizer = read_existing(model_file(name), TokenizerConfig())
    own = library.SentencePieceProcessor(model_proto=model_bytes(name))
    other = processor(tokenizer)
    texts = [
        "The old man reads the book.",
        "The dogs are walking along the road, day by day.",
        "<b>She</b> talks to the old woman in the house",
    ]
    for text in texts:
        assert own.unk_id() not in own.encode(text)
        assert other.encode(text, out_type=str) == own.encode(text, out_type=str)


def test_what_is_written_is_read_by_our_reader() -> None:
    tokenizer = learnt("unigram-whole")
    file = parse_sentencepiece_model(to_sentencepiece(tokenizer))
    assert (file.algorithm, file.rule, file.has_rules) == ("unigram", "nfc", True)
    assert [each.text.replace("▁", " ") for each in file.pieces] == tokenizer.names()
    types = {each.text: each.type for each in file.pieces}
    assert types["[PLACE]"] == "user"
    assert types["<unk>"] == "unknown"
    assert types["<0x00>"] == "byte"
    assert types["</s>"] == "control"


@pytest.mark.parametrize(
    ("choices", "place"),
    [
        ({"kind": "wordpiece"}, "kind"),
        ({"kind": "word"}, "kind"),
        ({"byte_fallback": False, "size": 200}, "byte_fallback"),
        ({"kind": "unigram", "byte_fallback": False, "size": 200}, "byte_fallback"),
        ({"kind": "character", "byte_fallback": False, "size": 60}, "kind"),
        ({"pieces": ("New York",)}, "pieces"),
    ],
)
def test_what_it_has_nothing_like_is_refused_by_name(choices: dict[str, Any], place: str) -> None:
    tokenizer = learn_tokenizer(LINES, TokenizerConfig(**{"size": 420, **choices}))
    with pytest.raises(ConfigError, match=f"^{place}: .*SentencePiece"):
        to_sentencepiece(tokenizer)


def test_its_sign_for_a_space_cannot_be_text() -> None:
    tokenizer = learn_tokenizer([*LINES, "a▁b a▁b"], TokenizerConfig(size=420))
    with pytest.raises(ConfigError, match="pieces: the piece '▁' holds what SentencePiece writes"):
        to_sentencepiece(tokenizer)


def test_tags_of_target_languages_are_refused() -> None:
    with pytest.raises(ConfigError, match="languages: no text can hold the tag"):
        to_sentencepiece(with_languages(learnt("bpe"), ["de", "fr"]))


def test_pieces_over_bytes_are_refused(tmp_path: Any) -> None:
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    backend.train_from_iterator(LINES, trainer)
    backend.save(str(tmp_path / "tokenizer.json"))
    tokenizer = read_existing(tmp_path / "tokenizer.json", TokenizerConfig())
    with pytest.raises(ConfigError, match="kind: pieces over bytes have no place"):
        to_sentencepiece(tokenizer)
