"""What of a translation memory is filled, and how it is written."""

import pytest

from dragoman.errors import ConfigError, DataError
from tests.documents.fakes import fill

FRAME = '<tmx version="1.4"><header srclang="en"/><body>{}</body></tmx>'


def filled(body: str, **options: object) -> str:
    before, after = FRAME.split("{}")
    made = fill(FRAME.format(body).encode(), "tmx", **options)[0].decode()
    return made[len(before) : len(made) - len(after)]


def variant(language: str, text: str) -> str:
    return f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>'


def test_an_empty_variant_is_filled() -> None:
    made = filled(f"<tu>{variant('en', 'Hi')}{variant('de', '')}</tu>")
    assert made == f"<tu>{variant('en', 'Hi')}{variant('de', 'hI')}</tu>"


def test_a_missing_variant_follows_the_others_and_is_written_like_them() -> None:
    unit = '\n <tu>\n  <tuv lang="EN-us">\n   <seg>Hi <ph x="1"/></seg>\n  </tuv>\n </tu>\n'
    made = filled(unit, target_language="de", source_language="en")
    assert made == (
        '\n <tu>\n  <tuv lang="EN-us">\n   <seg>Hi <ph x="1"/></seg>\n  </tuv>'
        '\n  <tuv lang="de">\n   <seg>hI <ph x="1"/></seg>\n  </tuv>\n </tu>\n'
    )


def test_a_language_is_found_with_any_region_and_without_one() -> None:
    unit = f"<tu>{variant('en-GB', 'Hi')}{variant('de_AT', '')}</tu>"
    assert filled(unit, target_language="de") == unit.replace("<seg></seg>", "<seg>hI</seg>")


def test_the_other_language_of_the_file_is_the_target() -> None:
    first = f"<tu>{variant('en', 'A')}{variant('fr-CA', 'B')}</tu>"
    made = filled(f"{first}<tu>{variant('en', 'C')}</tu>")
    assert made == f"{first}<tu>{variant('en', 'C')}{variant('fr-CA', 'c')}</tu>"


def test_units_without_a_source_stay() -> None:
    unit = f"<tu>{variant('es', 'Hola')}</tu>"
    assert filled(unit, target_language="de") == unit


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (f"<tu>{variant('en', 'A')}</tu>", "no unit so far has another language"),
        (
            f"<tu>{variant('en', 'A')}{variant('de', '')}{variant('fr', '')}</tu>",
            r"target language is not clear \(languages: de, fr\); choose one, such as "
            "--target-language fr",
        ),
        (f"<tu srclang='*all*'>{variant('en', 'A')}</tu>", "source language is not clear"),
    ],
)
def test_a_language_must_be_chosen_where_the_file_leaves_it_open(body: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        filled(body)


@pytest.mark.parametrize("language", ["\u4e2d", "a b", "\x01", ""])
def test_a_language_that_is_no_tag_is_an_error(language: str) -> None:
    with pytest.raises(ConfigError, match="no tag of a language"):
        fill(b"<tmx/>", "tmx", target_language=language)
