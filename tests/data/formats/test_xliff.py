import io
from collections import Counter
from typing import Any

import pytest

from dragoman.data.formats.segment import Segment
from dragoman.data.formats.xliff import read_xliff
from tests.data.formats.real_files import open_real, real_files

REAL = [entry for entry in real_files("xliff") if "reader_error" not in entry]
V1 = "urn:oasis:names:tc:xliff:document:1.2"
V2 = "urn:oasis:names:tc:xliff:document:2.0"


def read_1(units: str, **asked: Any) -> list[Segment]:
    text = f"<xliff version='1.2' xmlns='{V1}'><file><body>{units}</body></file></xliff>"
    return list(read_xliff(io.BytesIO(text.encode()), "a.xlf", **asked))


def read_2(units: str, **asked: Any) -> list[Segment]:
    text = f"<xliff version='2.0' xmlns='{V2}' srcLang='en'><file id='f'>{units}</file></xliff>"
    return list(read_xliff(io.BytesIO(text.encode()), "a.xlf", **asked))


def test_a_trans_unit_is_a_pair_with_its_id_and_notes() -> None:
    unit = "<trans-unit id='u'><source>a</source><target>b</target><note>n</note></trans-unit>"
    assert read_1(unit) == [Segment(1, "a", "b", "u", "n")]


def test_a_target_that_does_not_exist_is_empty() -> None:
    units = "<trans-unit><source>a</source></trans-unit>"
    units += "<trans-unit><source>c</source><target/></trans-unit>"
    assert read_1(units) == [Segment(1, "a", ""), Segment(2, "c", "")]


def test_alternatives_are_no_targets() -> None:
    unit = "<alt-trans><source>x</source><target>y</target></alt-trans>"
    assert read_1(f"<trans-unit><source>a</source>{unit}</trans-unit>") == [Segment(1, "a", "")]


def test_marked_sentences_are_pairs_of_one_unit() -> None:
    def marks(*words: str) -> str:
        return "<g id='1'>" + " ".join(
            f"<mrk mtype='seg' mid='{i}'>{word}</mrk>" for i, word in enumerate(words)
        )

    unit = f"<source>A. B.</source><seg-source>{marks('A.', 'B.')}</g></seg-source>"
    unit += f"<target>{marks('C.', 'D.')}</g></target>"
    assert read_1(f"<trans-unit id='u'>{unit}</trans-unit>") == [
        Segment(1, "A.", "C.", "u/0"),
        Segment(1, "B.", "D.", "u/1"),
    ]


@pytest.mark.parametrize("mids", [("1", "2"), ("0", "0")])
def test_sentences_that_do_not_correspond_are_read_as_one_unit(mids: tuple[str, str]) -> None:
    def marks(*numbers: str) -> str:
        return "".join(f"<mrk mtype='seg' mid='{n}'>x</mrk>" for n in numbers)

    unit = f"<source>xx</source><seg-source>{marks('0', '1')}</seg-source>"
    unit += f"<target>{marks(*mids)}</target>"
    assert read_1(f"<trans-unit id='u'>{unit}</trans-unit>") == [Segment(1, "xx", "xx", "u")]


INLINE = "<g id='1'>a<x id='2'/></g> <bpt id='3'>&lt;b></bpt>c<ex id='9' rid='3'/><mrk>d</mrk>"


def test_inline_tags_of_version_1_stay_as_placeholders() -> None:
    (segment,) = read_1(f"<trans-unit><source>{INLINE}</source></trans-unit>")
    assert segment.source == '<g id="1">a<x id="2"/></g> <bpt id="3"/>c<ex rid="3"/>d'


def test_inline_tags_can_be_dropped() -> None:
    (segment,) = read_1(f"<trans-unit><source>{INLINE}</source></trans-unit>", markup="drop")
    assert segment.source == "a cd"


def test_inline_tags_of_version_2_stay_as_placeholders() -> None:
    text = "<pc id='1'>a</pc><ph id='2'/><sc id='3'/>b<ec startRef='3'/><mrk id='m'>c</mrk>"
    unit = f"<unit id='u'><segment><source>{text}<cp hex='001B'/></source></segment></unit>"
    (segment,) = read_2(unit)
    kept = '<pc id="1">a</pc><ph id="2"/><sc id="3"/>b<ec startRef="3"/>c\x1b'
    assert segment == Segment(1, kept, "", "u")


def test_segments_of_version_2_share_the_number_of_their_unit() -> None:
    unit = (
        "<unit id='u'><notes><note>n</note></notes>"
        "<segment id='s'><source>a</source><target order='3'>b</target></segment>"
        "<ignorable><source> </source></ignorable>"
        "<segment><source>c</source></segment></unit>"
    )
    assert read_2(unit) == [Segment(1, "a", "b", "u/s", "n"), Segment(1, "c", "", "u", "n")]


