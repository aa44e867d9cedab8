import builtins
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.data import Files, Filters, Pair, PairFilter
from dragoman.data.check import check
from dragoman.data.check.characters import CharacterTable
from dragoman.data.check.finding import Findings
from dragoman.data.check.language_names import family_of, short_name
from dragoman.data.check.languages import Languages, Ranking, load_identifier, words_of
from dragoman.data.check.profile import chunks_of
from dragoman.errors import MissingExtraError
from tests.data.check.planted import clean, write

GERMAN = "der kleine hund schläft im garten nummer"
ENGLISH = "the little dog sleeps in garden number"


def by_article(text: str) -> Ranking:
    """Identify as an independent fake: by the first word; anything else is doubtful."""
    sure = {"der": "de", "the": "en", "le": "fr", "den": "nn"}.get(text.partition(" ")[0])
    rest = [(name, 0.01) for name in ("de", "en", "fr", "no", "nn") if name != sure]
    return [(sure, 0.96), *rest] if sure else [("en", 0.4), ("de", 0.3), ("fr", 0.3)]


def found_in(
    texts: Sequence[tuple[str, str]], languages: tuple[str | None, str | None] = (None, None)
) -> tuple[Languages, dict[str, list[int]]]:
    pairs = [Pair(number, *sides) for number, sides in enumerate(texts, start=1)]
    table, findings = CharacterTable(), Findings()
    profile, chunks = chunks_of(pairs, table)
    found = Languages(by_article, profile, languages)
    for chunk in chunks:
        found.look(chunk, findings)
    return found, {kind.kind.name: kind.lines.tolist() for kind in findings.all()}


def usual(count: int = 40) -> list[tuple[str, str]]:
    return [(f"{GERMAN} {at}", f"{ENGLISH} {at}") for at in range(count)]


def test_a_side_is_what_it_mostly_is_and_others_are_found() -> None:
    texts = usual()
    texts[7] = (f"{ENGLISH} 7 again", texts[7][1])
    texts[9] = (texts[9][0], "le petit chien dort dans le jardin")
    languages, found = found_in(texts)
    assert languages.source is not None
    assert languages.target is not None
    assert (languages.source.name, languages.target.name) == ("de", "en")
    assert found == {"wrong-language": [8, 10]}


def test_a_pair_foreign_on_both_sides_is_one_and_lines_rise() -> None:
    texts = usual()
    foreign = "le petit chien dort dans le jardin"
    texts[4], texts[9], texts[14] = (texts[4][0], foreign), (foreign, foreign), (foreign, "the")
    assert found_in(texts)[1] == {"wrong-language": [5, 10, 15]}


def test_short_or_doubtful_texts_are_not_judged() -> None:
    texts = usual()
    texts[3] = ("the dog sleeps", texts[3][1])  # 12 letters
    texts[4] = ("Garten Nummer Vier Hund schläft", texts[4][1])  # 40 % English, says the fake
    assert found_in(texts)[1] == {}


def test_what_the_corpus_is_declared_to_be_goes_first() -> None:
    texts = usual(12)
    _, found = found_in(texts, ("fr-FR", "eng"))
    assert found == {"wrong-language": list(range(1, 13))}


def test_languages_that_identifiers_confuse_are_one() -> None:
    texts = [
        (source, f"den lille hunden sover i hagen {at}") for at, (source, _) in enumerate(usual(12))
    ]
    assert found_in(texts, ("de", "nb"))[1] == {}


def test_a_side_without_a_clear_language_or_with_an_unknown_one_is_left_alone() -> None:
    mixed = [(s if at % 2 else t, t) for at, (s, t) in enumerate(usual())]
    assert found_in(mixed)[0].source is None
    assert found_in(usual(), ("wo", None))[0].source is None
    assert found_in([])[0].target is None


def test_names_of_languages_are_made_short() -> None:
    names = ("pt-BR", "swh", "zho_Hans", "iw", "wo")
    assert [short_name(name) for name in names] == ["pt", "sw", "zh", "he", "wo"]
    assert family_of("hr") == {"hr", "bs", "sr"}
    assert family_of("ko") == {"ko"}


def test_text_without_spaces_is_told_by_its_characters() -> None:
    assert words_of("Der Hund") == {"der", "hund"}
    assert words_of("男人和女人坐在一座潮湿的小木屋外面，他们在那里说话。") >= {"男", "屋"}


def test_lines_of_the_other_side_are_found_by_the_real_identifier(tmp_path: Path) -> None:
    texts = clean(300)
    planted = {
        41: "the weather was cold and it rained all day long",
        99: "Il faisait froid hier soir",
    }
    for line, text in planted.items():
        texts[line - 1] = (text, texts[line - 1][1])
    report = check(write(tmp_path, texts)).sets[0]
    found = report.find("wrong-language")
    assert found is not None
    assert found.lines.tolist() == [41, 99]
    assert (report.source.language, report.target.language) == ("de", "en")
    assert next(report.lines().__iter__()).startswith("train: ")


def test_the_identifier_knows_the_languages_of_the_shared_corpora() -> None:
    known = {language for language, _ in load_identifier()("a")}
    assert known >= {"de", "en", "fr", "zh", "sw", "ha", "yo", "ar", "he", "vi", "ko"}


@pytest.fixture
def _without_identifier(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "py3langid":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", absent)


@pytest.mark.usefixtures("_without_identifier")
def test_without_the_extra_check_says_what_it_did_not_look_for(tmp_path: Path) -> None:
    report = check(write(tmp_path, clean(50))).sets[0]
    note = "wrong-language was not looked for; it needs: pip install 'dragoman[language]'"
    assert report.notes == (note,)
    assert report.source.language is None


@pytest.mark.usefixtures("_without_identifier")
def test_without_the_extra_a_filter_that_needs_it_is_an_error() -> None:
    with pytest.raises(MissingExtraError, match=r"wrong-language needs an extra.*\[language\]"):
        PairFilter(Filters(drop=("wrong-language",)))


def test_a_filter_goes_by_the_same_languages(tmp_path: Path) -> None:
    texts = clean(100)
    texts[60] = (texts[60][1], texts[60][1])
    files: Files = write(tmp_path, texts)
    found = check(files).sets[0].find("wrong-language")
    filtered = PairFilter(Filters(drop=("wrong-language",)), source_language="de")
    pairs = [Pair(number, *sides) for number, sides in enumerate(texts, start=1)]
    assert len(list(filtered.kept(pairs))) == 99
    assert found is not None
    assert filtered.counts == {"wrong-language": found.pairs} == {"wrong-language": 1}
