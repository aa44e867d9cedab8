"""Models of ``transformers`` come in and go out again, and compute the same at every stop."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.interop.huggingface import open_huggingface, read_huggingface, write_huggingface
from dragoman.interop.huggingface.clients import TransformersReader
from dragoman.nn import CausalLM, EncoderOnly
from tests.interop.huggingface.models import MODELS, saved

TEXTS = ([3, 4, 5], [7], [1, 9, 8, 1, 33, 2, 12, 4, 4, 4, 48, 21, 3, 17])
LIMIT = 1e-4


@torch.no_grad()
def ours(bundle: Bundle, ids: list[int]) -> NDArray[np.float32]:
    """What our model computes for the ids that a reader is given."""
    model = bundle.model
    assert isinstance(model, CausalLM | EncoderOnly)
    return model(torch.tensor([ids]))[0].numpy()


def assert_agree(folder: Path, bundle: Bundle) -> None:
    """The client of the folder and our model say the same."""
    client = open_huggingface(folder, bundle)
    assert isinstance(client, TransformersReader)
    assert isinstance(client, TransformersReader)
    for ids in TEXTS:
        expected = client.outputs(ids)
        assert np.abs(expected).max() > 0.01  # all zeros would agree with anything
        np.testing.assert_allclose(ours(bundle, ids), expected, atol=LIMIT, rtol=0)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_in_goes_out_and_comes_in_again(name: str, tmp_path: Path) -> None:
    theirs = saved(name, tmp_path / "theirs")
    bundle = read_huggingface(theirs, ())
    assert_agree(theirs, bundle)
    write_huggingface(tmp_path / "ours", bundle)
    assert_agree(tmp_path / "ours", bundle)
    again = read_huggingface(tmp_path / "ours", ())
    assert again.config == bundle.config
    both = zip(bundle.model.named_parameters(), again.model.named_parameters(), strict=True)
    for (named, weight), (other, same) in both:
        assert named == other
        assert torch.equal(weight, same), named
