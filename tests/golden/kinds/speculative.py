"""Speculative sampling: what is accepted, what is drawn instead, and how much one pass gives."""

from torch import Tensor

from dragoman.decoding import acceptance, acceptance_rate, emitted, expected_tokens, residual
from tests.golden.case import Case


def speculative_step(case: Case) -> dict[str, Tensor]:
    target, draft = case.tensor("target"), case.tensor("draft")
    return {
        "accept": acceptance(target, draft),
        "residual": residual(target, draft),
        "acceptance_rate": acceptance_rate(target, draft),
        "emitted": emitted(target, draft),
    }


def speculative_expected(case: Case) -> dict[str, float]:
    given = case.inputs
    return {"expected_tokens": expected_tokens(given["acceptance"], given["draft_length"])}


KINDS = {
    "speculative_expected": speculative_expected,
    "speculative_step": speculative_step,
}
