"""What of a gettext catalogue is filled, and how it is written."""

import polib
import pytest

from dragoman.documents import fill_document
from dragoman.errors import DataError
from dragoman.translator import Fragment
from tests.documents.fakes import fill

HEAD = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'


def filled(entry: str, **options: object) -> str:
    made = fill((HEAD + entry).encode(), "po", **options)[0].decode()
    assert made.startswith(HEAD)
    return made[len(HEAD) :]


def test_an_empty_string_is_filled_and_marked_as_fuzzy() -> None:
    assert filled('#: a.c:1\nmsgid "One \\"two\\""\nmsgstr ""\n') == (
        '#: a.c:1\n#, fuzzy\nmsgid "One \\"two\\""\nmsgstr "oNE \\"TWO\\""\n'
    )
    assert filled('#, c-format\nmsgid "One"\nmsgstr ""') == (
        '#, fuzzy, c-format\nmsgid "One"\nmsgstr "oNE"'
    )


def test_without_review_only_the_string_changes() -> None:
    assert filled('msgid "One"\nmsgstr ""\n', review=False) == 'msgid "One"\nmsgstr "oNE"\n'


def test_translated_doubtful_and_obsolete_entries_stay() -> None:
    entries = (
        'msgid "A"\nmsgstr "x"\n\n'
        '#, fuzzy\n#| msgid "old"\nmsgid "B"\nmsgstr "y"\n\n'
        '#~ msgid "C"\n#~ msgstr ""\n'
    )
    assert filled(entries) == entries
    _, found = fill((HEAD + entries).encode(), "po")
    assert found.targets == 0
    assert found.left == {
        "had a translation": 1,
        "doubtful translation (fuzzy)": 1,
        "obsolete": 1,
    }


def test_a_fuzzy_mark_stands_before_what_a_string_was() -> None:
    assert filled('# hi\n#| msgid "old"\nmsgid "B"\nmsgstr ""\n') == (
        '# hi\n#, fuzzy\n#| msgid "old"\nmsgid "B"\nmsgstr "b"\n'
    )


def test_overwriting_replaces_all_lines_of_a_string() -> None:
    entry = 'msgid "A"\nmsgstr ""\n"x\\n"\n  "y"\n'
    assert filled(entry, overwrite=True, review=False) == 'msgid "A"\nmsgstr "a"\n'


def test_form_0_translates_the_singular_and_the_others_the_plural() -> None:
    entry = (
        'msgid "a day"\nmsgid_plural "%d days"\nmsgstr[0] "{}"\nmsgstr[1] "{}"\nmsgstr[2] "{}"\n'
    )
    made = filled(entry.format("", "", ""), review=False)
    assert made == entry.format("A DAY", "%D DAYS", "%D DAYS")
    made = filled(entry.format("kept", "", "kept"), review=False)
    assert made == entry.format("kept", "%D DAYS", "kept")


def test_a_language_with_one_form_translates_the_plural() -> None:
    entry = 'msgid "a day"\nmsgid_plural "%d days"\nmsgstr[0] "{}"\n'
    assert filled(entry.format(""), review=False) == entry.format("%D DAYS")


def test_long_and_broken_strings_take_several_lines_as_gettext_writes_them() -> None:
    words = "word " * 30
    entry = f'msgid ""\n"{words[:75]}"\n"{words[75:]}"\nmsgstr ""\n'
    made = filled(entry, review=False)
    assert made == (
        f'msgid ""\n"{words[:75]}"\n"{words[75:]}"\nmsgstr ""\n"{"WORD " * 15}"\n"{"WORD " * 15}"\n'
    )
    entry = 'msgid "a\\nb\\n"\nmsgstr ""\n'
    assert filled(entry, review=False) == 'msgid "a\\nb\\n"\nmsgstr ""\n"A\\n"\n"B\\n"\n'


def test_a_catalogue_that_is_not_wrapped_stays_so() -> None:
    text = "word " * 30
    entry = f'msgid "{text}"\nmsgstr ""\n'
    assert filled(entry, review=False) == f'msgid "{text}"\nmsgstr "{text.upper()}"\n'


def test_line_ends_and_indentation_are_those_of_the_entry() -> None:
    entry = '  msgid "a\\nb"\r\n  msgstr ""\r\n'
    assert filled(entry) == (
        '  #, fuzzy\r\n  msgid "a\\nb"\r\n  msgstr ""\r\n  "A\\n"\r\n  "B"\r\n'
    )


def test_special_characters_survive() -> None:
    text = 'tab\t quote" back\\slash \\n'

    def translate(fragments: list[Fragment]) -> list[Fragment]:
        return [(text,) for _ in fragments]

    made, _ = fill_document((HEAD + 'msgid "A"\nmsgstr ""\n').encode(), "po", translate)
    assert polib.pofile(made.decode())[0].msgstr == text


def test_what_the_encoding_lacks_is_left_empty_and_named() -> None:
    data = (HEAD.replace("UTF-8", "cp1252") + 'msgid "A"\nmsgstr ""\n').encode()
    made, found = fill_document(data, "po", lambda fragments: [("шум",) for _ in fragments])
    assert made == data
    assert found.left == {"not written": 1}
    assert [(r.line, r.text) for r in found.remarks] == [
        (4, "left as it was: 'ш' is not in cp1252; convert the file with msgconv -t UTF-8")
    ]


def test_multi_byte_encodings_are_kept() -> None:
    head = HEAD.replace("UTF-8", "Shift_JIS")
    data = (head + 'msgid "A"\nmsgstr "表示"\n\nmsgid "b"\nmsgstr ""\n').encode("shift_jis")
    made, _ = fill(data, "po", review=False)
    assert made.endswith(b'msgid "b"\nmsgstr "B"\n')


def test_what_is_no_catalogue_is_refused_with_its_line() -> None:
    with pytest.raises(DataError) as caught:
        fill((HEAD + 'msgid "A"\nmsgstr "a"b"\n').encode(), "po")
    assert caught.value.line == 5
