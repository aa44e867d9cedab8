"""Padding of batches, and what the decoder reads and says."""

import numpy as np
from torch import Tensor

from dragoman.data import IdStore, pad_rows
from dragoman.data.batching import collate
from dragoman.tokenization import SpecialIds
from tests.golden.case import Case


def batch_padding(case: Case) -> dict[str, float]:
    padded = pad_rows([[1] * length for length in case.inputs["lengths"]], 0)
    real = int((padded != 0).sum())
    return {
        "real_tokens": real,
        "padded_tokens": padded.numel(),
        "waste": 1 - real / padded.numel(),
    }


def shift_right(case: Case) -> dict[str, Tensor]:
    start, end, target = (case.inputs[name] for name in ("bos", "eos", "target"))
    other = max(start, end, *target)
    special = SpecialIds(padding=other + 1, start=start, end=end, unknown=other + 2)
    store = IdStore.from_sequences([target])
    batch = collate(np.array([0]), store, store, special)
    return {"decoder_input": batch.target_in[0], "labels": batch.target_out[0]}


KINDS = {"batch_padding": batch_padding, "shift_right": shift_right}
