from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.bundle import Bundle
from dragoman.decoding import DraftCounts
from dragoman.errors import ConfigError, ModelError
from dragoman.models import ConvolutionalConfig, build_model
from dragoman.tokenization import TokenizerConfig, learn_bpe
from dragoman.translator import Draft, Translator
from tests.fixtures import ENGLISH, GERMAN, tiny_bundle, tiny_folder, tiny_translator
from tests.one_sided import language_bundle

TEXTS = [*GERMAN, "", "12", "wir gehen . " * 3]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(layers=2)


@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize("copies", [True, False])
def test_translations_stay_the_same_with_a_draft(
    translator: Translator, copies: bool, length: int
) -> None:
    draft = Draft(None if copies else tiny_bundle(seed=3), length)
    found = translator.translate(TEXTS, beam=1, max_length=12, draft=draft)
    expected = translator.translate(TEXTS, beam=1, max_length=12)
    for one, other in zip(found, expected, strict=True):
        assert (one.text, one.tokens, one.copied) == (other.text, other.tokens, other.copied)
        assert one.score == pytest.approx(other.score, abs=1e-5)
        assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-5)


def test_counts_go_on_from_call_to_call(translator: Translator) -> None:
    draft = Draft(translator.bundle)
    assert draft.counts == DraftCounts()
    translator.translate(GERMAN, beam=1, max_length=10, draft=draft)
    once = draft.counts
    assert once.acceptance == 1
    assert once.pieces_per_pass > 2
    translator.translate(GERMAN, beam=1, max_length=10, draft=draft)
    assert draft.counts == once + once


def test_controls_prefixes_and_banned_words_hold_with_a_draft(translator: Translator) -> None:
    draft = Draft(tiny_bundle(seed=3), 3)
    prefix = ["the", None, "the dog sleeps ." * 9, None]
    controls = {"beam": 1, "max_length": 14, "min_length": 6, "no_repeat_ngram": 2}
    free = translator.translate(GERMAN, beam=1, max_length=14)
    banned = [free[1].text.split()[0]]
    found, expected = (
        translator.translate(
            GERMAN,
            prefix=prefix,
            banned_words=banned,
            **controls,  # pyright: ignore[reportArgumentType]  # of several types
            **more,
        )
        for more in ({"draft": draft}, {})
    )
    assert [t.text for t in found] == [t.text for t in expected]
    assert [t.error for t in found] == [t.error for t in expected]
    assert "prefix" in found[2].error


def test_a_draft_needs_a_beam_of_1(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="draft: verifies one hypothesis, and beam is 4"):
        translator.translate(GERMAN, draft=Draft(None))


def test_a_draft_of_another_vocabulary_is_refused_with_the_difference(
    translator: Translator,
) -> None:
    small = tiny_bundle()
    fewer = learn_bpe(GERMAN, TokenizerConfig(size=290))
    with pytest.raises(ConfigError, match=r"it has 2\d\d pieces and the model 3\d\d in the source"):
        translator.translate(GERMAN, beam=1, draft=Draft(replace(small, tokenizers=(fewer,))))
    size = small.target_tokenizer.size
    other = learn_bpe(ENGLISH * 4 + GERMAN[::-1], TokenizerConfig(size=size))
    assert other.size == size
    mixed = replace(small, tokenizers=(small.source_tokenizer, other))
    with pytest.raises(ConfigError, match=r"its piece \d+ is '.*' and the model's '.*' in the tar"):
        translator.translate(GERMAN, beam=1, draft=Draft(mixed))


def test_nothing_is_copied_between_two_vocabularies() -> None:
    bundle = tiny_bundle()
    twice = Bundle(bundle.config, bundle.model, bundle.tokenizers * 2)
    with pytest.raises(ConfigError, match="draft: nothing can be copied between the two vocab"):
        Translator(twice).translate(GERMAN, beam=1, draft=Draft(None))


def test_a_draft_of_another_kind_is_refused(translator: Translator, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="draft: is decoder-only, the model encoder-decoder"):
        translator.translate(GERMAN, beam=1, draft=Draft(language_bundle()))
    config = ConvolutionalConfig(vocabulary=40)
    with pytest.raises(ModelError, match="draft: a ConvolutionalEncoderDecoder cannot go back"):
        Draft(Bundle(config, build_model(config), ()))


def test_a_draft_is_loaded_from_a_folder_or_copies(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "small")
    assert Draft.load(folder, length=2).bundle is not None
    assert Draft.load("copy").bundle is None
    with pytest.raises(ModelError, match="no such model folder"):
        Draft.load(tmp_path / "none")
    with pytest.raises(ConfigError, match="draft_length: 0 is not between 1 and 1000"):
        Draft.load("copy", length=0)
