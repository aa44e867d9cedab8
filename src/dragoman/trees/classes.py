"""Classes for words too rare to be learned (after Petrov et al. 2006, and parsers before them).

A word that a parser knows nothing of still shows whether it is a number, a name or a plural. Its
class says so, and many rare words share one.
"""

from collections.abc import Collection, Iterable

SUFFIXES = (  # longest first
    *("ation", "able", "ible", "less", "ment", "ness", "ship", "tion", "sion"),
    *("ant", "ent", "est", "ful", "ing", "ion", "ism", "ist", "ity", "ive", "ous"),
    *("al", "ed", "en", "er", "es", "ic", "ly", "or", "ry", "s", "y"),
)
MARK = "~"  # no word of the treebank starts with it


def word_class(word: str) -> str:
    """Name the class of a word: ``~``, its shape, and its ending if it is one of ``SUFFIXES``.

    The shape is ``9`` if there is a digit, else ``A`` if all is in capitals, ``Aa`` if the first
    letter is one, ``a`` if there is a letter, ``.`` otherwise; with ``-`` behind if a hyphen joins
    parts.
    """
    letters = word.lower()
    fits = (s for s in SUFFIXES if letters.endswith(s) and len(word) > len(s) + 1)
    return _shape(word) + next(fits, "")


def _shape(word: str) -> str:
    if any(sign.isdigit() for sign in word):
        shape = "9"
    elif word.isupper():
        shape = "A"
    elif word[:1].isupper():
        shape = "Aa"
    else:
        shape = "a" if any(sign.isalpha() for sign in word) else "."
    return f"{MARK}{shape}-" if "-" in word[1:-1] else f"{MARK}{shape}"


class KnownWords:
    """Words that are read as they are, all others as their classes.

    Args:
        words: that are known, and perhaps classes. If there are some, a class that is not among
            them loses its ending.
    """

    def __init__(self, words: Collection[str]) -> None:
        self.words = frozenset(words)
        self.classes = any(word.startswith(MARK) and len(word) > 1 for word in words)

    def __contains__(self, word: str) -> bool:
        return word in self.words

    def read(self, words: Iterable[str]) -> list[str]:
        """Put the class of each unknown word in its place."""
        return [word if word in self.words else self._class(word) for word in words]

    def _class(self, word: str) -> str:
        name = word_class(word)
        return _shape(word) if self.classes and name not in self.words else name
