"""Texts continued by a language model: prompts of equal length read at once, then sampling."""

from collections.abc import Iterator, Sequence

import torch

from dragoman.data import Frame
from dragoman.decoding.hypothesis import Hypothesis, Symbols
from dragoman.decoding.model_session import ModelSession
from dragoman.decoding.sampling import Sampling, sample
from dragoman.errors import ModelError
from dragoman.nn import CausalLM
from dragoman.tokenization import SpecialIds


def continue_texts(
    model: CausalLM,
    prompts: Sequence[Sequence[int]],
    sampling: Sampling,
    special: SpecialIds,
    *,
    seeds: Sequence[int],
    batch_tokens: int = 4096,
) -> list[Hypothesis]:
    """Draw a continuation of each prompt.

    What a prompt gets depends on the model, ``sampling`` and its number in ``seeds``, not on the
    other prompts. It is truncated when it reaches ``sampling.max_length``, or the last of the
    positions learned, before the end symbol.

    Args:
        model: is run in evaluation mode.
        prompts: bare piece ids, without the start symbol; may be empty.
        sampling: how to draw; a prompt counts as the source of its limit.
        special: ids that are never text.
        seeds: a number from 0 up for each prompt.
        batch_tokens: most pieces, drawn ones included, that are kept for a batch; at least a row.

    Returns:
        What follows each prompt, in order; the ids and log-probabilities of the prompt are not in
        it.

    Raises:
        ModelError: a prompt leaves no position to draw a piece, or what ``sample`` raises.
        ValueError: the seeds are not as many as the prompts.
    """
    if len(seeds) != len(prompts):
        raise ValueError(f"{len(prompts)} prompts need as many seeds, not {len(seeds)}")
    model.eval()
    limits = [_limit(model, len(p), sampling, number) for number, p in enumerate(prompts, start=1)]
    symbols = Symbols.of(Frame.of(special))
    found: list[Hypothesis | None] = [None] * len(prompts)
    for rows in _groups(prompts, limits, batch_tokens):
        pieces = [[special.start, *prompts[row]] for row in rows]
        answers = sample(
            _read(model, [row[:-1] for row in pieces]),
            sampling,
            symbols,
            [limits[row] for row in rows],
            seeds=[seeds[row] for row in rows],
            first=[row[-1] for row in pieces],
        )
        for row, answer in zip(rows, answers, strict=True):
            found[row] = answer
    return [hypothesis for hypothesis in found if hypothesis is not None]


def _limit(model: CausalLM, length: int, sampling: Sampling, number: int) -> int:
    """Say how many pieces may follow a prompt: the last one drawn needs no position."""
    wanted = sampling.limit(length)
    if model.max_length is None:
        return wanted
    if length >= model.max_length:
        raise ModelError(
            f"prompt {number}: {length + 1} pieces with the start symbol, the model has "
            f"{model.max_length} positions; shorten it"
        )
    return min(wanted, model.max_length - length)


def _groups(
    prompts: Sequence[Sequence[int]], limits: Sequence[int], batch_tokens: int
) -> Iterator[list[int]]:
    """Put prompts of equal length together, as many as the budget allows."""
    group: list[int] = []
    for row in sorted(range(len(prompts)), key=lambda row: len(prompts[row])):
        if group:
            other = len(prompts[row]) != len(prompts[group[0]])
            longest = 1 + len(prompts[row]) + max(limits[each] for each in [*group, row])
            if other or longest * (len(group) + 1) > batch_tokens:
                yield group
                group = []
        group.append(row)
    if group:
        yield group


@torch.inference_mode()
def _read(model: CausalLM, fed: Sequence[Sequence[int]]) -> ModelSession:
    """Feed ids of equal number in one step; their logits, which nobody needs, are not computed."""
    cache = model.start(len(fed))
    if fed[0]:
        ids = torch.tensor(fed, device=model.generator.table.device)
        _, cache = model.decoder.step(model.input(ids), cache)
    return ModelSession(model, cache)
