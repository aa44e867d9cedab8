"""Where a phrase stands in a text as words of their own.

A phrase that begins or ends with a letter, digit or ``_`` stands only where no other one touches
it, so "cat" is not in "cats" or "concatenate". Letters of scripts without spaces (Chinese,
Japanese, Thai, Lao, Khmer, Burmese) are no bounds: next to them a phrase stands inside of longer
text too. Upper and lower case are told apart.
"""

import re
from collections.abc import Sequence

# Letters of scripts that put no space between words.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
LETTER = re.compile(rf"[^\W{UNSPACED}]")  # a word character of the others


def is_letter(character: str) -> bool:
    """Say whether a character belongs to a word that spaces bound; nothing does not."""
    return LETTER.match(character) is not None


def whole_words(phrases: Sequence[str]) -> "re.Pattern[str]":
    """Make an expression that finds any of the phrases in a text, the longest first."""
    ways = [_bounded(phrase) for phrase in sorted(phrases, key=len, reverse=True)]
    return re.compile("|".join(ways))


def _bounded(phrase: str) -> str:
    before = rf"(?<!{LETTER.pattern})" if is_letter(phrase[0]) else ""
    after = rf"(?!{LETTER.pattern})" if is_letter(phrase[-1]) else ""
    return before + re.escape(phrase) + after
