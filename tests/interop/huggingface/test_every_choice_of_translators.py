"""Every choice in ``[model]``, upon what a family of translators holds: the same, or refused."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.errors import ConfigError
from dragoman.interop.huggingface import open_huggingface, read_huggingface, write_huggingface
from dragoman.interop.huggingface.translating import TransformersTranslator
from dragoman.models import ModelConfig
from dragoman.nn import EncoderDecoder
from tests.interop.huggingface.models import transformers
from tests.interop.models import random_bundle
from tests.models.choices import TRANSFORMERS

SYMBOLS = {"source_before": [4], "source_after": [2, 5], "target_before": [2, 6]}
CHOICES = {**TRANSFORMERS, "other-symbols": SYMBOLS}
LEARNED = {"positions": {"kind": "learned", "max_length": 64}, "embedding_norm": True}
LEARNED["norm_eps"] = 1e-5  # theirs, which shows where what is normed is small
BASES: dict[str, dict[str, Any]] = {
    "marian": {},
    "bart": LEARNED,
    "t5": TRANSFORMERS["t5-shape"],
}
# What each family holds upon itself. Some choices bring positions along, and so another family.
_ALL = {
    *("paper", "all-dropouts", "depth-scaled", "more-encoder-layers", "other-symbols"),
    *("gelu", "gelu-tanh", "silu", "t5-shape"),
}
_BIASED = {*_ALL, "biases-before-the-heads", "output-bias", "learned", "unscaled-with-norm"}
HELD = {
    "marian": _BIASED - {"unscaled-with-norm"} | {"sinusoidal-halves", "pre", "normal"},
    "bart": _BIASED - {"t5-shape"} | {"pre", "normal"},
    "t5": _ALL
    | {
        "pre",
        "normal",
        "rms",
        "t5",
        "gated",
        "scale",
        "heads-not-dividing",
        "post-with-final-norm",
    },
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_is_written_and_the_same_or_refused_by_name(
    base: str, choice: str, tmp_path: Path
) -> None:
    transformers.utils.logging.disable_progress_bar()
    try:
        bundle = random_bundle({**BASES[base], **CHOICES[choice]})
    except ConfigError:  # cannot be together, whatever the format
        return
    try:
        write_huggingface(tmp_path / "out", bundle)
    except ConfigError as refusal:
        places = {mistake.place for mistake in refusal.mistakes}
        assert not (tmp_path / "out").exists()
        names = {f"model.{field.name}" for field in fields(ModelConfig)}
        assert places <= names
        assert choice not in HELD[base]
        return
    assert choice in HELD[base]
    again = read_huggingface(tmp_path / "out")
    assert again.config == bundle.config
    client = open_huggingface(tmp_path / "out", again)
    assert isinstance(client, TransformersTranslator)
    assert isinstance(again.model, EncoderDecoder)
    frame = bundle.frame
    given = torch.tensor([frame.source([7, 9, 250])]), torch.tensor([frame.target_in([11, 12])])
    with torch.no_grad():
        found = again.model(*given)[0, frame.target_added - 1 :].log_softmax(-1)
    theirs = client.log_probs([7, 9, 250], [11, 12])
    np.testing.assert_allclose(theirs, found.numpy(), atol=1e-4, rtol=0)
