import pytest

from dragoman.trees import KnownWords, word_class


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("barking", "~aing"),
        ("tables", "~aes"),
        ("cats", "~as"),
        ("nationalization", "~aation"),
        ("Wilhelmina", "~Aa"),
        ("NATO", "~A"),
        ("3,400", "~9"),
        ("mid-1980s", "~9-s"),
        ("long-lived", "~a-ed"),
        ("-LRB-", "~A"),
        ("%", "~."),
        ("s", "~a"),
        ("is", "~a"),
    ],
)
def test_a_class_says_shape_and_ending(word: str, name: str) -> None:
    assert word_class(word) == name


def test_only_unknown_words_become_classes() -> None:
    known = KnownWords(["the", "~"])
    assert known.read(["the", "zebra", "sleeps"]) == ["the", "~a", "~as"]
    assert "the" in known
    assert "zebra" not in known
    assert not known.classes


def test_a_class_that_is_unknown_loses_its_ending() -> None:
    known = KnownWords(["the", "~a", "~as"])
    assert known.classes
    assert known.read(["zebras", "galloping"]) == ["~as", "~a"]
