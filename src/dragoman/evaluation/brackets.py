"""Parsing as translation: trees written as tokens, compared with trees (section 6.3)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.errors import DataError
from dragoman.trees import BracketScore, Leaf, Repaired, add_scores, repair, score_brackets


@dataclass(frozen=True, slots=True)
class TokensScore:
    """How well sequences of tokens are the trees that they should be.

    Args:
        brackets: what was counted, EVALB's way; no sentence is left out.
        malformed: sequences that were no tree over as many words before they were repaired.
        faults: what was wrong with them, by kind.
    """

    brackets: BracketScore
    malformed: int
    faults: Counter[str]


def score_tokens(hypotheses: Sequence[str], references: Sequence[str]) -> TokensScore:
    """Compare what a model wrote with linearized trees.

    The reference says how many words a sentence has and which of them are punctuation, which the
    sentence does too; what was written is repaired to a tree over those.

    Args:
        hypotheses: tokens with blanks between; any text.
        references: as ``dragoman.trees.linearize`` writes them, as many.

    Raises:
        ValueError: the counts differ.
        DataError: a reference is no tree; it names the line, from 1.
    """
    scores: list[BracketScore] = []
    faults: Counter[str] = Counter()
    malformed = 0
    for number, (text, right) in enumerate(zip(hypotheses, references, strict=True), start=1):
        gold = _reference(right.split(), number)
        found = repair(text.split(), gold.tree.leaves)
        malformed += not found.valid
        faults += found.faults
        scores.append(score_brackets(gold.tree, found.tree))
    return TokensScore(add_scores(scores), malformed, faults)


def _reference(tokens: Sequence[str], number: int) -> Repaired:
    leaves = [Leaf(token, token) for token in tokens if token[0] not in "()"]
    problem = "holds no word"
    if leaves:
        found = repair(tokens, leaves)
        if found.valid:
            return found
        problem = ", ".join(f"{fault} {count}" for fault, count in found.faults.items())
    hint = "give it in the tokens of dragoman trees linearize"
    raise DataError("references", f"no tree ({problem})", hint, line=number)
