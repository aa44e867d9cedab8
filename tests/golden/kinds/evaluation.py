"""Metrics of given outputs."""

from dataclasses import asdict

from dragoman.evaluation import token_bleu
from tests.golden.case import Case


def bleu(case: Case) -> dict[str, dict[str, object]]:
    scores: dict[str, dict[str, object]] = {}
    for order in (2, 4):
        found = asdict(
            token_bleu(case.inputs["hypotheses"], case.inputs["references"], order=order)
        )
        scores[f"order_{order}"] = {
            "bleu": found["value"],
            "precisions": found["precisions"],
            "brevity_penalty": found["brevity_penalty"],
            "hyp_length": found["hypothesis_length"],
            "ref_length": found["reference_length"],
        }
    return scores


KINDS = {"bleu": bleu}
