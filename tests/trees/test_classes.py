import pytest

from dragoman.trees import with_classes, word_class


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
    assert with_classes(["the", "zebra", "sleeps"], {"the"}) == ["the", "~a", "~as"]


def test_a_class_that_is_unknown_loses_its_ending() -> None:
    known = {"the", "~a", "~as"}
    assert with_classes(["zebras", "galloping"], known) == ["~as", "~a"]