@pytest.mark.parametrize("state", ["new", "needs-translation"])
def test_targets_that_are_no_translation_yet_are_left_out_and_counted(state: str) -> None:
    unit = f"<trans-unit><source>a</source><target state='{state}'>a</target></trans-unit>"
    left_out = Counter[str]()
    assert read_1(unit, left_out=left_out) == []
    assert left_out == {"unfinished": 1}
    assert read_1(unit, unfinished=True) == [Segment(1, "a", "a")]


def test_targets_to_be_reviewed_are_translations() -> None:
    target = "<target state='needs-review-translation'>b</target>"
    assert read_1(f"<trans-unit><source>a</source>{target}</trans-unit>") == [Segment(1, "a", "b")]


def test_an_initial_segment_of_version_2_is_unfinished() -> None:
    segment = "<segment state='initial'><source>a</source><target>a</target></segment>"
    left_out = Counter[str]()
    assert read_2(f"<unit id='u'>{segment}</unit>", left_out=left_out) == []
    assert left_out == {"unfinished": 1}


def test_what_is_not_to_translate_is_left_out_also_when_a_group_says_so() -> None:
    pair = "<source>a</source><target>a</target>"
    units = (
        f"<group translate='no'><trans-unit>{pair}</trans-unit>"
        f"<trans-unit translate='yes'>{pair}</trans-unit></group>"
        f"<trans-unit translate='no'>{pair}</trans-unit><trans-unit>{pair}</trans-unit>"
    )
    left_out = Counter[str]()
    assert [segment.number for segment in read_1(units, left_out=left_out)] == [2, 4]
    assert left_out == {"not to translate": 2}


def test_any_prefix_and_additions_of_tools_are_accepted() -> None:
    text = (
        f"<x:xliff xmlns:x='{V1}' xmlns:sdl='http://sdl.com/FileTypes/SdlXliff/1.0'>"
        "<x:file><x:body><sdl:unit><sdl:source>no</sdl:source></sdl:unit>"
        "<x:trans-unit id='u'><sdl:target>no</sdl:target><x:source>a</x:source>"
        "<x:target>b</x:target><sdl:seg-defs><sdl:seg id='1' conf='Draft'/></sdl:seg-defs>"
        "</x:trans-unit></x:body></x:file></x:xliff>"
    )
    assert list(read_xliff(io.BytesIO(text.encode()), "a")) == [Segment(1, "a", "b", "u")]


@pytest.mark.parametrize("entry", REAL, ids=lambda entry: entry["file"])
def test_real_files_have_the_units_that_the_manifest_counts(entry: dict[str, Any]) -> None:
    left_out = Counter[str]()
    with open_real(entry["file"]) as stream:
        segments = list(read_xliff(stream, "a", unfinished=True, left_out=left_out))
    assert left_out.keys() <= {"not to translate", "header"}
    assert len({segment.number for segment in segments}) + left_out.total() == entry["unit"]
    if entry["segment"]:
        assert len(segments) + left_out.total() == entry["segment"]


@pytest.mark.parametrize(
    ("name", "with_target", "left_out"),
    [
        # By eye. The manifest counts target elements: those of locked units, of a header and
        # without text are not pairs.
        ("oasis21.everything-core.xlf", 2, {}),
        ("oasis21.withReorderedCodes.xlf", 9, {}),
        ("omegat.en-ca.xlf", 3, {"not to translate": 1}),
        ("omegat.en-xx.xlf", 3, {"not to translate": 1}),
        ("omegat.ex.9.5.xlf", 1, {"not to translate": 1}),
        ("omegat.file-XLIFFFilter-cdata-bugs418.xlf", 2, {}),
        ("omegat.file-xliff-BUGS1221.xlf", 7, {}),
        ("symfony.validators.de.xlf", 116, {}),
        ("symfony.validators.ar.xlf", 110, {"unfinished": 6}),
        ("symfony.validators.zh_CN.xlf", 110, {"unfinished": 6}),
        ("weblate.cs.poxliff", 1, {"header": 1}),
        ("weblate.cs.xliff", 0, {}),
    ],
)
def test_targets_of_real_files(name: str, with_target: int, left_out: dict[str, int]) -> None:
    if not REAL:
        pytest.skip("the real files are not beside the repository")
    counted = Counter[str]()
    with open_real(f"xliff/{name}") as stream:
        segments = list(read_xliff(stream, name, left_out=counted))
    assert sum(segment.target != "" for segment in segments) == with_target
    assert counted == left_out
