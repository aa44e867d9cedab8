import io
from collections import Counter
from typing import Any

import pytest

from dragoman.data.formats.qt_ts import read_qt_ts
from dragoman.data.formats.segment import Segment
from tests.data.formats.real_files import open_real, real_files

REAL = real_files("ts")


def read(messages: str, **asked: Any) -> list[Segment]:
    context = f"<context><name>C</name>{messages}</context>"
    text = f"<!DOCTYPE TS>\n<TS version='2.1' language='de'>{context}</TS>"
    return list(read_qt_ts(io.BytesIO(text.encode()), "a.ts", **asked))


def message(translation: str, extra: str = "") -> str:
    return f"<message><source>a</source>{extra}{translation}</message>"


def test_a_message_is_a_pair_in_its_context() -> None:
    extra = "<comment>k</comment><extracomment>e</extracomment>"
    extra += "<translatorcomment>t</translatorcomment>"
    messages = message("<translation>b</translation>", extra)
    assert read(messages) == [Segment(1, "a", "b", "C/k", "e\nt")]


def test_a_context_without_name_has_none() -> None:
    messages = message("<translation>b</translation>")
    assert read(f"</context><context>{messages}") == [Segment(1, "a", "b")]


def test_translations_that_do_not_exist_are_empty() -> None:
    messages = message("<translation type='unfinished'></translation>") + message("")
    assert read(messages) == [Segment(1, "a", "", "C"), Segment(2, "a", "", "C")]


def test_unfinished_translations_are_left_out_and_counted_unless_asked_for() -> None:
    left_out = Counter[str]()
    messages = message("<translation type='unfinished'>b</translation>")
    assert read(messages, left_out=left_out) == []
    assert left_out == {"unfinished": 1}
    assert read(messages, unfinished=True) == [Segment(1, "a", "b", "C")]


@pytest.mark.parametrize("state", ["vanished", "obsolete"])
def test_messages_the_program_has_no_more_are_left_out_and_counted(state: str) -> None:
    left_out = Counter[str]()
    messages = message(f"<translation type='{state}'>b</translation>")
    messages += message("<translation>c</translation>")
    assert read(messages, unfinished=True, left_out=left_out) == [Segment(2, "a", "c", "C")]
    assert left_out == {state: 1}


def test_each_plural_form_with_text_is_a_pair() -> None:
    forms = "<numerusform>%n b</numerusform>\n<numerusform>%n c</numerusform><numerusform/>"
    messages = message(f"<translation>\n{forms}\n</translation>")
    assert read(messages) == [Segment(1, "a", "%n b", "C"), Segment(1, "a", "%n c", "C")]


def test_plural_forms_without_text_are_one_empty_target() -> None:
    forms = "\n<numerusform/>\n<numerusform></numerusform>\n"
    messages = message(f"<translation type='unfinished'>{forms}</translation>")
    assert read(messages) == [Segment(1, "a", "", "C")]


def test_of_translations_by_length_the_longest_counts() -> None:
    variants = "<lengthvariant>long</lengthvariant><lengthvariant>l</lengthvariant>"
    messages = message(f"<translation variants='yes'>{variants}</translation>")
    assert read(messages) == [Segment(1, "a", "long", "C")]


def test_bytes_that_xml_cannot_hold_are_characters() -> None:
    # 0x1b and decimal 27 are both Escape.
    messages = message("<translation>b<byte value='x1b'/>c<byte value='27'/></translation>")
    assert read(messages) == [Segment(1, "a", "b\x1bc\x1b", "C")]


def test_entities_are_decoded_once_and_placeholders_stay() -> None:
    messages = message("<translation>&lt;b&gt;%1 &amp;amp; %n&lt;/b&gt;</translation>")
    assert read(messages)[0].target == "<b>%1 &amp; %n</b>"


@pytest.mark.parametrize("entry", REAL, ids=lambda entry: entry["file"])
def test_real_files_have_the_messages_that_the_manifest_counts(entry: dict[str, Any]) -> None:
    left_out = Counter[str]()
    with open_real(entry["file"]) as stream:
        segments = list(read_qt_ts(stream, "a", left_out=left_out))
    numbers = {segment.number for segment in segments}
    assert len(numbers) + left_out.total() == entry["message"]
    assert max(numbers) <= entry["message"]


@pytest.mark.parametrize(
    ("name", "empty", "left_out"),
    [
        # The manifest's unfinished messages are those without text here, and one with text; in the
        # Chinese file three messages without text are called finished.
        ("qterminal.ar.ts", 6, {}),
        ("qterminal.zh_CN.ts", 7 + 3, {}),
        ("weblate.cs.ts", 2, {"unfinished": 1, "obsolete": 1}),
    ],
)
def test_unfinished_messages_of_real_files(name: str, empty: int, left_out: dict[str, int]) -> None:
    if not REAL:
        pytest.skip("the real files are not beside the repository")
    counted = Counter[str]()
    with open_real(f"ts/{name}") as stream:
        segments = list(read_qt_ts(stream, name, left_out=counted))
    assert sum(segment.target == "" for segment in segments) == empty
    assert counted == left_out
