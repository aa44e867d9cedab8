import math
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.data import read_lines
from dragoman.errors import ConfigError, ModelError
from dragoman.translator import Translator
from dragoman.translator.planning import cut_before_words
from tests.fixtures import GERMAN, tiny_folder, tiny_translator

# Field report 6, and the lines of other reports that must not end, split or move anything.
ODD_LINES = ["", " ", "\t", "-", "...", "😀", "12", "\u2028", "\u0085", "\x0b", "\ufeff", "\u200b"]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(layers=2)


def test_blank_and_letterless_segments_come_back_as_they_were(translator: Translator) -> None:
    found = translator.translate(ODD_LINES)
    assert [translation.text for translation in found] == ODD_LINES
    assert all(translation.copied for translation in found)


def test_blank_stays_blank_even_when_copying_is_turned_off(translator: Translator) -> None:
    blank, dots = translator.translate(["  ", "..."], copy_without_letters=False, max_length=5)
    assert (blank.text, blank.copied) == ("  ", True)
    assert not dots.copied
    assert dots.tokens


def test_a_file_that_is_only_blank_needs_no_model(translator: Translator) -> None:
    assert [t.text for t in translator.translate(["", " "])] == ["", " "]
    assert translator.translate([]) == []


def test_odd_neighbours_change_nothing(translator: Translator) -> None:
    alone = translator.translate(GERMAN, max_length=12)
    mixed = translator.translate([*ODD_LINES, *GERMAN], max_length=12)[len(ODD_LINES) :]
    assert [t.text for t in alone] == [t.text for t in mixed]


# Field report 24: the result of a sentence depends on nothing but the sentence.
@pytest.mark.parametrize("learned", [None, 128], ids=["sinusoidal", "learned"])
@pytest.mark.parametrize("beam", [1, 4])
def test_batch_size_and_neighbours_change_nothing(beam: int, learned: int | None) -> None:
    translator = tiny_translator(layers=2, learned=learned)
    texts = [" ".join(GERMAN[: 1 + n % 3]) + f" {n}" for n in range(20)]
    texts.append(" ".join(["sehr"] * 30) + " lang")
    alone = [translator.translate([text], beam=beam, max_length=20)[0] for text in texts]
    for batch_tokens in (1, 7 * 16, 64 * 64):
        together = translator.translate(texts, beam=beam, max_length=20, batch_tokens=batch_tokens)
        for one, other in zip(alone, together, strict=True):
            assert one.tokens == other.tokens
            assert one.score == pytest.approx(other.score, abs=1e-5)
            assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-5)


# Field report 24 with every control switched on in turn, and all of them.
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize(
    "controls",
    [
        {"min_length": 6},
        {"no_repeat_ngram": 2},
        {"repetition_penalty": 1.5},
        {"length_penalty": "average", "word_reward": 0.3},
        {"coverage": 0.3},
        {"patience": 1.0},
        {"groups": "beam"},
        {"banned_words": ["the", "a"]},
        {
            "min_length": 6,
            "no_repeat_ngram": 2,
            "repetition_penalty": 1.5,
            "word_reward": 0.3,
            "coverage": 0.3,
            "patience": 1.5,
            "groups": "beam",
            "banned_words": ["the", "a"],
        },
    ],
    ids=str,
)
def test_controls_depend_on_nothing_but_the_sentence(
    translator: Translator, controls: dict[str, Any], beam: int
) -> None:
    options: dict[str, Any] = {
        **controls,
        "groups": beam if "groups" in controls else 1,
        "max_length": 12,
    }
    texts = [*GERMAN, " ".join(["sehr"] * 20) + " lang", GERMAN[0] + " 2"]
    alone = [translator.translate([text], beam=beam, **options)[0] for text in texts]
    for batch_tokens, n_best in ((1, beam), (60, 1), (4096, beam)):
        together = translator.translate(
            texts, beam=beam, n_best=n_best, batch_tokens=batch_tokens, **options
        )
        for one, other in zip(alone, together, strict=True):
            assert one.tokens == other.tokens
            assert one.score == pytest.approx(other.score, abs=1e-5)
            assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-5)


