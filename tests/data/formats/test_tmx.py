import io
from collections import Counter
from typing import Any

import pytest

from dragoman.data.formats.inline import Markup
from dragoman.data.formats.segment import Segment
from dragoman.data.formats.tmx import read_tmx
from dragoman.errors import DataError
from tests.data.formats.real_files import open_real, real_files

REAL = real_files("tmx")


def read(units: str, *, header: str = "en", markup: Markup = "keep", **asked: Any) -> list[Segment]:
    text = f"<tmx version='1.4'><header srclang='{header}'/><body>{units}</body></tmx>"
    return list(read_tmx(io.BytesIO(text.encode()), "a.tmx", markup=markup, **asked))


def unit(*variants: tuple[str, str], attributes: str = "") -> str:
    texts = (f"<tuv xml:lang='{lang}'><seg>{text}</seg></tuv>" for lang, text in variants)
    return f"<tu {attributes}>{''.join(texts)}</tu>"


def test_the_header_names_the_source_and_the_first_unit_the_target() -> None:
    units = unit(("en", "a"), ("de", "b")) + unit(("de", "d"), ("en", "c"))
    assert read(units) == [Segment(1, "a", "b"), Segment(2, "c", "d")]


def test_languages_can_be_chosen_against_the_header() -> None:
    assert read(unit(("en", "a"), ("de", "b")), source="de", target="en") == [Segment(1, "b", "a")]


def test_a_unit_may_have_a_source_language_of_its_own() -> None:
    units = unit(("en", "a"), ("de", "b"), attributes="srclang='de'")
    assert read(units) == [Segment(1, "b", "a")]


def test_a_language_stands_for_its_regions_but_itself_comes_first() -> None:
    units = unit(("en-US", "a"), ("de_AT", "b")) + unit(("EN", "c"), ("en-GB", "x"), ("DE", "d"))
    assert read(units, source="en", target="de") == [Segment(1, "a", "b"), Segment(2, "c", "d")]


def test_a_region_does_not_stand_for_another() -> None:
    left_out = Counter[str]()
    units = unit(("en-GB", "a"), ("de", "b")) + unit(("en-US", "c"))
    assert read(units, source="en-US", target="de", left_out=left_out) == []
    assert left_out == {"no source": 1, "no target": 1}


def test_each_variant_in_the_target_language_is_a_pair() -> None:
    units = unit(("en", "a"), ("de", "b"), ("de", "c"))
    assert read(units) == [Segment(1, "a", "b"), Segment(1, "a", "c")]


def test_several_other_languages_must_be_chosen_from() -> None:
    units = unit(("en", "a"), ("fr", "b"), ("de", "c"))
    message = (
        r'line 1: the target language is not clear \(languages: de, fr\); .* target_language = "fr"'
    )
    with pytest.raises(DataError, match=message):
        read(units)


@pytest.mark.parametrize("header", ["*all*", ""])
def test_a_header_without_source_language_asks_for_one(header: str) -> None:
    with pytest.raises(DataError, match=r"line 1: the source language is not clear"):
        read(unit(("en", "a"), ("de", "b")), header=header)


def test_white_space_is_kept_and_entities_are_decoded_once() -> None:
    units = unit(("en", " a\n\tb "), ("de", "&amp;lt; &#x65E5; &lt;b&gt;"))
    assert read(units) == [Segment(1, " a\n\tb ", "&lt; 日 <b>")]


def test_variants_up_to_1_3_name_their_language_without_xml() -> None:
    units = "<tu><tuv lang='en'><seg>a</seg></tuv><tuv lang='de'><seg>b</seg></tuv></tu>"
    assert read(units) == [Segment(1, "a", "b")]


def test_the_number_of_a_unit_and_its_notes_come_along() -> None:
    units = "<tu tuid='7'><note>n</note><note>m</note>" + unit(("en", "a"), ("de", "b"))[4:]
    assert read(units) == [Segment(1, "a", "b", "7", "n\nm")]


INLINE = (
    "x <bpt i='1' type='b'>&lt;b></bpt>y<ept i='1'>&lt;/b></ept>"
    "<ph x='2'>&lt;i a='<sub>s</sub>'></ph><it pos='end'>q</it><ut>u</ut> <hi x='3'>z</hi>"
)


def test_inline_tags_stay_as_placeholders_without_their_code() -> None:
    (segment,) = read(unit(("en", INLINE), ("de", "b")))
    kept = 'x <bpt i="1"/>y<ept i="1"/><ph x="2"/><it pos="end"/><ut/> <hi x="3">z</hi>'
    assert segment.source == kept


def test_inline_tags_can_be_dropped_but_what_they_highlight_stays() -> None:
    (segment,) = read(unit(("en", INLINE), ("de", "b")), markup="drop")
    assert segment.source == "x y z"


@pytest.mark.parametrize("entry", REAL, ids=lambda entry: entry["file"])
def test_real_files_have_the_pairs_that_the_manifest_counts(entry: dict[str, Any]) -> None:
    # The manifest calls omegat.invalid.tmx not well-formed; it is, but its codes pair wrongly.
    languages = Counter({k.lower(): 0 for k in entry["tuv_by_language"]})
    for language, count in entry["tuv_by_language"].items():
        languages[language.lower()] += count
    for language, count in languages.items():
        left_out = Counter[str]()
        with open_real(entry["file"]) as stream:
            # A language as its own source and target gives nothing but the count of its units.
            list(read_tmx(stream, "a", source=language, target="xx", left_out=left_out))
        having = left_out["no target"]
        regions = sum(n for k, n in languages.items() if k.startswith(f"{language}-"))
        assert count <= having <= count + regions
        assert having + left_out["no source"] == entry["tu"]


@pytest.mark.parametrize(
    ("name", "source", "target", "count", "first"),
    [
        # Read off the files by eye.
        ("kit.ImportTest1A.tmx", None, None, 2, "First segment with [\t\t   ]"),
        ("kit.ImportTest1J_many.tmx", "en-us", "en-gb", 2, "First entry in US English"),
        ("kit.ImportTest2C.tmx", None, "fr", 1, None),
        ("omegat.test-missingSource.tmx", None, None, 3, "entuv"),
        ("omegat.test-level2.tmx.gz", None, None, 4, "entuv"),
        ("weblate.memory.tmx", "en", "cs", 1, "If the log function is installed"),
        ("omegat.en-US_en-GB_fr_sr.tmx", "en", "sr", 1, None),
        ("omegat.test-match-stat-en-ca.tmx", None, None, 259, None),
        ("omegat.empty.tmx", None, None, 0, None),
    ],
)
def test_pairs_of_real_files(
    name: str, source: str | None, target: str | None, count: int, first: str | None
) -> None:
    if not REAL:
        pytest.skip("the real files are not beside the repository")
    with open_real(f"tmx/{name}") as stream:
        segments = list(read_tmx(stream, name, source=source, target=target))
    assert len(segments) == count
    if first is not None:
        assert segments[0].source == first
