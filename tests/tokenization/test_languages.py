"""Language tags: control symbols that no text gives, whatever the vocabulary."""

import json
from pathlib import Path

import pytest
import tokenizers

from dragoman.errors import ConfigError
from dragoman.tokenization import (
    MergeDropout,
    SubwordSampler,
    Tokenizer,
    TokenizerConfig,
    extend_tokenizer,
    language_piece,
    learn_tokenizer,
    read_existing,
    spelled_before,
    with_languages,
)
from dragoman.tokenization.config import Kind
from tests.tokenization.sentencepiece_models import NAMES, model_file

LINES = ("Ein Hund <2de> läuft", "a dog runs <2de> <2fr>", "<2de>") * 20
TYPED = ("<2de> hello", "<2de>", "a<2de>b", "<<2de>>", "<2de><2zh-Hans>", " <2de>", "＜2de＞")
KINDS: tuple[Kind, ...] = ("bpe", "wordpiece", "unigram", "character", "word")


def every_tokenizer() -> list[Tokenizer]:
    learnt = [
        learn_tokenizer(LINES, TokenizerConfig(kind=kind, size=size, byte_fallback=size > 300))
        for kind in KINDS
        for size in (330, 60)
    ]
    nfkc = learn_tokenizer(LINES, TokenizerConfig(size=330, normal_form="NFKC"))
    return [*learnt, nfkc, *(read_existing(model_file(name), TokenizerConfig()) for name in NAMES)]


@pytest.mark.parametrize("tokenizer", every_tokenizer())
def test_no_text_gives_a_tag_typed_or_learnt(tokenizer: Tokenizer) -> None:
    tagged = with_languages(tokenizer, ["de", "zh-Hans"])
    assert tagged.languages == {"de": tokenizer.size, "zh-Hans": tokenizer.size + 1}
    for text in TYPED:
        ids = tagged.encode(text)
        assert ids == tokenizer.encode(text)  # which has no tags
        assert max(ids) < tokenizer.size
        assert tagged.decode(ids) == tokenizer.decode(ids)


@pytest.mark.parametrize("tokenizer", every_tokenizer())
def test_a_tag_leaves_no_trace_in_text_and_is_found_again(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    tagged = with_languages(tokenizer, ["de"])
    ids = tagged.encode("a dog")
    assert tagged.decode([tagged.languages["de"], *ids]) == tagged.decode(ids)
    assert tagged.pieces([tagged.languages["de"]]) == ["<2de>"]
    tagged.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").languages == tagged.languages


def test_what_is_there_keeps_its_id_and_more_go_behind() -> None:
    tokenizer = learn_tokenizer(LINES, TokenizerConfig(size=330))
    one = with_languages(tokenizer, ["de"])
    assert with_languages(one, ["de", "de"]) is one
    two = with_languages(one, ["fr", "de", "fr"])
    assert two.languages == {"de": tokenizer.size, "fr": tokenizer.size + 1}
    assert two.size == tokenizer.size + 2
    grown = extend_tokenizer(one, ["ganz neue neue Wörter Wörter"] * 9, 5)
    assert grown.languages == one.languages
    assert grown.size > one.size
    assert with_languages(grown, ["fr"]).languages == {"de": tokenizer.size, "fr": grown.size}


def test_a_new_tag_takes_after_those_that_were_there() -> None:
    tokenizer = learn_tokenizer(LINES, TokenizerConfig(size=330))
    two = with_languages(tokenizer, ["de", "fr"])
    assert spelled_before(two, with_languages(two, ["cs"])) == [[*two.languages.values()]]
    assert all(spelled_before(tokenizer, two))  # the first ones after what spells them


@pytest.mark.parametrize("tokenizer", every_tokenizer())
def test_each_new_tag_is_spelled_by_something(tokenizer: Tokenizer) -> None:
    assert all(spelled_before(tokenizer, with_languages(tokenizer, ["de", "cs"])))


def test_sampling_gives_no_tag() -> None:
    config = TokenizerConfig(size=330)
    tagged = with_languages(learn_tokenizer(LINES, config), ["de"])
    sampler = SubwordSampler(tagged, MergeDropout(chance=0.5))
    draws = iter([0.1, 0.9, 0.7] * 99)
    ids = sampler.encode("<2de> hello <2de>", lambda: next(draws))
    assert tagged.languages["de"] not in ids
    assert tagged.decode(ids) == "<2de> hello <2de>"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("zh_Hans", "write zh-Hans"),
        (" de ", "write de"),
        ("", "write it as in BCP 47"),
        ("de>", "write it as in BCP 47"),
        ("Ελληνικά", "write it as in BCP 47"),
        ("2de", "write it as in BCP 47"),
    ],
)
def test_what_is_no_name_of_a_language_is_refused(name: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=rf"target_language: .* is no name of a language; {hint}"):
        language_piece(name)
    with pytest.raises(ConfigError, match="target_language"):
        with_languages(learn_tokenizer(LINES, TokenizerConfig(size=330)), [name])


