"""Search over a model that is a table of probabilities."""

import math
from typing import Any

import torch

from dragoman.decoding import BeamSearch, Hypothesis, Symbols, length_penalty, search
from dragoman.evaluation import TargetScore, target_log_probs
from tests.fakes import Table, TableSession, written_table
from tests.golden.case import Case

Ranked = dict[str, Any]  # Any: tokens, log-probability and score
EVERYTHING = 10_000  # the widest beam: it drops nothing, so it is no search any more


def length_penalties(case: Case) -> dict[str, list[float]]:
    alpha = case.inputs["alpha"]
    return {"penalty": [length_penalty(length, alpha) for length in case.inputs["lengths"]]}


def greedy(case: Case) -> Ranked:
    return ranked(case, translate(case, BeamSearch(beam=1, alpha=0.0)))[0]


def beam_search(case: Case) -> dict[str, object]:
    beam = case.inputs["beam"]
    config = BeamSearch(beam=beam, alpha=case.inputs["alpha"], n_best=beam)
    found = ranked(case, translate(case, config))
    return {"best": found[0], "finished_ranked": found}


def exhaustive(case: Case) -> dict[str, object]:
    tops: dict[str, list[Ranked]] = {}
    count = 0
    for alpha, expected in case.raw["expected"]["top4_by_alpha"].items():
        config = BeamSearch(beam=EVERYTHING, alpha=float(alpha), n_best=EVERYTHING)
        found = ranked(case, translate(case, config))
        count = len(found)
        tops[alpha] = take_best(found, [item["tokens"] for item in expected])
    return {"top4_by_alpha": tops, "finished_sequences": count}


def take_best(found: list[Ranked], order: list[list[int]]) -> list[Ranked]:
    """Take as many of the best as ``order`` holds; it decides between equal scores alone."""
    rest, taken = list(found), list[Ranked]()
    for tokens in order[: len(found)]:
        equal = [item for item in rest if math.isclose(item["score"], rest[0]["score"])]
        best = next((item for item in equal if item["tokens"] == tokens), rest[0])
        rest.remove(best)
        taken.append(best)
    return taken


def translate(case: Case, config: BeamSearch) -> list[Hypothesis]:
    session = TableSession.start(probabilities(case), dtype=case.dtype)
    symbols = Symbols(start=case.inputs["bos"], end=case.inputs["eos"])
    return search(session, config, symbols, [case.inputs["max_len"]])[0]


def probabilities(case: Case) -> Table:
    rows = case.inputs["table"]
    pieces = {int(piece) for row in rows.values() for piece in row}
    return written_table(rows, max(pieces) + 1)


def ranked(case: Case, found: list[Hypothesis]) -> list[Ranked]:
    """Write hypotheses as the format does, the end symbol included."""
    end = case.inputs["eos"]
    return [
        {
            "tokens": [*hypothesis.ids, *([] if hypothesis.truncated else [end])],
            "log_prob": hypothesis.log_prob,
            "score": hypothesis.score,
        }
        for hypothesis in found
    ]


def sequence_log_prob(case: Case) -> dict[str, list[float]]:
    table, totals = probabilities(case), list[float]()
    for sequence in case.inputs["sequences"]:
        prefixes = [(case.inputs["bos"], *sequence[:place]) for place in range(len(sequence))]
        logits = torch.tensor([[table(prefix) for prefix in prefixes]], dtype=case.dtype).log()
        found = target_log_probs(logits, torch.tensor([sequence]))[0]
        totals.append(TargetScore(tuple(found.tolist())).log_prob)
    return {"log_probs": totals, "probs": [math.exp(total) for total in totals]}


def max_length(case: Case) -> dict[str, int]:
    return {"max_output": BeamSearch().limit(case.inputs["input_length"])}


KINDS = {
    "beam_search": beam_search,
    "exhaustive": exhaustive,
    "greedy": greedy,
    "length_penalty": length_penalties,
    "max_length": max_length,
    "sequence_log_prob": sequence_log_prob,
}
# The format: "compare `best` strictly, the lower ranks only if the search keeps the same
# candidates". Ours returns no more than the beam.
LEFT_OPEN = {"beam_search": frozenset({"finished_ranked"})}
