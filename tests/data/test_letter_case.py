import pytest

from dragoman.configfile import read_record
from dragoman.data.letter_case import CaseAugmentation, all_caps, has_cases, title_case
from dragoman.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "upper", "title"),
    [
        # By hand; ß becomes SS by the rule of Unicode (SpecialCasing.txt).
        ("ein hund läuft.", "EIN HUND LÄUFT.", "Ein Hund Läuft."),
        ("die Straße", "DIE STRASSE", "Die Straße"),
        ("ßa", "SSA", "Ssa"),
        ("don't (say) “no”", "DON'T (SAY) “NO”", "Don't (Say) “No”"),
        ("ǆ ﬁ", "Ǆ FI", "ǅ Fi"),
        ("два пса", "ДВА ПСА", "Два Пса"),
        ("a  b\tc", "A  B\tC", "A  B\tC"),
        ("3 dogs, 4th", "3 DOGS, 4TH", "3 Dogs, 4th"),
        ("一只狗", "一只狗", "一只狗"),
        ("", "", ""),
    ],
)
def test_cases_are_those_of_unicode(text: str, upper: str, title: str) -> None:
    assert all_caps(text) == upper
    assert title_case(text) == title


def test_what_is_whole_keeps_its_case() -> None:
    assert all_caps("see {name} in <b>x</b>", ("{name}", "<b>", "</b>")) == "SEE {name} IN <b>X</b>"
    assert title_case("see {name} in", ("{name}",)) == "See {name} In"
    assert all_caps("ab abc", ("ab", "abc")) == "ab abc"


def test_scripts_without_cases_have_none() -> None:
    assert has_cases("a")
    assert has_cases("狗 X")
    assert not has_cases("一只狗 3 کتاب")


def test_both_shares_together_leave_some_pairs_as_they_stand() -> None:
    assert read_record(CaseAugmentation, {"upper": 0.1}) == CaseAugmentation(upper=0.1, title=0.0)
    with pytest.raises(ConfigError, match=r"upper: 0\.5 and title 0\.5 leave no pair as it stands"):
        CaseAugmentation(upper=0.5, title=0.5)
    with pytest.raises(ConfigError, match=r"title: .*less than 1"):
        read_record(CaseAugmentation, {"title": 1.0})