def test_what_leaves_no_translation_is_an_error_of_its_line_alone(translator: Translator) -> None:
    # Every piece once, and no end: more than the vocabulary has.
    far = translator.bundle.target_tokenizer.size + 10
    options: dict[str, Any] = {
        "no_repeat_ngram": 1,
        "min_length": far,
        "max_length": far,
        "beam": 1,
    }
    (found,) = translator.translate(["wir gehen ."], **options)
    assert found.text == ""
    assert "no translation within the limit is left" in found.error


def test_scores_do_not_depend_on_the_batch_size(translator: Translator) -> None:
    targets = ["the dog .", "a", "", "the cat drinks milk and the man reads ."]
    alone = [translator.score([g], [t])[0] for g, t in zip(GERMAN, targets, strict=True)]
    together = translator.score(GERMAN, targets, batch_tokens=10_000)
    for one, other in zip(alone, together, strict=True):
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-5)
    assert len(together[2].log_probs) == 1  # an empty target is its end symbol


def test_the_best_does_not_depend_on_how_many_are_asked_for(translator: Translator) -> None:
    one = translator.translate(GERMAN, n_best=1, max_length=12)
    four = translator.translate(GERMAN, n_best=4, max_length=12)
    assert [t.tokens for t in one] == [t.tokens for t in four]
    for translation in four:
        scores = [hypothesis.score for hypothesis in translation.hypotheses]
        assert scores == sorted(scores, reverse=True)


def test_no_special_symbol_is_ever_in_the_text(translator: Translator) -> None:
    for translation in translator.translate(GERMAN, n_best=4, max_length=15):
        for hypothesis in translation.hypotheses:
            assert not any(mark in hypothesis.text for mark in ("<s>", "</s>", "<pad>", "<unk>"))
            assert hypothesis.truncated == (hypothesis.tokens[-1] != "</s>")
            assert len(hypothesis.tokens) == len(hypothesis.token_log_probs) <= 15


# Field report 9: typed control symbols are text.
@pytest.mark.parametrize("text", ["press </s> now", "a <pad> b", "<unk>", "<2de> hello"])
def test_typed_symbols_are_ordinary_text(translator: Translator, text: str) -> None:
    ids = translator.bundle.source_tokenizer.encode(text)
    special = translator.special
    assert not {special.padding, special.start, special.end, special.unknown} & set(ids)
    assert translator.bundle.source_tokenizer.decode(ids) == text


def test_a_forced_prefix_starts_the_translation(translator: Translator) -> None:
    plain, forced = translator.translate(
        [GERMAN[0], GERMAN[0]], prefix=[None, "the cat"], n_best=2, max_length=12
    )
    assert all(hypothesis.text.startswith("the cat") for hypothesis in forced.hypotheses)
    assert plain.tokens == translator.translate([GERMAN[0]], max_length=12)[0].tokens


def test_one_prefix_starts_all_translations_of_a_stream(translator: Translator) -> None:
    streamed = list(translator.stream([*GERMAN[:2], ""], at_once=2, prefix="the", max_length=12))
    assert [each.text.startswith("the") for each in streamed] == [True, True, False]
    each_its_own = translator.translate(GERMAN[:2], prefix=["the", "the"], max_length=12)
    assert [one.tokens for one in streamed[:2]] == [other.tokens for other in each_its_own]


def test_a_prefix_that_is_too_long_is_an_error_of_that_item_alone(translator: Translator) -> None:
    good, bad = translator.translate(GERMAN[:2], prefix=[None, "the cat drinks"], max_length=3)
    assert good.error == ""
    assert good.tokens
    assert "shorten the prefix" in bad.error
    assert (bad.text, bad.hypotheses) == ("", ())


# Field reports 12 and 26: longer than the model takes, and exactly as long.
def test_a_source_of_exactly_the_learned_positions_is_translated_whole() -> None:
    translator = tiny_translator(learned=16)
    assert translator.source_limit == 16
    exact = "<" * 14  # each a piece of its own, after the space before a text
    assert len(translator.bundle.source_tokenizer.encode(exact)) == 15
    for text, fits in ((exact, True), (exact + "<", False)):
        found = translator.translate([text], too_long="blank", copy_without_letters=False)[0]
        assert found.shortened != fits
        assert bool(found.tokens) == fits


