"""Trees and tokens drawn at random, for laws that hold of any."""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from dragoman.trees import Bracket, Leaf, Tree

LABELS = ("S", "NP", "VP", "NP-SBJ", "ADVP", "PRT", "X")
TAGS = ("NN", "VB", ",", ".", "``", "-LRB-")


@st.composite
def leaves(draw: DrawFn, most: int = 8) -> tuple[Leaf, ...]:
    tags = draw(st.lists(st.sampled_from(TAGS), min_size=1, max_size=most))
    return tuple(Leaf(tag, f"w{number}") for number, tag in enumerate(tags))


@st.composite
def trees(draw: DrawFn) -> Tree:
    """Draw spans, keep those that cross none before, and put them in order."""
    words = draw(leaves())
    ends = st.integers(0, len(words))
    spans: list[tuple[int, int]] = []
    for pair in draw(st.lists(st.tuples(ends, ends), max_size=12)):
        a, b = sorted(pair)
        if a < b and not any(c < a < d < b or a < c < b < d for c, d in spans):
            spans.append((a, b))
    spans.sort(key=lambda span: (span[0], -span[1]))
    labels = st.sampled_from(LABELS)
    return Tree(words, tuple(Bracket(draw(labels), *span) for span in spans))


def tokens() -> st.SearchStrategy[list[str]]:
    """Draw what a model may write, and what none should."""
    right = [*(f"({label}" for label in LABELS), *(f"){label}" for label in LABELS), "XX", ",", "."]
    odd = ["", "(", ")", "((S", ")S)", "(S)", "<unk>", "X(", "- -"]
    return st.lists(st.sampled_from([*right, *odd]), max_size=40)
