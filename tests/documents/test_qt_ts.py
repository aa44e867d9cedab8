"""What of a Qt translation source is filled, and how it is written."""

import pytest

from tests.documents.fakes import fill

FRAME = "<!DOCTYPE TS><TS><context><name>C</name>{}</context></TS>"


def filled(message: str, **options: object) -> str:
    before, after = FRAME.split("{}")
    made = fill(FRAME.format(message).encode(), "qt", **options)[0].decode()
    return made[len(before) : len(made) - len(after)]


@pytest.mark.parametrize(
    ("translation", "review", "made"),
    [
        ('<translation type="unfinished"></translation>', True, ' type="unfinished"'),
        ('<translation type="unfinished"/>', True, ' type="unfinished"'),
        ('<translation type="unfinished" />', False, ""),
        ("<translation></translation>", True, ' type="unfinished"'),
        ("<translation/>", False, ""),
        ("", True, ' type="unfinished"'),
    ],
)
def test_an_empty_translation_is_filled_and_stays_unfinished_for_review(
    translation: str, review: bool, made: str
) -> None:
    message = "<message><source>Don&apos;t</source>{}</message>"
    assert filled(message.format(translation), review=review).replace(" >", ">") == message.format(
        f"<translation{made}>dON&apos;T</translation>"
    )


def test_gone_and_translated_messages_stay() -> None:
    message = '<message><source>A</source><translation type="{}">{}</translation></message>'
    for state, text in (("vanished", ""), ("obsolete", ""), ("unfinished", "x"), ("", "x")):
        assert filled(message.format(state, text)) == message.format(state, text)


def test_every_plural_form_is_filled() -> None:
    message = (
        '<message numerus="yes"><source>%n day(s)</source><translation>{}</translation></message>'
    )
    forms = "<numerusform>%N DAY(S)</numerusform>"
    made = filled(message.format("<numerusform></numerusform> <numerusform/>"), review=False)
    assert made == message.format(f"{forms} {forms}")
    assert filled(message.format(""), review=False) == message.format(forms)
