"""How many tokens and items are wrong, by edit distance to the closest of several references.

For grapheme-to-phoneme conversion the token error rate is the phoneme error rate (PER) and the
item error rate the word error rate (WER); for speech, with words as tokens, the token error rate
is the WER.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

Tokens = Sequence[Hashable]


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """What was counted over a corpus; the rates follow from it.

    Args:
        items: number of items compared, at least 1.
        exact: items that equal one of their references.
        edits: substitutions, insertions and deletions to the closest references.
        reference_tokens: tokens of those closest references, at least 1.
    """

    items: int
    exact: int
    edits: int
    reference_tokens: int

    @property
    def token_error_rate(self) -> float:
        """Edits per reference token; above 1 when far too much was said."""
        return self.edits / self.reference_tokens

    @property
    def item_error_rate(self) -> float:
        """Share in [0, 1] of items that equal none of their references."""
        return 1 - self.exact / self.items

    @property
    def exact_match(self) -> float:
        """Share in [0, 1] of items that equal one of their references."""
        return self.exact / self.items


def error_rate(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> ErrorRate:
    """Compare each item with the closest of its references.

    Args:
        hypotheses: tokens of each item; may be empty.
        references: for each item one or more token sequences, all of them right. Of several at
            the same distance the first counts.

    Raises:
        ValueError: the counts differ, there are none, an item has no reference, or the closest
            references hold no token to divide by.
        TypeError: a string stands where the list of references of an item should.
    """
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses, {len(references)} references")
    if not hypotheses:
        raise ValueError("there is nothing to compare")
    exact = edits = reference_tokens = 0
    for number, (tokens, choices) in enumerate(zip(hypotheses, references, strict=True), start=1):
        if isinstance(choices, str):
            raise TypeError(f"item {number}: its references are one string, not a list of them")
        if not choices:
            raise ValueError(f"item {number}: has no reference")
        distance, length = min(
            ((edit_distance(tokens, choice), len(choice)) for choice in choices),
            key=lambda found: found[0],
        )
        exact += distance == 0
        edits += distance
        reference_tokens += length
    if reference_tokens == 0:
        raise ValueError("references: hold no token, so there is nothing to divide by")
    return ErrorRate(len(hypotheses), exact, edits, reference_tokens)


def edit_distance(a: Tokens, b: Tokens) -> int:
    """Count the substitutions, insertions and deletions that turn ``a`` into ``b`` (Levenshtein).

    Takes len(a) * len(b) steps and memory for one row.
    """
    row = list(range(len(b) + 1))  # distances from the first i tokens of a to each start of b
    for i, left in enumerate(a, start=1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, start=1):
            changed = diagonal + (left != right)
            diagonal = row[j]
            row[j] = min(changed, row[j] + 1, row[j - 1] + 1)
    return row[-1]
