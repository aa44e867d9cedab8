import contextlib
import io
import lzma
import socket
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.formats import po
from dragoman.data.formats.po import read_mo, read_po
from dragoman.data.formats.segment import Segment
from dragoman.errors import ConfigError, DataError, MissingExtraError
from tests.data.formats.real_files import open_real, place_of_fault, real_files

HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset={}\\n"\n\n'
REAL_PO = [entry for entry in real_files("po") if "reader_error" not in entry]
REAL_MO = real_files("mo")


def read(text: str, encoding: str = "utf-8", **asked: Any) -> list[Segment]:
    return list(read_po(io.BytesIO(text.encode(encoding)), "a.po", **asked))


def compiled(*pairs: tuple[bytes, bytes], order: str = "<") -> bytes:
    """Lay a catalogue out as the gettext manual does (section "The Format of GNU MO Files")."""
    count, start = len(pairs), 28 + 16 * len(pairs)
    tables, strings = b"", b""
    for side in (0, 1):
        for pair in pairs:
            tables += struct.pack(f"{order}2I", len(pair[side]), start + len(strings))
            strings += pair[side] + b"\0"
    head = struct.pack(f"{order}7I", 0x950412DE, 0, count, 28, 28 + 8 * count, 0, start)
    return head + tables + strings


def test_an_entry_is_a_pair_with_context_and_notes() -> None:
    text = '#. for translators\n# by one\n#: a.c:1\nmsgctxt "menu"\nmsgid "a"\nmsgstr "b"\n'
    notes = "for translators\nby one"
    assert read(HEADER.format("UTF-8") + text) == [Segment(1, "a", "b", "menu", notes)]


def test_strings_over_several_lines_are_joined_and_escapes_decoded_once() -> None:
    text = 'msgid ""\n"a\\n"\n"\\"b\\" \\\\n %s {x}"\nmsgstr "c"\n'
    assert read(HEADER.format("UTF-8") + text) == [Segment(1, 'a\n"b" \\n %s {x}', "c")]


def test_the_first_plural_form_translates_the_singular_and_the_others_the_plural() -> None:
    text = 'msgid "%d day"\nmsgid_plural "%d days"\n'
    text += "".join(f'msgstr[{form}] "{form}"\n' for form in range(3))
    assert read(text) == [
        Segment(1, "%d day", "0"),
        Segment(1, "%d days", "1"),
        Segment(1, "%d days", "2"),
    ]


def test_doubtful_and_obsolete_entries_are_left_out_and_counted() -> None:
    text = '#, fuzzy, c-format\nmsgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr "d"\n\n'
    text += '#~ msgid "e"\n#~ msgstr "f"\n'
    left_out = Counter[str]()
    assert read(text, left_out=left_out) == [Segment(2, "c", "d")]
    assert left_out == {"fuzzy": 1, "obsolete": 1}
    assert read(text, fuzzy=True) == [Segment(1, "a", "b"), Segment(2, "c", "d")]


def test_translations_that_do_not_exist_are_empty() -> None:
    assert read('msgid "a"\nmsgstr ""\n') == [Segment(1, "a", "")]


@pytest.mark.parametrize(
    ("charset", "word"),
    # In Shift-JIS the second byte of 表 is that of a backslash.
    [("SHIFT_JIS", "表"), ("CP1251", "ё"), ("EUC-KR", "한"), ("GBK", "汉"), ("ISO-8859-15", "€")],
)
def test_the_encoding_that_the_header_names_is_used(charset: str, word: str) -> None:
    text = HEADER.format(charset) + f'msgid "a"\nmsgstr "{word}"\n'
    assert read(text, encoding=charset) == [Segment(1, "a", word)]


@pytest.mark.parametrize("charset", ["CHARSET", "hex", "rot13", "idna", "unicode_escape", "UTF-16"])
def test_a_header_that_names_no_encoding_of_text_means_utf_8(charset: str) -> None:
    text = HEADER.format(charset) + 'msgid "a"\nmsgstr "é"\n'
    assert read(text) == [Segment(1, "a", "é")]


def test_the_user_can_overrule_the_header() -> None:
    text = HEADER.format("koi8-r") + 'msgid "a"\nmsgstr "é"\n'
    raw = io.BytesIO(text.encode("latin-1"))
    assert list(read_po(raw, "a", encoding="latin-1")) == [Segment(1, "a", "é")]


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(ConfigError, match="encoding: 'nonsense' is no encoding"):
        list(read_po(io.BytesIO(b""), "a", encoding="nonsense"))


