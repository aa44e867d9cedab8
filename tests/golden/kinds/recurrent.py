"""Recurrent cells, run over a sequence, and the additive attention that first joined them."""

from functools import partial

from torch import Tensor

from dragoman.nn import (
    AdditiveAttention,
    CellWeights,
    additive_scores,
    gru_step,
    lstm_step,
    masked_softmax,
    rnn_step,
    run_recurrent,
)
from tests.golden.case import Case


def cell_weights(case: Case) -> CellWeights:
    given = case.reals(case.inputs["weights"])
    bias = given.get("b", given.get("b_x", given["W_x"].new_zeros(given["W_x"].size(1))))
    return CellWeights(given["W_x"], given["W_h"], bias, given.get("b_h"))


def rnn(case: Case) -> dict[str, Tensor]:
    step = partial(rnn_step, weights=cell_weights(case))
    (h,), _ = run_recurrent(step, case.tensor("x")[None], (case.tensor("h0")[None],))
    return {"h": h[0]}


def lstm(case: Case) -> dict[str, Tensor]:
    step = partial(lstm_step, weights=cell_weights(case))
    start = (case.tensor("h0")[None], case.tensor("c0")[None])
    (h, c), _ = run_recurrent(step, case.tensor("x")[None], start)
    return {"h": h[0], "c": c[0]}


def gru(case: Case) -> dict[str, Tensor]:
    x, start, weights = case.tensor("x")[None], (case.tensor("h0")[None],), cell_weights(case)
    (after,), _ = run_recurrent(partial(gru_step, weights=weights), x, start)
    (before,), _ = run_recurrent(partial(gru_step, weights=weights, reset="before"), x, start)
    return {"reset_after": after[0], "reset_before": before[0]}


def additive_attention(case: Case) -> dict[str, Tensor]:
    w_q, w_k, vector = map(case.tensor, ("W_q", "W_k", "v_vec"))
    attention = AdditiveAttention(w_q.size(0), w_k.size(0), vector.size(0)).to(case.dtype)
    attention.query.weight.data.copy_(w_q.T)
    attention.key.weight.data.copy_(w_k.T)
    attention.vector.data.copy_(vector)
    q, k, v = (case.tensor(name)[None] for name in "qkv")
    visible = case.mask()
    scores = additive_scores(attention.query(q), attention.project(k), attention.vector)
    return {
        "scores": scores[0],
        "weights": masked_softmax(scores, visible, case.dtype)[0],
        "output": attention(q, k, v, visible)[0],
    }


KINDS = {
    "additive_attention": additive_attention,
    "gru": gru,
    "lstm": lstm,
    "rnn": rnn,
}