@pytest.mark.parametrize("too_long", ["split", "cut", "blank"])
def test_a_longer_source_follows_the_rule_and_its_neighbours_do_not_notice(too_long: str) -> None:
    translator = tiny_translator(learned=40)
    long = " ".join(GERMAN * 4)  # several times the 40 positions
    texts = [GERMAN[0], long, GERMAN[3]]
    found = translator.translate(texts, too_long=too_long)  # type: ignore[arg-type]  # from a list
    assert len(found) == 3
    assert found[1].shortened == (too_long != "split")
    assert (found[1].text == "") == (too_long == "blank")
    for place in (0, 2):
        assert found[place].tokens == translator.translate([texts[place]])[0].tokens


def test_a_split_source_is_translated_part_by_part() -> None:
    translator = tiny_translator(learned=16)
    long = " ".join(GERMAN * 4)
    ids = translator.bundle.source_tokenizer.encode(long)
    parts = list(cut_before_words(ids, translator.bundle.source_tokenizer.pieces(ids), 15))
    assert [piece for part in parts for piece in part] == list(ids)
    assert all(0 < len(part) <= 15 for part in parts)
    assert all(translator.bundle.source_tokenizer.pieces(part)[0][0] == " " for part in parts)


def test_learned_positions_stop_a_target_that_never_ends() -> None:
    translator = tiny_translator(learned=10)
    found = translator.translate(["der hund"], max_length=500, beam=2)[0]
    assert len(found.tokens) <= 10


def test_sinusoids_have_no_end(translator: Translator) -> None:
    text = " ".join(["hund"] * 300)
    found = translator.translate([text], max_length=3)[0]
    assert not found.shortened


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_best": 5, "beam": 4}, "n_best: 5 is more than beam 4"),
        ({"beam": 0}, "beam: 0 is less than 1"),
        ({"max_length": 0}, "max_length: 0 is less than 1"),
        ({"too_long": "explode"}, "too_long: 'explode' is not a choice"),
    ],
)
def test_impossible_settings_are_refused_before_any_work(
    translator: Translator, options: dict[str, int], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        translator.translate(["der hund"], **options)  # type: ignore[arg-type]  # wrong on purpose


def test_attention_has_a_weight_for_every_pair_of_positions(translator: Translator) -> None:
    maps = translator.attention(["der hund schläft ."], ["the dog sleeps ."])[0]
    source, target = len(maps.source_pieces), len(maps.target_pieces)
    assert maps.encoder.shape == (2, 2, source, source)
    assert maps.decoder.shape == (2, 2, target, target)
    assert maps.cross.shape == (2, 2, target, source)
    assert maps.source_pieces[-1] == "</s>"
    assert maps.target_pieces[0] == "<s>"
    for weights in (maps.encoder, maps.decoder, maps.cross):
        assert weights.sum(-1) == pytest.approx(1.0, abs=1e-5)
    assert math.isclose(float(maps.decoder[0, 0, 0, 1:].sum()), 0.0)


def test_looking_at_attention_leaves_the_model_as_it_was(translator: Translator) -> None:
    before = translator.translate(GERMAN, max_length=10)
    translator.attention(GERMAN, GERMAN)
    assert translator.translate(GERMAN, max_length=10) == before


def test_lower_precision_loads_and_translates(tmp_path: Path) -> None:
    translator = Translator.load(tiny_folder(tmp_path / "model"), dtype="bfloat16")
    assert next(translator.bundle.model.parameters()).dtype == torch.bfloat16
    assert translator.translate(["der hund"], max_length=5)[0].tokens


@pytest.mark.parametrize("option", ["device", "dtype", "engine"])
def test_an_unknown_device_dtype_or_engine_is_named(option: str, tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    wrong: dict[str, Any] = {option: "abacus"}
    with pytest.raises(ConfigError, match=f"{option}: 'abacus'"):
        Translator.load(folder, **wrong)


def test_a_missing_model_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such model folder"):
        Translator.load(tmp_path / "nothing")


def test_stream_gives_the_same_as_translate(translator: Translator, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("".join(f"{line}\n" for line in GERMAN), encoding="utf-8")
    streamed = list(translator.stream(read_lines(file), at_once=3, max_length=10))
    at_once = translator.translate(GERMAN, max_length=10)
    assert [t.tokens for t in streamed] == [t.tokens for t in at_once]
