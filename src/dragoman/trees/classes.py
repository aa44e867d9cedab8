"""Classes for words too rare to be learned (after Petrov et al. 2006, and parsers before them).

A word that a parser knows nothing of still shows whether it is a number, a name or a plural. Its
class says so, and many rare words share one.
"""

from collections.abc import Collection, Sequence

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


def with_classes(words: Sequence[str], known: Collection[str]) -> list[str]:
    """Put the class of each unknown word in its place.

    Args:
        words: of a sentence.
        known: words that stay. If there are classes among them, an unknown one loses its ending.
    """
    classes = any(word.startswith(MARK) for word in known)
    found: list[str] = []
    for word in words:
        name = word if word in known else word_class(word)
        found.append(_shape(word) if classes and name not in known else name)
    return found
