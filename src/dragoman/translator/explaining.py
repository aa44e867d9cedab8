"""How the translation of a segment was found, in words: its score, and the steps of the search."""

from collections.abc import Iterator
from dataclasses import fields

from dragoman.decoding import BeamSearch, Ended, LengthForm, Opened, Stop, Terms, Trace
from dragoman.translator.translation import Candidate, Translation, one_line

_CLOSE = 1e-4


def explanation(translation: Translation) -> Iterator[str]:
    """Say how each hypothesis of a translation got its score, the best first, and then the search.

    Args:
        translation: of one segment; what a score is made of, and the search, are told where it
            was translated with ``trace=True``.

    Yields:
        Lines; the source first, all others begin with white space.
    """
    yield one_line(translation.source)
    if translation.copied:
        yield "  copied: blank or without letters, the model was not asked"
        return
    if not translation.hypotheses:
        yield f"  no translation: {translation.error or 'longer than the model takes'}"
    if translation.flags:
        yield f"  looks wrong: {', '.join(translation.flags)}"
    best = translation.score
    for place, candidate in enumerate(translation.hypotheses, start=1):
        behind = f" ({candidate.score - best:+.4f})" if place > 1 else ""
        made = _made(translation, place, candidate)
        yield f"  {place}. {one_line(candidate.text)}"
        yield f"     score {candidate.score:.4f}{behind}{made}"
        pieces = zip(candidate.tokens, candidate.token_log_probs, strict=True)
        shown = "  ".join(f"{one_line(token)!r} {value:.4f}" for token, value in pieces)
        yield f"     {shown}"
    for part, trace in enumerate(translation.traces, start=1):
        several = f" of part {part} of {translation.parts}" if translation.parts > 1 else ""
        yield f"  search{several}: {_settings(trace.search)}"
        yield from _steps(trace)


def _made(translation: Translation, place: int, candidate: Candidate) -> str:
    """Say what the score of a hypothesis is made of."""
    if translation.parts > 1:
        return f" = sum over {translation.parts} parts, each over its own penalty"
    for trace in translation.traces:
        for ended in trace.ended:
            if ended.rank == place:
                return _of_whole(ended.terms, candidate, trace.search)
    return ""


def _of_whole(terms: Terms, candidate: Candidate, search: BeamSearch) -> str:
    length, own = len(candidate.tokens), sum(candidate.token_log_probs)
    end = "reached the length limit" if candidate.truncated else "end symbol included"
    formula = _formula(length, search.alpha, search.length_penalty)
    counted = ""
    if abs(own - terms.log_prob) > _CLOSE:
        counted = f"; repetitions count {search.repetition_penalty:g} times, without it {own:.4f}"
    return f" = {_sum(terms)}, {formula}; {length} pieces, {end}{counted}"


def _sum(terms: Terms) -> str:
    reward = f" + reward {terms.reward:.4f}" if terms.reward else ""
    coverage = f" + coverage {terms.coverage:.4f}" if terms.coverage else ""
    return f"{terms.log_prob:.4f} / {terms.penalty:.4f}{reward}{coverage}"


def _formula(length: int, alpha: float, form: LengthForm) -> str:
    match form:
        case "paper":
            return f"((5 + {length}) / 6)^{alpha:g}"
        case "average":
            return f"{length}^{alpha:g}"
        case "none":
            return "no length penalty"


def _settings(search: BeamSearch) -> str:
    """Name the beam, alpha, and what else is not as it is unless given."""
    usual = BeamSearch()
    shown = [
        f"{each.name} {value}"
        for each in fields(BeamSearch)
        for value in [getattr(search, each.name)]
        if each.name in ("beam", "alpha") or value != getattr(usual, each.name)
    ]
    return ", ".join(shown)


def _steps(trace: Trace) -> Iterator[str]:
    """Show the steps of a search as tables: what is open, from which it comes, what has ended."""
    for step in trace.steps:
        yield f"  step {step.number:<12}  log P     total"
        for opened in step.opened:
            yield _open_line(trace, step.number, opened)
        for ended in step.ended:
            yield _end_line(ended)
    yield f"  stopped after step {trace.stop.step}: {_reason(trace.stop, trace.search)}"


def _open_line(trace: Trace, step: int, opened: Opened) -> str:
    text = "".join(each.token for each in trace.line(step, opened.place))
    less = f"  chosen with {-opened.handicap:.4f}" if opened.handicap else ""
    group = f"  group {opened.group}" if trace.search.groups > 1 else ""
    numbers = f"{opened.log_prob:>9.4f} {opened.total:>9.4f}"
    return (
        f"  {_origin(str(opened.place), opened.origin)} {numbers}  {one_line(opened.token)!r}"
        f"{group}{less}  {one_line(text).strip()}"
    )


def _end_line(ended: Ended) -> str:
    what = "cut" if ended.truncated else "end"
    numbers = f"{ended.log_prob:>9.4f} {ended.terms.log_prob:>9.4f}"
    rank = f"  translation {ended.rank}" if ended.rank else ""
    again = "  found before by another group" if ended.repeated else ""
    return (
        f"  {_origin(what, ended.origin)} {numbers}  score {ended.score:.4f} = {_sum(ended.terms)}"
        f"{rank}{again}  {one_line(ended.text)}"
    )


def _origin(what: str, origin: int) -> str:
    return f"{what:>5} < {origin or 'start'!s:<6}"


def _reason(stop: Stop, search: BeamSearch) -> str:
    match stop.reason:
        case "limit":
            return f"the limit of {stop.step} pieces"
        case "patience":
            return f"{stop.ended} have ended, patience is {search.patience:g} * beam {search.beam}"
        case "nothing-open":
            return "no hypothesis is open"
        case "broken-off":
            return "nobody waited for it any more"
        case "nothing-can-win":
            return (
                f"the best open hypothesis can reach at most {stop.bound:.4f}, and the list of "
                f"{search.n_best} ends with {stop.to_beat:.4f}"
            )
