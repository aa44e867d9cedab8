from typing import Any

import pytest

from dragoman.decoding import Sampling
from dragoman.errors import ConfigError
from dragoman.translator import Translator, translate_fragments
from dragoman.translator.fragment import Tag
from tests.fixtures import GERMAN, tiny_translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(layers=2)


def test_temperature_zero_is_greedy_search(translator: Translator) -> None:
    greedy = translator.translate(GERMAN, beam=1, alpha=0.0, max_length=9)
    drawn = translator.translate(GERMAN, sampling=Sampling(temperature=0), max_length=9)
    assert [each.text for each in drawn] == [each.text for each in greedy]
    assert [e.score for e in drawn] == pytest.approx([e.score for e in greedy], abs=1e-5)


def test_the_first_sample_does_not_depend_on_how_many_there_are(translator: Translator) -> None:
    one = translator.translate(GERMAN, sampling=Sampling(), max_length=9)
    many = translator.translate(GERMAN, sampling=Sampling(), n_best=6, max_length=9)
    assert [each.tokens for each in one] == [each.tokens for each in many]
    assert all(len(each.hypotheses) == 6 for each in many)
    assert len({each.text for each in many[0].hypotheses}) > 1


def test_a_line_draws_by_its_number_whatever_stands_around_it(translator: Translator) -> None:
    sampling = Sampling(seed=7)
    texts = ["", *GERMAN, "12", GERMAN[0]]
    together = translator.translate(texts, sampling=sampling, max_length=9)
    for number, text in enumerate(texts):
        (alone,) = translator.translate(
            [text], sampling=sampling, max_length=9, first_line=number, batch_tokens=1
        )
        assert alone.tokens == together[number].tokens
    assert together[1].tokens != together[-1].tokens  # the same text in another line
    other = translator.translate(texts, sampling=Sampling(seed=8), max_length=9)
    assert other[1].tokens != together[1].tokens


def test_a_stream_draws_as_one_call_does(translator: Translator) -> None:
    texts = [*GERMAN, "", *GERMAN]
    whole = translator.translate(texts, sampling=Sampling(), max_length=9)
    for at_once in (1, 2, 100):
        options: dict[str, Any] = {"sampling": Sampling(), "max_length": 9}
        streamed = list(translator.stream(texts, at_once=at_once, **options))
        assert [each.tokens for each in streamed] == [each.tokens for each in whole]
    late = translator.stream(texts[2:], at_once=2, first_line=2, sampling=Sampling(), max_length=9)
    assert [each.tokens for each in late] == [each.tokens for each in whole[2:]]


def test_parts_of_a_segment_draw_on_their_own(translator: Translator) -> None:
    (found,) = translator.translate(
        ["Wir gehen. Wir gehen."], sampling=Sampling(), n_best=3, max_length=7, sentences=True
    )
    assert found.parts == 2
    assert len(found.hypotheses) == 3
    (first,) = translator.translate(["Wir gehen."], sampling=Sampling(), max_length=7)
    for candidate in found.hypotheses:
        assert candidate.score == pytest.approx(sum(candidate.token_log_probs))
    tokens = found.hypotheses[0].tokens
    assert tokens[: len(first.tokens)] == first.tokens
    assert tokens[len(first.tokens) :] != first.tokens


def test_the_limit_of_a_sampling_goes_before_that_of_the_call(translator: Translator) -> None:
    (three,) = translator.translate(GERMAN[:1], sampling=Sampling(max_length=3), max_length=9)
    (nine,) = translator.translate(GERMAN[:1], sampling=Sampling(), max_length=9)
    assert len(three.tokens) <= 3
    assert len(nine.tokens) <= 9
    assert nine.tokens[:3] == three.tokens


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"min_length": 3}, ["min_length"]),
        ({"groups": 2, "coverage": 0.2}, ["coverage", "groups"]),
        ({"banned_words": ["cat"]}, ["banned_words"]),
        ({"prefix": ["the"] * len(GERMAN), "patience": 1.0}, ["patience", "prefix"]),
        ({"length_penalty": "none", "no_repeat_ngram": 2}, ["length_penalty", "no_repeat_ngram"]),
    ],
)
def test_controls_of_the_search_are_refused_by_name(
    translator: Translator, options: dict[str, Any], names: list[str]
) -> None:
    for drawn in ({"sampling": Sampling()}, {"mbr": 4}):
        with pytest.raises(ConfigError) as caught:
            translator.translate(GERMAN, **drawn, **options)  # pyright: ignore  # several types
        assert sorted(each.place for each in caught.value.mistakes) == sorted(names)
        assert "is for a search, and translations are drawn" in str(caught.value)


def test_no_translations_are_refused(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="n_best: 0 is less than 1"):
        translator.translate(GERMAN, sampling=Sampling(), n_best=0)


def test_fragments_of_documents_are_drawn_with_their_tags_and_placeholders(
    translator: Translator,
) -> None:
    bold, end = Tag("<b>", "open", 1), Tag("</b>", "close", 1)
    fragments = [("der ", bold, "hund", end, " schläft"), ("wir gehen %s .",), ("",), ("12",)]
    for options in ({"sampling": Sampling(seed=2)}, {"mbr": 4}):
        given: dict[str, Any] = {**options, "max_length": 7}
        found = translate_fragments(translator, fragments, **given)
        assert [item for item in found[0] if isinstance(item, Tag)] == [bold, end]
        assert "".join(item for item in found[1] if isinstance(item, str)).count("%s") == 1
        assert found[2:] == [("",), ("12",)]
        assert found == translate_fragments(translator, fragments, **given)