def test_bytes_outside_the_encoding_are_located() -> None:
    with pytest.raises(DataError, match=r"a\.po: line 2: not utf-8 \(byte 0xe9 at byte 18 of"):
        list(read_po(io.BytesIO(b'msgid "a"\nmsgstr "\xe9"\n'), "a.po"))


@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_decides(mark: str) -> None:
    assert read('msgid "a"\nmsgstr "é"\n', encoding=mark) == [Segment(1, "a", "é")]


@pytest.mark.parametrize("sign", "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
def test_only_line_feeds_end_lines(sign: str) -> None:
    text = f'\f\nmsgid "a{sign}b"\nmsgstr ""\n"{sign}c"\n# d{sign}e\n'
    assert read(text) == [Segment(1, f"a{sign}b", f"{sign}c")]


@pytest.mark.parametrize("end", ["\r\n", "\r\r\n"])
def test_carriage_returns_before_a_line_end_belong_to_it(end: str) -> None:
    text = f'msgid "a"{end}msgstr ""{end}"b"{end}'
    assert read(text) == [Segment(1, "a", "b")]


@pytest.mark.parametrize("last", ["#:", "#,", "#.", "#", "# end", "#~| x", "#: a.c:1", ""])
def test_the_last_entry_is_not_lost_to_a_remark_after_it(last: str) -> None:
    assert read(f'msgid "a"\nmsgstr "b"\n{last}') == [Segment(1, "a", "b")]


def test_a_text_that_is_a_path_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "secret.po"
    path.write_text('msgid "a"\nmsgstr "b"\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.po: line 1: not the syntax"):
        read(str(path))


def test_broken_syntax_is_located() -> None:
    with pytest.raises(DataError, match=r"a\.po: line 3: not the syntax of a catalogue \(unesca"):
        read('\nmsgid "a"\nmsgstr "b"c"\n')


def test_an_entry_without_end_is_refused_at_once() -> None:
    with pytest.raises(DataError, match="line 10002: more than 10,000 lines of text or remarks"):
        read('msgid "a"\n' + '"b"\n' * 500_000)


def test_a_catalogue_without_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(po, "LARGEST", 1 << 20)
    with pytest.raises(DataError, match="larger than 1 MiB"):
        read("#\n" * (1 << 20))


def test_a_path_is_unpacked_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.po.xz"
    path.write_bytes(lzma.compress(b'msgid "a"\nmsgstr "b"\n'))
    assert list(read_po(path, str(path))) == [Segment(1, "a", "b")]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.mo: no such file"):
        list(read_mo(tmp_path / "a.mo", "a.mo"))


def test_without_polib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ImportError

    monkeypatch.setattr(po, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'dragoman\[formats\]'"):
        read("")


@pytest.mark.parametrize("order", ["<", ">"])
def test_compiled_catalogues_have_contexts_and_plurals(order: str) -> None:
    header = b"Content-Type: text/plain; charset=latin-1\n"
    plural = (b"menu\x04day\0days", "t\xe9\0u\0v".encode("latin-1"))
    raw = compiled((b"", header), (b"a", b"b"), plural, order=order)
    assert list(read_mo(io.BytesIO(raw), "a.mo")) == [
        Segment(1, "a", "b"),
        Segment(2, "day", "té", "menu"),
        Segment(2, "days", "u", "menu"),
        Segment(2, "days", "v", "menu"),
    ]


def test_compiled_catalogues_that_repeat_their_strings_are_refused() -> None:
    raw = bytearray(compiled(*[(b"a", b"b")] * 100))
    for place in range(28, 28 + 800, 8):
        raw[place : place + 8] = struct.pack("<2I", len(raw), 0)
    with pytest.raises(DataError, match=r"a\.mo: strings lie outside the file or overlap"):
        list(read_mo(io.BytesIO(raw), "a.mo"))


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "not a compiled catalogue"),
        (b"msgid", "not a compiled catalogue"),
        (compiled((b"a", b"b"))[:30], "cut short: 1 strings do not fit"),
        (compiled((b"a", b"\xff")), r"an entry is not utf-8 \(byte 0xff\)"),
        (b"\xde\x12\x04\x95\0\0\xff\0" + bytes(20), "unexpected major revision"),
    ],
)
def test_damaged_compiled_catalogues_are_refused(raw: bytes, problem: str) -> None:
    with pytest.raises(DataError, match=rf"a\.mo: .*{problem}"):
        list(read_mo(io.BytesIO(raw), "a.mo"))


