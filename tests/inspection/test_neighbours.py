import math

import pytest
import torch

from dragoman.errors import ModelError
from dragoman.inspection import nearest_pieces, piece_table
from dragoman.models import ModelConfig, RecurrentConfig, build_model
from tests.fixtures import build_encoder_decoder

# Length has no part in it: the third points as the first does, the fourth away from it.
TABLE = torch.tensor([[1.0, 0.0], [1.0, 1.0], [9.0, 0.0], [-2.0, 0.0], [0.0, 3.0]])


def test_neighbours_are_ordered_by_the_angle() -> None:
    found = nearest_pieces(TABLE, [0], 3)
    assert [each.id for each in found] == [2, 1, 4]
    assert [each.cosine for each in found] == pytest.approx([1, math.sqrt(0.5), 0])


def test_several_pieces_stand_at_their_mean_and_some_are_left_out() -> None:
    found = nearest_pieces(TABLE, [0, 4], 9, without=[2])
    # (1/2, 3/2): with (1, 1) 2 / sqrt(5) / ... = 2 / (sqrt(10)/2 * sqrt(2)) = 2 / sqrt(5).
    assert [each.id for each in found] == [1, 3]
    assert found[0].cosine == pytest.approx(2 / math.sqrt(5))
    with pytest.raises(ValueError, match="no pieces"):
        nearest_pieces(TABLE, [], 1)


def test_each_side_has_its_own_table() -> None:
    config = ModelConfig(
        layers=1, d_model=8, heads=2, d_ff=8, vocabulary=5, target_vocabulary=7, tied="output"
    )
    model = build_encoder_decoder(config)
    assert piece_table(model).shape == (5, 8)
    assert piece_table(model, target=True).shape == (7, 8)
    recurrent = RecurrentConfig(architecture="recurrent", layers=1, d_model=4, vocabulary=6)
    assert piece_table(build_model(recurrent), target=True).shape == (6, 4)
    with pytest.raises(ModelError, match="reads no pieces"):
        piece_table(torch.nn.Linear(1, 1))
