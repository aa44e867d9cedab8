"""What the score of a translation is made of, in words."""

from collections.abc import Iterator

from dragoman.decoding import length_penalty
from dragoman.translator.translation import Candidate, Translation, one_line

_CLOSE = 1e-4


def explanation(translation: Translation, alpha: float) -> Iterator[str]:
    """Say how each hypothesis of a translation got its score, the best first.

    Args:
        translation: of one segment.
        alpha: exponent of the length penalty that it was searched with.

    Yields:
        Lines; the source first, those of hypotheses and their terms begin with white space.
    """
    yield one_line(translation.source)
    if translation.copied:
        yield "  copied: blank or without letters, the model was not asked"
        return
    if not translation.hypotheses:
        yield f"  no translation: {translation.error or 'longer than the model takes'}"
        return
    if translation.flags:
        yield f"  looks wrong: {', '.join(translation.flags)}"
    best = translation.score
    for place, candidate in enumerate(translation.hypotheses, start=1):
        behind = f" ({candidate.score - best:+.4f})" if place > 1 else ""
        yield f"  {place}. {one_line(candidate.text)}"
        yield f"     score {candidate.score:.4f}{behind} = {_sum(translation, candidate, alpha)}"
        pieces = zip(candidate.tokens, candidate.token_log_probs, strict=True)
        shown = "  ".join(f"{one_line(token)!r} {value:.4f}" for token, value in pieces)
        yield f"     {shown}"


def _sum(translation: Translation, candidate: Candidate, alpha: float) -> str:
    length, total = len(candidate.tokens), sum(candidate.token_log_probs)
    end = "reached the length limit" if candidate.truncated else "end symbol included"
    if translation.parts > 1:
        return f"sum over {translation.parts} parts, each over its own penalty"
    penalty = length_penalty(length, alpha)
    terms = f"{total:.4f} / {penalty:.4f}, ((5 + {length}) / 6)^{alpha:g}; {length} pieces, {end}"
    rest = candidate.score - total / penalty
    return terms if abs(rest) < _CLOSE else f"{terms}; other terms {rest:+.4f}"
