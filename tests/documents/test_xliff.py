"""What of an XLIFF file is filled, and how it is written."""

import pytest

from dragoman.errors import DataError
from tests.documents.fakes import fill

OLD = '<xliff version="1.2"><file><body>{}</body></file></xliff>'
NEW = '<xliff version="2.0" srcLang="en"><file id="f"><unit id="u">{}</unit></file></xliff>'


def filled(body: str, frame: str = OLD, **options: object) -> str:
    before, after = frame.split("{}")
    made = fill(frame.format(body).encode(), "xliff", **options)[0].decode()
    assert made.startswith(before)
    assert made.endswith(after)
    return made[len(before) : len(made) - len(after)]


def test_a_missing_target_follows_the_source_and_is_indented_like_it() -> None:
    body = '\r\n  <trans-unit id="1">\r\n    <source>Hi &amp; bye</source>\r\n  </trans-unit>\r\n'
    assert filled(body) == body.replace(
        "</source>",
        '</source>\r\n    <target state="needs-review-translation">hI &amp; BYE</target>',
    )


def test_without_review_a_new_target_has_no_state() -> None:
    made = filled("<trans-unit><source>Hi</source></trans-unit>", review=False)
    assert made == "<trans-unit><source>Hi</source><target>hI</target></trans-unit>"


@pytest.mark.parametrize(
    ("target", "made"),
    [
        ("<target></target>", '<target state="needs-review-translation">hI</target>'),
        ("<target />", '<target state="needs-review-translation">hI</target>'),
        (
            "<target a='state=\"x\"' state='new'>Hi</target>",
            "<target a='state=\"x\"' state='needs-review-translation'>hI</target>",
        ),
        ("<target>Da</target>", "<target>Da</target>"),
        ('<target><x id="1"/></target>', '<target><x id="1"/></target>'),
        ('<target state="translated">Da</target>', '<target state="translated">Da</target>'),
    ],
)
def test_a_target_is_filled_when_it_is_empty_or_said_to_be_no_translation(
    target: str, made: str
) -> None:
    unit = "<trans-unit><source>Hi</source>{}<note>n</note></trans-unit>"
    assert filled(unit.format(target)) == unit.format(made)


def test_overwriting_takes_all_targets_but_no_alternatives_and_nothing_locked() -> None:
    body = (
        "<trans-unit><source>A</source><target>x</target>"
        "<alt-trans><source>B</source><target>y</target></alt-trans></trans-unit>"
        '<group translate="no"><trans-unit><source>C</source><target/></trans-unit>'
        '<trans-unit translate="yes"><source>D</source><target/></trans-unit></group>'
    )
    made = filled(body, overwrite=True, review=False)
    assert made == body.replace(">x<", ">a<").replace(
        "<source>D</source><target/>", "<source>D</source><target>d</target>"
    )


def test_inline_tags_are_kept_as_they_are_written() -> None:
    source = (
        '<source>Go <g id=\'1\' >to <x id="2"/></g> the<bpt id="3">&lt;b></bpt> end'
        '<ept id="3">&lt;/b></ept> <mrk mtype="protected">Now</mrk><!-- aside --> on</source>'
    )
    made = filled(f"<trans-unit>{source}</trans-unit>", review=False)
    assert made == (
        f'<trans-unit>{source}<target>gO <g id=\'1\' >TO <x id="2"/></g> THE<bpt id="3">&lt;b>'
        '</bpt> END<ept id="3">&lt;/b></ept> <mrk mtype="protected">Now</mrk> ON</target>'
        "</trans-unit>"
    )


def test_marked_sentences_are_filled_one_by_one() -> None:
    seg = '<mrk mtype="seg" mid="{}">{}</mrk>'
    source = "<source>A b. C d.</source><seg-source>{} {}</seg-source>".format(
        seg.format(1, "A b."), seg.format(2, "C d.")
    )
    none = f"<trans-unit>{source}</trans-unit>"
    made = f"<target>{seg.format(1, 'a B.')} {seg.format(2, 'c D.')}</target>"
    assert filled(none, review=False) == f"<trans-unit>{source}{made}</trans-unit>"
    half = f"<target>{seg.format(1, 'Old.')} {seg.format(2, '')}</target>"
    made = f"<target>{seg.format(1, 'Old.')} {seg.format(2, 'c D.')}</target>"
    unit = "<trans-unit>{}{}</trans-unit>"
    assert filled(unit.format(source, half), review=False) == unit.format(source, made)


def test_segments_of_version_2_get_a_target_and_a_state() -> None:
    body = (
        '<segment id="1"><source>Hi <pc id="1">you</pc></source></segment>'
        "<ignorable><source> </source></ignorable>"
        '<segment state="initial"><source>B</source><target>B</target></segment>'
        '<segment state="final"><source>C</source><target>D</target></segment>'
    )
    assert filled(body, NEW) == (
        '<segment state="translated" id="1"><source>Hi <pc id="1">you</pc></source>'
        '<target>hI <pc id="1">YOU</pc></target></segment>'
        "<ignorable><source> </source></ignorable>"
        '<segment state="translated"><source>B</source><target>b</target></segment>'
        '<segment state="final"><source>C</source><target>D</target></segment>'
    )


def test_a_target_has_the_prefix_of_its_source() -> None:
    frame = '<x:xliff xmlns:x="urn:x"><x:trans-unit>{}</x:trans-unit></x:xliff>'
    made = filled('<x:source xml:space="preserve">Hi </x:source>', frame, review=False)
    assert made == (
        '<x:source xml:space="preserve">Hi </x:source><x:target xml:space="preserve">hI </x:target>'
    )


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig", "cp1251", "shift_jis", "gb18030"])
def test_encoding_mark_and_order_of_bytes_stay(codec: str) -> None:
    head = f'<?xml version="1.0" encoding="{codec.removesuffix("-sig")}"?>\r\n'
    body = OLD.format("<trans-unit><source>Привет 漢字 α</source></trans-unit>")
    body = body.encode(codec.removesuffix("-sig"), "xmlcharrefreplace").decode(codec)
    data = (head + body).encode(codec)
    made, _ = fill(data, "xliff", review=False)
    assert (
        "<target>пРИВЕТ 漢字 Α</target>".encode(codec.removesuffix("-sig"), "xmlcharrefreplace")[
            -12:
        ]
        in made
    )
    assert made[: len(head)] == data[: len(head)]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("<xliff>\n<a></b></xliff>", 2, "not well-formed"),
        ("<tmx>\n</tmx>", 1, "begins with <tmx>"),
        ('<!DOCTYPE xliff [\n<!ENTITY a "b">]><xliff/>', 2, "declares entities"),
        ("<xliff>" + "<a>" * 300, 1, "inside one another"),
        ('<?xml version="1.0" encoding="klingon"?><xliff/>', 1, "encoding"),
        ("", 1, "no element found"),
        (
            '<!DOCTYPE xliff SYSTEM "x.dtd"><xliff>\n<trans-unit><source>&nbsp;</source>'
            "</trans-unit></xliff>",
            2,
            "&nbsp; is declared nowhere",
        ),
    ],
)
def test_what_is_no_xliff_is_refused_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(DataError, match=problem) as caught:
        fill(text.encode(), "xliff")
    assert caught.value.line == line