def test_a_hint_really_works() -> None:
    assert language_piece("zh-Hans") == "<2zh-Hans>"


def test_a_tag_as_a_piece_of_ones_own_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"pieces: 'x<2de>' holds a language tag"):
        TokenizerConfig(pieces=("x<2de>",))
    TokenizerConfig(pieces=("<2024>", "<2>"))  # which are none


def test_a_piece_of_that_shape_that_text_gives_is_an_ordinary_piece() -> None:
    # As in models trained by an older release with pieces = ["<2de>"].
    settings = json.loads(
        learn_tokenizer(LINES, TokenizerConfig(size=330, pieces=("<2_de>",))).to_json()
    )
    raw = json.dumps(settings).replace("<2_de>", "<2de>").replace(r"\\x{5F}", "")
    old = Tokenizer(tokenizers.Tokenizer.from_str(raw))
    assert old.languages == {}
    assert old.decode(old.encode("<2de> hello")) == "<2de> hello"
    with pytest.raises(ConfigError, match="<2de> is a piece that text gives"):
        with_languages(old, ["de"])


def test_tags_of_another_program_are_not_ours(tmp_path: Path) -> None:
    # A vocabulary with <2de> among its pieces, once as an ordinary one and once kept whole.
    made = tokenizers.Tokenizer(
        tokenizers.models.Unigram([("<unk>", 0.0), ("▁", -2.0), ("<2de>", -1.0), ("h", -3.0)], 0)
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.add_tokens(["<2fr>", "<b>"])
    made.save(str(tmp_path / "tokenizer.json"))
    read = read_existing(tmp_path / "tokenizer.json", TokenizerConfig())
    assert read.languages == {}
    assert "<2de>" not in read.pieces(range(read.size))
    assert read.pieces(read.encode("<b>h"))[-2:] == ["<b>", "h"]
    tagged = with_languages(read, ["de", "fr"])
    for text in TYPED:
        assert not {*tagged.languages.values()} & {*tagged.encode(text)}
        assert tagged.decode(tagged.encode(text)) == tagged.normalize(text)


def test_a_vocabulary_that_cuts_tags_whole_is_made_to_cut_them() -> None:
    # As older releases read files of other programs: nothing cut "<" off before "2de>".
    read = read_existing(model_file("unigram"), TokenizerConfig())
    cut = r"|2([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)>"
    raw = read.to_json().replace(json.dumps(cut)[1:-1], "")
    old = Tokenizer(tokenizers.Tokenizer.from_str(raw))
    assert old.cut("<2de>") == [" <2de>"]
    tagged = with_languages(old, ["de"])
    assert tagged.languages == {"de": old.size}
    for text in TYPED:
        assert old.size not in tagged.encode(text)
        assert tagged.decode(tagged.encode(text)) == text
