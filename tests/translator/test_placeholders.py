import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.translator.placeholders import (
    came_through,
    placeholders_of,
    target_of,
    translate_protected,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%s of %d files, %5.2f%%", ["%s", "%d", "%5.2f", "%%"]),
        ("%(name)s has %(count)d", ["%(name)s", "%(count)d"]),
        ("%1$s and %2$-10ld", ["%1$s", "%2$-10ld"]),
        ("%1 of %2, %L3 and %n", ["%1", "%2", "%L3", "%n"]),
        ("%1%2", ["%1", "%2"]),
        (
            "{name}, {0}, {}, {x!r:>5.2f}, {a.b[0]}",
            ["{name}", "{0}", "{}", "{x!r:>5.2f}", "{a.b[0]}"],
        ),
        ("${var} and {{ user.name }} {% if x %}", ["${var}", "{{ user.name }}", "{% if x %}"]),
        ("See https://a.org/b?c=%20d#e.", ["https://a.org/b?c=%20d#e"]),
        ("(www.a.org/x), a.b+c@d-e.co.uk!", ["www.a.org/x", "a.b+c@d-e.co.uk"]),
        ("100% sure, 50 % off, 3%, a % b, { not one }, $5, a@b", []),
        ("100%discount", []),
    ],
)
def test_placeholders_are_what_formats_and_browsers_take_for_one(
    text: str, expected: list[str]
) -> None:
    assert placeholders_of(text) == expected


@pytest.mark.parametrize(
    ("source", "target", "good"),
    [
        ("%s files", "%s Dateien", True),
        ("{a} of {b}", "{b} hat {a}", True),  # they say themselves which they are
        ("%1$s %2$s", "%2$s %1$s", True),
        ("%s of %d", "%d von %s", False),
        ("%s files", "Dateien", False),
        ("%s files", "%s %s Dateien", False),
        ("%(n)s files", "%(N)s Dateien", False),
        ("{a} files", "{a} von {b}", False),
    ],
)
def test_a_translation_holds_them_exactly_as_often(source: str, target: str, good: bool) -> None:
    assert came_through(source, target) == good


def shout(texts: Sequence[str]) -> list[str]:
    """Lose every placeholder by changing its case."""
    return [text.upper() for text in texts]


def test_a_good_translation_is_taken_whole() -> None:
    (found,) = translate_protected(lambda texts: [f"<{text}>" for text in texts], ["Hi {name}!"])
    assert [(each.source, each.target) for each in found] == [("Hi {name}!", "<Hi {name}!>")]


def test_otherwise_the_text_is_cut_at_its_placeholders() -> None:
    (found,) = translate_protected(shout, ["Hello %s,  see {url} now. "])
    assert target_of(found) == "HELLO %s,  SEE {url} NOW. "
    assert [each.source for each in found if not each.copied] == ["Hello", ",  see", "now."]


def test_text_of_nothing_but_placeholders_is_not_translated() -> None:
    asked: list[str] = []

    def translate(texts: Sequence[str]) -> list[str]:
        asked.extend(texts)
        return list(texts)

    texts = ["%s", "", "{name}: {value}", "https://example.org", "12 %"]
    assert [target_of(each) for each in translate_protected(translate, texts)] == texts
    assert asked == []


def test_a_part_that_grows_a_placeholder_is_copied() -> None:
    def translate(texts: Sequence[str]) -> list[str]:
        return [f"{text.replace('%s', '')} %d" for text in texts]

    (found,) = translate_protected(translate, ["Hello %s there"])
    assert target_of(found) == "Hello %s there"


WORDS = ["one", "Haus", "你好", "%s", "%d", "%(n)s", "{x}", "{}", "${v}", "{{ a }}", "%1", "%2$s",
         "http://a.b/c", "me@a.org", "%%", "100%", "%", "{", "."]  # fmt: skip


def disturbed(seed: int) -> Callable[[Sequence[str]], list[str]]:
    """Make a translator that loses, doubles, moves or changes words."""

    def translate(texts: Sequence[str]) -> list[str]:
        rng = random.Random(seed)
        found: list[str] = []
        for text in texts:
            words = [word for word in text.split() for _ in range(rng.choice([0, 1, 1, 2]))]
            if rng.random() < 0.5:
                rng.shuffle(words)
            if rng.random() < 0.3:
                words.append(rng.choice(WORDS))
            found.append(" ".join(w.upper() if rng.random() < 0.2 else w for w in words))
        return found

    return translate


@given(
    words=st.lists(st.sampled_from(WORDS), max_size=8),
    space=st.sampled_from(["", " ", "  "]),
    seed=st.integers(0, 2**31),
)
def test_none_is_lost_doubled_or_altered(words: list[str], space: str, seed: int) -> None:
    text = space.join(words)
    (found,) = translate_protected(disturbed(seed), [text])
    assert "".join(each.source for each in found) == text
    if placeholders_of(text):
        assert sorted(placeholders_of(target_of(found))) == sorted(placeholders_of(text))
