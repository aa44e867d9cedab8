"""How the searches behind a translation went, with the pieces as text."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from dragoman.decoding import Trace, Tracer, TraceStep
from dragoman.tokenization import Tokenizer
from dragoman.translator.planning import Plan
from dragoman.translator.translation import Translation


def with_traces(
    translations: Sequence[Translation],
    plans: Sequence[Plan],
    tracer: Tracer,
    tokenizer: Tokenizer,
) -> list[Translation]:
    """Give every translation the traces of its parts; a part that was not searched has none.

    Args:
        translations: one per segment.
        plans: theirs.
        tracer: has seen all their parts, one after the other.
        tokenizer: of the target side.
    """
    numbers = iter(range(sum(len(plan.parts) for plan in plans)))
    traced: list[Translation] = []
    for translation, plan in zip(translations, plans, strict=True):
        own = [tracer.traces.get(number) for number in islice(numbers, len(plan.parts))]
        named = tuple(_named(trace, tokenizer) for trace in own if trace is not None)
        traced.append(replace(translation, traces=named))
    return traced


def _named(trace: Trace, tokenizer: Tokenizer) -> Trace:
    steps = tuple(
        TraceStep(
            step.number,
            tuple(replace(o, token=tokenizer.pieces([o.piece])[0]) for o in step.opened),
            tuple(replace(e, text=tokenizer.decode(e.ids)) for e in step.ended),
        )
        for step in trace.steps
    )
    return replace(trace, steps=steps)
