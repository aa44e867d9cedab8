"""Documents as users hold them, filled and read again by the readers of the formats."""

import re
from collections.abc import Callable
from io import BytesIO
from itertools import groupby
from typing import Any

import lxml.etree
import polib
import pytest

from dragoman.data.formats import Segment, read_po, read_qt_ts, read_tmx, read_xliff
from dragoman.documents import DocumentFormat, FillOptions, fill_document
from dragoman.documents.encoded import splice
from dragoman.documents.html import decode_page
from dragoman.documents.po_entries import decode_po
from dragoman.documents.xml_tree import decode_xml
from dragoman.errors import DataError
from tests.data.formats.real_files import open_real, real_files
from tests.documents.fakes import fill

# Kept placeholders of inline tags, as read_xliff and read_tmx write them.
TAG = re.compile(r"(</?(?:x|g|bpt|ept|ph|it|hi|ut|bx|ex|pc|sc|ec)\b[^>]*>)")
# Units with other languages than two, where one has to be chosen.
TARGETS = {
    "tmx/kit.ImportTest1C.tmx": "pt",
    "tmx/kit.ImportTest1J_many.tmx": "fr",
    "tmx/kit.ImportTest2C.tmx": "de",
    "tmx/omegat.en-US_en-GB_fr_sr.tmx": "de",
    "tmx/omegat.test-missingSource.tmx": "es",
    "tmx/weblate.memory.tmx": "CS-CZ",
}
FORMATS: dict[str, DocumentFormat] = {"po": "po", "xliff": "xliff", "tmx": "tmx", "ts": "qt"}
FILES = [
    entry["file"] for kind in FORMATS for entry in real_files(kind) if "reader_error" not in entry
]


def bytes_of(name: str) -> bytes:
    with open_real(name) as stream:
        return stream.read()


def format_of(name: str) -> DocumentFormat:
    return FORMATS[name.split("/")[0]]


def expected(source: str) -> str:
    return "".join(part if TAG.fullmatch(part) else part.swapcase() for part in TAG.split(source))


def read(name: str, data: bytes, **options: Any) -> list[Segment]:
    readers: dict[str, Callable[..., Any]] = {
        "po": read_po,
        "xliff": read_xliff,
        "tmx": read_tmx,
        "qt": read_qt_ts,
    }
    return list(readers[format_of(name)](BytesIO(data), name, **options))


@pytest.mark.parametrize("name", FILES)
def test_bytes_outside_the_targets_stay(name: str) -> None:
    data = bytes_of(name)
    made, filled = fill(data, format_of(name), **chosen(name))
    assert (made != data) == (filled.targets > 0)


@pytest.mark.parametrize("name", FILES)
def test_a_filled_document_has_nothing_left_to_fill(name: str) -> None:
    made, _ = fill(bytes_of(name), format_of(name), **chosen(name))
    again, filled = fill(made, format_of(name), **chosen(name))
    assert again == made
    assert filled.targets == 0


@pytest.mark.parametrize("name", FILES)
def test_a_document_with_nothing_spliced_keeps_its_bytes(name: str) -> None:
    data = bytes_of(name)
    decode = decode_po if format_of(name) == "po" else decode_xml
    assert splice(decode(data, name), [])[0] == data


def chosen(name: str) -> dict[str, Any]:
    return {"target_language": TARGETS[name]} if name in TARGETS else {}


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("tmx")])
def test_the_reader_finds_translations_where_there_were_none(name: str) -> None:
    data = bytes_of(name)
    everything = {"fuzzy": True} if format_of(name) == "po" else {"unfinished": True}
    before = read(name, data, **everything)
    # In XLIFF a state may say that the text of a target is no translation.
    sure = read(name, data) if format_of(name) == "xliff" else before
    made, _ = fill(data, format_of(name))
    after = read(name, made, **everything)
    want = []
    for segment in before:
        empty = not segment.target.strip() or segment not in sure
        target = expected(segment.source) if empty and segment.source.strip() else segment.target
        want.append(segment._replace(target=target))
    if name == "xliff/weblate.placeholder-mrk.xliff":  # what is protected stays
        want = [want[0]._replace(target="t: %s")]
    if name == "ts/weblate.cs.ts":  # three forms of one source, where there was none
        want[1:2] = [want[1]] * 3
    assert after == want


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("tmx")])
def test_the_reader_finds_every_variant(name: str) -> None:
    data = bytes_of(name)
    target = TARGETS.get(name)
    before = {s.number: s for s in read(name, data, target=target)}
    made, _ = fill(data, "tmx", **chosen(name))
    after = read(name, made, target=target)
    for number, segments in groupby(after, key=lambda segment: segment.number):
        for segment in segments:
            if number not in before:
                assert segment.target == expected(segment.source)
            else:
                assert segment.target == before[number].target


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("po")])
def test_another_parser_sees_only_targets_changed(name: str) -> None:
    def without_targets(data: bytes) -> bytes:
        tree = lxml.etree.parse(BytesIO(data), lxml.etree.XMLParser(resolve_entities=False))
        for element in tree.iter("{*}target", "{*}translation"):
            element.clear()  # attributes too; what follows it is kept aside
        for element in tree.iter("{*}segment"):
            element.attrib.pop("state", None)
        for element in [*tree.iter("{*}target", "{*}translation"), *added_variants(tree)]:
            parent = element.getparent()
            parent.remove(element)
        return re.sub(rb"\s+", b"", lxml.etree.tostring(tree))

    def added_variants(tree: Any) -> list[Any]:
        wanted = TARGETS.get(name)
        return [v for v in tree.iter("tuv") if wanted and wanted in (v.get("{*}lang"), *v.values())]

    data = bytes_of(name)
    made, _ = fill(data, format_of(name), **chosen(name))
    assert without_targets(made) == without_targets(data)


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("po")])
def test_polib_sees_only_translations_and_flags_changed(name: str) -> None:
    def told(data: bytes) -> list[object]:
        document = decode_po(data, name)
        # polib takes more for line ends than gettext does.
        text = re.sub("[\v\f\x1c-\x1e\x85\u2028\u2029]", " ", document.text)
        text = text.replace("\r", "").replace("\ufeff", "")
        return [
            (
                *(entry.msgid, entry.msgid_plural, entry.msgctxt, entry.comment, entry.tcomment),
                *(entry.occurrences, set(entry.flags) - {"fuzzy"}, entry.obsolete),
                *(entry.previous_msgid, sorted(entry.msgstr_plural)),
            )
            for entry in polib.pofile(text + "\n")
        ]

    data = bytes_of(name)
    made, _ = fill(data, "po")
    assert told(made) == told(data)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("xliff/omegat.file-XLIFFFilter-invalid-content.xlf", 7),  # as expat has it
        ("po/translate.tgif-syntax-errors.fr.po", 12),
    ],
)
def test_a_broken_file_is_refused_with_its_line(name: str, line: int) -> None:
    if not real_files("po"):
        pytest.skip("no real files here")
    with pytest.raises(DataError) as caught:
        fill_document(bytes_of(name), format_of(name), list, name=name, options=FillOptions())
    assert caught.value.line == line


def test_a_page_with_nothing_spliced_keeps_its_bytes() -> None:
    data = "\ufeff<p>Käse\r\n".encode()
    assert splice(decode_page(data, "page"), [])[0] == data
