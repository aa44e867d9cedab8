"""How well brackets are found: what EVALB counts (Sekine and Collins 1997; its README, section 7).

    recall = matched / gold    precision = matched / found    F1 = 2 P R / (P + R)

of labelled brackets with their spans, over all sentences together. Like EVALB with its
``COLLINS.prm``, this leaves out punctuation with its words, traces, the root, and then brackets
without words; takes functions off labels; counts ADVP and PRT as one; lets a bracket that stands
n times over the same words match at most n times; and skips a sentence that has no words left or
other words than the gold one. The part-of-speech tags play no role but to say what is left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from dragoman.trees.tree import Tree

Span = tuple[str, int, int]  # label, first word, one past the last
_FUNCTION = re.compile("[-=]")


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts; the defaults are those of EVALB's ``COLLINS.prm``.

    Args:
        deleted: labels that do not count. Above a word they take the word out as well.
        same_labels: labels, and which other one each counts as.
        same_words: likewise words.
    """

    deleted: frozenset[str] = frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."})
    same_labels: Mapping[str, str] = field(default_factory=lambda: {"PRT": "ADVP"})
    same_words: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class BracketScore:
    """What was counted in one sentence, or added up over several; zeros unless it was scored.

    Args:
        sentences: how many, those not scored included.
        errors: sentences whose words differ from the gold ones.
        skipped: sentences of which nothing was found.
        matched: brackets found that are right.
        gold: brackets that there are.
        found: brackets that were found.
        exact: sentences with all brackets right and none besides.
        crossing: brackets found that cross a gold one.
        uncrossed: sentences in which none does.
    """

    sentences: int = 0
    errors: int = 0
    skipped: int = 0
    matched: int = 0
    gold: int = 0
    found: int = 0
    exact: int = 0
    crossing: int = 0
    uncrossed: int = 0

    @property
    def scored(self) -> int:
        """Sentences that count."""
        return self.sentences - self.errors - self.skipped

    @property
    def recall(self) -> float:
        """Share in [0, 1] of the gold brackets that were found; 0 without any."""
        return self.matched / self.gold if self.gold else 0.0

    @property
    def precision(self) -> float:
        """Share in [0, 1] of the brackets found that are right; 0 without any."""
        return self.matched / self.found if self.found else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in [0, 1]; 0 when nothing matches."""
        return 2 * self.matched / (self.gold + self.found) if self.matched else 0.0

    @property
    def exact_match(self) -> float:
        """Share in [0, 1] of the scored sentences that are all right."""
        return self.exact / self.scored if self.scored else 0.0

    @property
    def mean_crossing(self) -> float:
        """Crossing brackets a sentence."""
        return self.crossing / self.scored if self.scored else 0.0

    @property
    def no_crossing(self) -> float:
        """Share in [0, 1] of the scored sentences without a crossing bracket."""
        return self.uncrossed / self.scored if self.scored else 0.0


COLLINS = Rules()


def score_brackets(gold: Tree, found: Tree | None, rules: Rules = COLLINS) -> BracketScore:
    """Compare one sentence.

    Args:
        gold: what is right.
        found: what is to be judged; None, as a blank line gives, is skipped.
        rules: what counts.
    """
    if found is None:
        return BracketScore(sentences=1, skipped=1)
    words, right = _counted(gold, rules)
    found_words, given = _counted(found, rules)
    if not found_words:
        return BracketScore(sentences=1, skipped=1)
    if words != found_words:
        return BracketScore(sentences=1, errors=1)
    matched = (right & given).total()
    crossing = _crossing(right, given)
    return BracketScore(
        sentences=1,
        matched=matched,
        gold=right.total(),
        found=given.total(),
        exact=int(matched == right.total() == given.total()),
        crossing=crossing,
        uncrossed=int(not crossing),
    )


def add_scores(scores: Iterable[BracketScore]) -> BracketScore:
    """Add up the counts of sentences; of none, zeros."""
    rows = [[getattr(score, each.name) for each in fields(score)] for score in scores]
    return BracketScore(*map(sum, zip(*rows, strict=True)))


def _counted(tree: Tree, rules: Rules) -> tuple[list[str], Counter[Span]]:
    """Give the words and the brackets that count, places counted in those words."""
    places = [0]
    words: list[str] = []
    for leaf in tree.leaves:
        if leaf.tag not in rules.deleted:
            words.append(rules.same_words.get(leaf.word, leaf.word))
        places.append(len(words))
    spans: Counter[Span] = Counter()
    for bracket in tree.brackets:
        label = _FUNCTION.split(bracket.label)[0]
        label = rules.same_labels.get(label, label)
        start, end = places[bracket.start], places[bracket.end]
        if start < end and label not in rules.deleted:
            spans[label, start, end] += 1
    return words, spans


def _crossing(gold: Counter[Span], found: Counter[Span]) -> int:
    """Count the brackets found that share words with a gold one, neither being inside the other."""
    spans = {(start, end) for _, start, end in gold}
    return sum(
        count
        for (_, start, end), count in found.items()
        if any(a < start < b < end or start < a < end < b for a, b in spans)
    )
