"""Longest match first, as one regular expression that the ``tokenizers`` library can run.

Its own WordPiece model knows no bytes: a character it has no piece for makes the whole word
unknown, and the text is lost. Here a splitter cuts each word into its longest pieces, and a model
that only looks pieces up spells what is left over in bytes.

The expression is the tree of the pieces, read from the left: after each character either one that
goes on to a longer piece, or the end of the match. ``a``, ``ab`` and ``abc`` give
``a(?:b(?:[c])?)?``. So it takes the longest piece, and goes back to a shorter one where a longer
begins but does not end.
"""

from collections.abc import Iterable, Sequence

_Branch = tuple[str, str]  # a character, and the expression for what may follow it
_WIDE = 8  # branches tried one after the other; more are first told apart by ranges


def longest_match(pieces: Iterable[str]) -> str:
    """Write the expression that matches the longest of the pieces at each place.

    Args:
        pieces: none empty; at least one.

    Returns:
        An expression in the syntax of Oniguruma.

    Raises:
        ValueError: there is no piece, or an empty one, which would match everywhere.
    """
    ends = set(pieces)
    if not ends or "" in ends:
        raise ValueError("pieces: one is empty" if ends else "pieces: there are none")
    following: dict[str, set[str]] = {}  # by beginning of a piece
    for piece in ends:
        for length, character in enumerate(piece):
            following.setdefault(piece[:length], set()).add(character)
    onward: dict[str, str] = {}
    for beginning in sorted(following, key=len, reverse=True):  # what follows is there before
        characters = sorted(following[beginning])
        choice = _choice([(each, onward.pop(beginning + each, "")) for each in characters])
        onward[beginning] = f"(?:{choice})" + ("?" if beginning in ends else "")
    return onward[""]


def _choice(branches: Sequence[_Branch]) -> str:
    """Match one of the branches, which begin with different characters in order."""
    last = [character for character, onward in branches if not onward]
    longer = [branch for branch in branches if branch[1]]
    size = max(_WIDE, -(-len(longer) // _WIDE))
    groups = [longer[start : start + size] for start in range(0, len(longer), size)]
    options = [_group(group) if len(groups) > 1 else _each(group) for group in groups]
    # The library refuses more than 10,000 characters in one class.
    options += [_one_of(last[start : start + 5_000]) for start in range(0, len(last), 5_000)]
    return "|".join(options)


def _group(branches: Sequence[_Branch]) -> str:
    """Match one of the branches, after a glance at the range of their first characters."""
    first, last = branches[0][0], branches[-1][0]
    inner = _choice(branches) if len(branches) > _WIDE else _each(branches)
    return f"(?=[{_escape(first)}-{_escape(last)}])(?:{inner})"


def _each(branches: Sequence[_Branch]) -> str:
    return "|".join(_escape(character) + onward for character, onward in branches)


def _one_of(characters: Sequence[str]) -> str:
    return "[" + "".join(map(_escape, characters)) + "]"


def _escape(character: str) -> str:
    return f"\\x{{{ord(character):X}}}"
