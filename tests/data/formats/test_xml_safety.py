import gzip
import io
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.formats import xml_safety
from dragoman.data.formats.qt_ts import read_qt_ts
from dragoman.data.formats.segment import Segment
from dragoman.data.formats.tmx import read_tmx
from dragoman.data.formats.xliff import read_xliff
from dragoman.errors import DataError, MissingExtraError
from tests.data.formats.real_files import open_real, place_of_fault, real_files

READERS: dict[str, Callable[[BinaryIO, str], Iterator[Segment]]] = {
    "tmx": read_tmx,
    "xliff": read_xliff,
    "ts": read_qt_ts,
}
UNIT = "<tu><tuv xml:lang='en'><seg>{}</seg></tuv><tuv xml:lang='de'><seg>b</seg></tuv></tu>"


def tmx(text: str, *, before: str = "", encoding: str = "utf-8") -> bytes:
    units = UNIT.format(text)
    body = f"{before}<tmx version='1.4'><header srclang='en'/><body>{units}</body></tmx>"
    return body.encode(encoding)


def sources(raw: bytes) -> list[str]:
    return [segment.source for segment in read_tmx(io.BytesIO(raw), "a.tmx")]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a reader opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)


def test_entities_that_grow_are_refused() -> None:
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    document = f'<!DOCTYPE tmx [<!ENTITY l0 "ha">{laughs}]>\n'
    with pytest.raises(DataError, match=r"a\.tmx: line 1: declares entities of its own"):
        sources(tmx("&l9;", before=document))


def test_entities_that_grow_in_an_attribute_of_the_first_element_are_refused() -> None:
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    raw = f'<!DOCTYPE tmx [<!ENTITY l0 "ha">{laughs}]><tmx a="&l9;"/>'.encode()
    with pytest.raises(DataError, match=r"a\.tmx: line 1: "):
        sources(raw)


@pytest.mark.parametrize(
    "document",
    [
        '<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE tmx [<!ENTITY x SYSTEM "http://127.0.0.1:9/x">]>',
        '<!DOCTYPE tmx [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;]>',
    ],
)
def test_entities_from_elsewhere_are_refused(document: str) -> None:
    with pytest.raises(DataError, match=r"a\.tmx: line \d: "):
        sources(tmx("&x;", before=document))


def test_a_document_type_elsewhere_is_not_read() -> None:
    document = '<!DOCTYPE tmx SYSTEM "http://127.0.0.1:9/tmx14.dtd">\n'
    assert sources(tmx("a", before=document)) == ["a"]


def test_a_document_type_beside_the_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.dtd").write_text('<!ENTITY e "from the folder">', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"line 1: the entity &e; is declared nowhere"):
        sources(tmx("&e;", before='<!DOCTYPE tmx SYSTEM "a.dtd">'))


def test_an_entity_that_only_such_a_document_type_could_declare_is_located() -> None:
    document = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
    with pytest.raises(DataError, match=r"line 2: the entity &nbsp; is declared nowhere"):
        sources(tmx("a&nbsp;b", before=document))


def test_an_entity_without_any_document_type_is_located() -> None:
    with pytest.raises(DataError, match=r"line 2: not well-formed XML .*nbsp"):
        sources(tmx("a&nbsp;b", before="\n"))


def test_what_xinclude_names_is_not_read() -> None:
    include = (
        '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd" parse="text"/>'
    )
    assert sources(tmx(f"a{include}b")) == ["ab"]


@pytest.mark.parametrize("depth", [300, 100_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    with pytest.raises(DataError, match=r"line 1: not well-formed XML \(Excessive depth"):
        sources(tmx("<hi>" * depth + "</hi>" * depth))


@pytest.mark.parametrize("start", ["", "<!DOCTYPE tmx [", "<tmx>", "<tmx><tu>"])
def test_a_file_in_which_nothing_wanted_comes_is_refused(
    start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xml_safety, "MOST_SILENT", 1 << 20)
    filling = b"<!ELEMENT a (b)>\n" if "[" in start else b"<a/>\n"
    raw = (start or "<a>").encode() + filling * 400_000
    with pytest.raises(DataError, match=r"a\.tmx: no <tu> begins or ends in 1 MiB"):
        sources(raw)


def test_comments_sections_and_instructions_do_not_break_text() -> None:
    assert sources(tmx("a<!-- no -->b<![CDATA[<c>]]>d<?no?>e")) == ["ab<c>de"]


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("UTF-16", "utf-16"),
        ("utf-8", "utf-8-sig"),
        ("ISO-8859-1", "latin-1"),
        ("windows-1252", "cp1252"),
        ("UTF-16LE", "utf-16-le"),
    ],
)
def test_the_declared_encoding_is_used(declared: str, encoding: str) -> None:
    declaration = f'<?xml version="1.0" encoding="{declared}"?>'
    assert sources(tmx("é", before=declaration, encoding=encoding)) == ["é"]


