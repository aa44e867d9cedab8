"""Every choice in ``[model]`` upon what a family holds: written and the same, or refused."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.errors import ConfigError
from dragoman.interop.huggingface import open_huggingface, read_huggingface, write_huggingface
from dragoman.interop.huggingface.clients import TransformersReader
from dragoman.models import ModelConfig
from tests.interop.huggingface.models import transformers
from tests.interop.huggingface.test_refusals import BERT, GPT2, LLAMA
from tests.interop.models import random_bundle
from tests.models.choices import ONE_STACK

BASES = {"GPT-2": GPT2, "LLaMA": LLAMA, "BERT": BERT}
IDS = [5, 4, 3, 7, 9, 250, 11]

# What each family holds upon itself: dropout, activations, biases or none, a table of its own.
# Names such as "gqa" bring rotary positions along, "learned" those of GPT-2 and BERT.
_ALL = {
    *("paper", "all-dropouts", "biases-before-the-heads", "depth-scaled"),
    *("gelu", "gelu-tanh", "silu", "tied-output"),
}
HELD = {
    "GPT-2": _ALL | {"learned", "pre", "normal", "post-with-final-norm", "scale", "untied"},
    "LLaMA": _ALL
    | {"rotary", "pre", "normal", "post-with-final-norm", "rms", "gated", "gated-gelu-with-bias"}
    | {"mqa", "gqa", "local", "local-rotary", "untied"},
    "BERT": _ALL | {"learned", "output-bias", "unscaled-with-norm"},
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("choice", ONE_STACK)
def test_a_choice_is_written_and_the_same_or_refused_by_name(
    base: str, choice: str, tmp_path: Path
) -> None:
    transformers.utils.logging.disable_progress_bar()
    table = {**BASES[base], **ONE_STACK[choice]}
    table.pop("vocabulary")
    try:
        bundle = random_bundle(table)
    except ConfigError:  # cannot be together, whatever the format
        assert choice not in HELD[base]
        return
    try:
        write_huggingface(tmp_path / "out", bundle)
    except ConfigError as error:
        assert not (tmp_path / "out").exists()
        names = {f"model.{field.name}" for field in fields(ModelConfig)}
        wrong = {mistake.place for mistake in error.mistakes} - names
        assert not wrong
        assert choice not in HELD[base]
        return
    assert choice in HELD[base]
    again = read_huggingface(tmp_path / "out")
    assert again.config == bundle.config
    client = open_huggingface(tmp_path / "out", again)
    assert isinstance(client, TransformersReader)
    model: Any = again.model
    with torch.no_grad():
        found = model(torch.tensor([IDS]))[0]
    torch.testing.assert_close(torch.tensor(client.outputs(IDS)), found, atol=1e-4, rtol=1e-4)
