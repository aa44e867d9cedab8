from typing import get_args

import numpy as np
import pytest
import torch

from dragoman.inspection import AttentionKind, AttentionMaps, attention_maps
from dragoman.nn import MultiHeadAttention, attention_weights
from tests.fixtures import encoder_decoder, tiny_bundle


def test_the_maps_are_the_weights_of_each_layer_and_head() -> None:
    model = encoder_decoder(tiny_bundle(layers=2))
    source, target = torch.tensor([[20, 21, 2]]), torch.tensor([[1, 30]])
    encoder, decoder, cross = attention_maps(model, source, target)
    assert encoder.shape == (2, 2, 3, 3)
    assert decoder.shape == (2, 2, 2, 2)
    assert cross.shape == (2, 2, 2, 3)
    # The first encoder layer by hand, from its own projections.
    with torch.inference_mode():
        x = model.source_input(source)
        attention = model.encoder.layers[0].get_submodule("attention")
        assert isinstance(attention, MultiHeadAttention)
        q_matrix, k_matrix, _ = attention.projection_blocks()
        q, k = ((x @ m.T).view(1, 3, 2, 8).transpose(1, 2) for m in (q_matrix, k_matrix))
    np.testing.assert_allclose(encoder[0], attention_weights(q, k)[0].numpy(), atol=1e-6)


def test_the_kernels_are_put_back_even_after_an_error() -> None:
    model = encoder_decoder(tiny_bundle())
    attention = model.encoder.layers[0].get_submodule("attention")
    assert isinstance(attention, MultiHeadAttention)
    before = attention.kernel
    with pytest.raises(IndexError):
        attention_maps(model, torch.tensor([[10_000]]), torch.tensor([[1]]))
    assert attention.kernel is before


def test_rows_are_named_after_what_was_written_and_columns_after_what_was_read() -> None:
    few = np.zeros((1, 2, 2, 2), np.float32)
    few[0, 0], few[0, 1] = [[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]]
    maps = AttentionMaps(few, few, few, ("a", "b"), ("<s>", "c"), ("c", "</s>"))
    names = {
        kind: (maps.view(kind).rows, maps.view(kind).columns) for kind in get_args(AttentionKind)
    }
    assert names == {
        "encoder": (("a", "b"), ("a", "b")),
        "decoder": (("c", "</s>"), ("<s>", "c")),
        "cross": (("c", "</s>"), ("a", "b")),
    }
    assert maps.view("cross").chosen(0, 1).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert maps.view("cross").chosen(0, None).tolist() == [[0.75, 0.25], [0.25, 0.75]]