def test_bytes_outside_the_encoding_are_located() -> None:
    raw = tmx("X", before='<?xml version="1.0" encoding="utf-8"?>\n\n').replace(b"X", b"\xe9")
    with pytest.raises(DataError, match=r"a\.tmx: line 3: not well-formed XML"):
        sources(raw)


@pytest.mark.parametrize("raw", [b"", b"\n", b"\0\0", b"<tmx>\n<body>", b"plain text"])
def test_what_is_no_xml_is_located(raw: bytes) -> None:
    with pytest.raises(DataError, match=r"a\.tmx: line \d"):
        sources(raw)


def test_another_kind_of_xml_is_named() -> None:
    with pytest.raises(DataError, match=r"line 2: begins with <html>, expected <tmx>; give a file"):
        sources(b"<!DOCTYPE html>\n<html><tu/></html>")
    with pytest.raises(DataError, match=r"line 1: another kind of XML; give a file with <tmx>"):
        sources(b"<!DOCTYPE html>\n<html/>")


def test_lines_beyond_65535_are_counted() -> None:
    before = "\n" * 70_000
    with pytest.raises(DataError, match=r"line 70001: the target language is not clear"):
        sources(tmx("a", before=before).replace(b"</tu>", b"<tuv lang='x'><seg/></tuv></tu>"))


def test_memory_does_not_grow_with_the_file() -> None:
    class Endless(io.RawIOBase):
        def __init__(self, units: int) -> None:
            self.left, self.units = b"<tmx><header srclang='en'/><body>", units

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            while len(self.left) < size and self.units:
                self.left += UNIT.format("word " * 200).encode() * 10 + b"<odd/>\n<!-- -->"
                self.units -= 10
                if not self.units:
                    self.left += b"</body></tmx>"
            chunk, self.left = self.left[:size], self.left[size:]
            return chunk

    tracemalloc.start()  # of Python's own objects, of which lxml makes one for each element
    count = sum(1 for _ in read_tmx(Endless(5000), "a.tmx"))  # type: ignore[arg-type]  # it reads
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 5000
    assert peak < 2_000_000


def test_a_path_is_unpacked_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx.gz"
    path.write_bytes(gzip.compress(tmx("a")))
    assert [segment.source for segment in read_tmx(path, str(path))] == ["a"]


def test_a_packed_file_cut_short_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx.gz"
    path.write_bytes(gzip.compress(tmx("a"))[:-9])
    with pytest.raises(DataError, match=r"a\.tmx\.gz: damaged gzip"):
        list(read_tmx(path, "a"))


def test_without_lxml_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ImportError

    monkeypatch.setattr(xml_safety, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'dragoman\[formats\]'"):
        sources(tmx("a"))


@given(raw=st.binary(max_size=300), kind=st.sampled_from(sorted(READERS)))
def test_random_bytes_are_refused_with_a_place(raw: bytes, kind: str) -> None:
    with pytest.raises(DataError, match="line"):
        list(READERS[kind](io.BytesIO(raw), "a"))


XML_FILES = [e["file"] for kind in READERS for e in real_files(kind)] or [None]


@settings(max_examples=150)
@given(data=st.data(), name=st.sampled_from(XML_FILES))
def test_damaged_files_give_segments_or_a_place(data: st.DataObject, name: str | None) -> None:
    if name is None:
        pytest.skip("the real files are not beside the repository")
    with open_real(name) as stream:
        raw = bytearray(stream.read())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        end = start + data.draw(st.integers(0, 30))
        raw[start:end] = data.draw(
            st.binary(max_size=8) | st.sampled_from([b"<x>", b"&y;", b"]]>"])
        )
    reader = READERS[name.split("/")[0]]
    assert place_of_fault(lambda: list(reader(io.BytesIO(raw), "a"))) != "nowhere"
