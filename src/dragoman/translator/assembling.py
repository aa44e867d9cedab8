"""What was found of the parts of a segment, put together into a translation."""

from collections.abc import Iterator, Sequence
from itertools import islice

from dragoman.decoding import Hypothesis, NoRoom
from dragoman.tokenization import Tokenizer
from dragoman.translator.planning import Plan
from dragoman.translator.translation import Candidate, Translation

NOTHING_LEFT = (
    "no translation within the limit is left by what may not come and what must; allow more, "
    "require less, or widen the beam"
)


def assemble(
    tokenizer: Tokenizer,
    plan: Plan,
    supply: Iterator[Sequence[Hypothesis] | NoRoom],
    every: bool = False,
) -> Translation:
    """Make a translation of what was found of the parts of a plan; join every way, or the best.

    Each way is one hypothesis of each part.
    """
    found = list(islice(supply, len(plan.parts)))
    if plan.copied:
        copied = Candidate(plan.text, 0.0, (), (), False)
        return Translation(plan.text, (copied,), copied=True)
    errors = [str(part) for part in found if isinstance(part, NoRoom)]
    if errors:
        return Translation(plan.text, (), error=errors[0])
    parts = [
        [_candidate(tokenizer, hypothesis) for hypothesis in part]
        for part in found
        if not isinstance(part, NoRoom)
    ]
    if not parts:
        return Translation(plan.text, (), shortened=plan.shortened)
    if not all(parts):
        return Translation(plan.text, (), error=NOTHING_LEFT)
    ways = [*zip(*parts, strict=False)]  # of several parts the second bests do not match
    ways = ways if every or len(parts) == 1 else ways[:1]
    joined = tuple(plan.join(way) for way in ways)
    read = tuple(tuple(part.ids) for part in plan.parts)
    return Translation(plan.text, joined, shortened=plan.shortened, parts=len(parts), read=read)


def _candidate(tokenizer: Tokenizer, hypothesis: Hypothesis) -> Candidate:
    ids = hypothesis.ids if hypothesis.truncated else (*hypothesis.ids, tokenizer.special.end)
    return Candidate(
        tokenizer.decode(hypothesis.ids),
        hypothesis.score,
        tuple(tokenizer.pieces(ids)),
        hypothesis.log_probs,
        hypothesis.truncated,
        written=(tuple(ids),),
    )
