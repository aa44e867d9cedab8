from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ConfigError, DataError
from dragoman.translator import Glossary, read_glossary
from tests.fixtures import tiny_translator


def unchanged(text: str) -> str:
    return text


def found(entries: list[tuple[str, str]], text: str) -> list[str]:
    return [phrase.name for phrase in Glossary(entries, unchanged, unchanged).find(text)]


HEAT = [
    ("Wärmepumpe", "heat pump"),
    ("Pumpe", "pump"),
    ("pumpe ein", "switch on"),
    ("热泵", "heat pump"),
    ("泵", "pump"),
    ("pumpt|pumpen", "pumps|pump"),
]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Die Wärmepumpe läuft.", ["heat pump"]),
        ("Die Wärmepumpen laufen.", []),  # not as a whole word
        ("Luft-Wärmepumpe", ["heat pump"]),
        ("Eine Pumpe und eine Wärmepumpe", ["pump", "heat pump"]),
        ("Pumpe, Pumpe!", ["pump"]),  # once is enough
        ("Er schaltet die Pumpe ein.", ["switch on"]),  # the longer one, whatever its case
        ("Er pumpt, wir pumpen.", ["pumps|pump"]),
        ("这台热泵很好", ["heat pump"]),  # no spaces, and the longer one
        ("泵和热泵", ["pump", "heat pump"]),
        ("PUMPE", []),  # a term with a capital is found as it is written
        ("PUMPT", ["pumps|pump"]),  # one in lower case always
        ("", []),
    ],
)
def test_terms_are_found_as_whole_words_the_longest_first(text: str, names: list[str]) -> None:
    assert found(HEAT, text) == names


def test_of_overlapping_terms_the_one_that_begins_first_is_found() -> None:
    entries = [("a b", "1"), ("b c d", "2")]
    assert found(entries, "a b c d") == ["1"]
    assert found(entries, "x b c d a b") == ["2", "1"]


def test_a_term_given_twice_asks_for_any_of_its_targets() -> None:
    entries = [("Bank", "bank"), ("Bank", "bench"), ("bank", "other")]
    assert found(entries, "die Bank") == ["bank|bench"]  # as written before any case
    assert found(entries, "die BANK") == ["other"]


def test_a_target_may_begin_with_a_capital() -> None:
    (phrase,) = Glossary([("Hund", "dog|ßig")], unchanged, unchanged).find("Hund")
    assert phrase.ways == ("dog", "ßig", "Dog")  # ß would be two letters


def test_texts_and_terms_are_brought_to_their_normal_form() -> None:
    def composed(text: str) -> str:
        return text.replace("u\u0308", "ü")

    glossary = Glossary([("Tu\u0308r", "door")], composed, unchanged)
    assert [phrase.name for phrase in glossary.find("die Tu\u0308r")] == ["door"]
    assert [phrase.name for phrase in glossary.find("die Tür")] == ["door"]


def test_letters_that_become_several_in_lower_case_keep_their_places() -> None:
    assert found([("hund", "dog")], "İİİ Hund") == ["dog"]  # the first is two characters then


def test_a_large_glossary_is_searched_by_length_and_not_term_by_term() -> None:
    entries = [(f"wort{number}", str(number)) for number in range(20_000)]
    assert found(entries, "ein wort7 und wort19999 .") == ["7", "19999"]


def test_a_file_has_terms_comments_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("# heating\n\nWärmepumpe\theat pump\r\nHund \tdog|hound\n", encoding="utf-8")
    assert read_glossary(path) == [("Wärmepumpe", "heat pump"), ("Hund ", "dog|hound")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\na b\n", "line 2: 1 column in place of 2; write the source term, a tab and the"),
        ("a\tb\tc\n", "line 1: 3 columns in place of 2"),
        ("a\t |\n", "line 1: a term is blank"),
        ("# nothing\n", "holds no terms"),
    ],
)
def test_a_wrong_file_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_glossary(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_a_blank_term_is_refused() -> None:
    with pytest.raises(ConfigError, match="glossary: entry 2 has a blank term; leave the entry"):
        Glossary([("a", "b"), ("a", " | ")], unchanged, unchanged)


@pytest.mark.parametrize("given", ["terms.tsv", ("dog", "hound"), [("dog",)], [("dog", 1)]])
def test_a_glossary_that_is_no_list_of_pairs_is_told_what_it_is(given: Any) -> None:
    with pytest.raises(TypeError, match="glossary is a list of pairs"):
        tiny_translator().translate(["the dog"], glossary=given)