@pytest.mark.parametrize("entry", REAL_PO, ids=lambda entry: entry["file"])
def test_real_catalogues_have_the_entries_that_the_manifest_counts(entry: dict[str, Any]) -> None:
    left_out = Counter[str]()
    with open_real(entry["file"]) as stream:
        segments = list(read_po(stream, "a", left_out=left_out))
    with open_real(entry["file"]) as stream:
        every = list(read_po(stream, "a", fuzzy=True))
    empty = {segment.number for segment in segments if segment.target == ""}
    # The manifest's entries are not obsolete, but its doubtful ones may be.
    assert len({segment.number for segment in every}) == entry["entries"]
    assert len({segment.number for segment in segments}) == entry["entries"] - left_out["fuzzy"]
    assert left_out["obsolete"] == entry["obsolete"]
    assert left_out["fuzzy"] <= entry["fuzzy"] <= left_out["fuzzy"] + left_out["obsolete"]
    assert len(empty) == entry["untranslated"]
    contexts = {segment.number for segment in every if segment.context}
    assert len(contexts) == entry["context"]


def test_a_real_catalogue_in_another_encoding_than_it_says_is_located() -> None:
    if not REAL_PO:
        pytest.skip("the real files are not beside the repository")
    # "charset= koi8-r" names none, as for gettext; the bytes are Latin-1.
    with (
        open_real("po/translate.tgif-syntax-errors.fr.po") as stream,
        pytest.raises(DataError, match=r"line 12: not utf-8 \(byte 0xe9 at byte 345"),
    ):
        list(read_po(stream, "a"))


@pytest.mark.parametrize("entry", REAL_MO, ids=lambda entry: entry["file"])
def test_real_compiled_catalogues_have_the_entries_counted(entry: dict[str, Any]) -> None:
    with open_real(entry["file"]) as stream:
        segments = list(read_mo(stream, "a"))
    assert len({segment.number for segment in segments}) == entry["entries"]
    repeated = Counter(segment.number for segment in segments)
    assert sum(count > 1 for count in repeated.values()) <= entry["plural"]
    assert len({s.number for s in segments if s.context}) == entry["context"]


def test_a_compiled_catalogue_agrees_with_its_text() -> None:
    if not REAL_MO:
        pytest.skip("the real files are not beside the repository")
    with open_real("po/django.de.po") as text, open_real("mo/django.de.mo") as binary:
        pairs = {s[1:4] for s in read_po(text, "a") if s.target}
        assert {s[1:4] for s in read_mo(binary, "a")} == pairs


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a reader opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)


@given(raw=st.binary(max_size=200))
def test_random_bytes_are_refused_or_hold_nothing(raw: bytes) -> None:
    with contextlib.suppress(DataError):
        assert list(read_po(io.BytesIO(raw), "a")) == []
    with pytest.raises(DataError):
        list(read_mo(io.BytesIO(raw), "a"))


@given(
    lines=st.lists(
        st.sampled_from(['msgid "a"', 'msgstr "b"', '"c"', "#~ ", "#| x", "#, fuzzy", "msgstr[1]"])
        | st.text(max_size=8),
        max_size=12,
    )
)
def test_lines_in_any_order_give_segments_or_a_place(lines: list[str]) -> None:
    raw = "\n".join(lines).encode("utf-8", "surrogatepass")
    assert place_of_fault(lambda: list(read_po(io.BytesIO(raw), "a"))) != "nowhere"


FILES = [entry["file"] for entry in REAL_PO + REAL_MO if entry["bytes"] < 20_000] or [None]


@settings(max_examples=100)
@given(data=st.data(), name=st.sampled_from(FILES))
def test_damaged_catalogues_give_segments_or_an_error(
    data: st.DataObject, name: str | None
) -> None:
    if name is None:
        pytest.skip("the real files are not beside the repository")
    with open_real(name) as stream:
        raw = bytearray(stream.read())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        end = start + data.draw(st.integers(0, 30))
        raw[start:end] = data.draw(st.binary(max_size=8))
    with contextlib.suppress(DataError):
        list((read_mo if name.startswith("mo/") else read_po)(io.BytesIO(raw), "a"))
