import math
from pathlib import Path

import numpy as np
import pytest

from dragoman.errors import ModelError
from dragoman.inspection import draw_positions, position_views
from dragoman.models import (
    T5,
    Alibi,
    Learned,
    ModelConfig,
    NoPositions,
    Positions,
    Rotary,
    Shaw,
    Sinusoidal,
)
from tests.fixtures import build_encoder_decoder


def config(positions: Positions, decoder: Positions | None = None) -> ModelConfig:
    return ModelConfig(
        layers=1, d_model=8, heads=2, vocabulary=9, positions=positions, decoder_positions=decoder
    )


def test_products_of_sinusoids_depend_on_the_distance_alone() -> None:
    (view,) = position_views(config(Sinusoidal()), length=20)
    assert view.picture.shape == (20, 8)
    # sin a sin b + cos a cos b = cos(a - b), summed over the four wavelengths 10000^(2i/8).
    for place, offset in enumerate(view.offsets):
        by_hand = sum(math.cos(offset / 10_000 ** (i / 4)) for i in range(4))
        assert view.curves["mean"][place] == pytest.approx(by_hand)


def test_rotated_vectors_meet_in_the_mean_of_their_cosines() -> None:
    (view,) = position_views(config(Rotary()), length=5)
    # Heads are 4 wide: two pairs, which turn by 1 and 10000^(-1/2) a position.
    by_hand = [(math.cos(k) + math.cos(k / 100)) / 2 for k in range(-4, 5)]
    np.testing.assert_allclose(view.curves["equal q and k"], by_hand)
    assert view.picture[3].tolist() == pytest.approx([math.cos(3), math.cos(0.03)])


def test_alibi_charges_each_head_by_its_slope() -> None:
    (view,) = position_views(config(Alibi()), length=3)
    assert view.curves["head 1"].tolist() == [-2 / 16, -1 / 16, 0, -1 / 16, -2 / 16]
    assert view.curves["head 2"].tolist() == [-2 / 256, -1 / 256, 0, -1 / 256, -2 / 256]


def test_what_is_learned_comes_from_the_model() -> None:
    learned = config(Learned(max_length=4))
    model = build_encoder_decoder(learned)
    source, target = position_views(learned, model, length=9)
    weights = dict(model.named_parameters())
    tables = [weights[f"{side}_input.positions.table"] for side in ("source", "target")]
    for view, table in zip((source, target), tables, strict=True):
        numbers = table.detach().double().numpy()
        np.testing.assert_array_equal(view.picture, numbers)
        mean = np.mean([numbers[place] @ numbers[place + 1] for place in range(3)])
        assert view.curves["mean"][view.offsets.index(1)] == pytest.approx(mean)
    assert source.title == "encoder: learned"
    assert position_views(learned)[0].title == "encoder: learned, first random values"


def test_a_decoder_has_biases_for_what_was_before_alone() -> None:
    t5 = config(T5(buckets=8, max_distance=16))
    model = build_encoder_decoder(t5)
    encoder, decoder = position_views(t5, model, length=4)
    assert list(encoder.offsets) == [-3, -2, -1, 0, 1, 2, 3]
    assert list(decoder.offsets) == [-3, -2, -1, 0]
    weights = dict(model.named_parameters())
    (table,) = (
        weight.detach().numpy()
        for name, weight in weights.items()
        if name.startswith("decoder") and name.endswith("positions.table")
    )
    # Of 8 buckets for one side the nearest four distances have their own.
    np.testing.assert_allclose(decoder.picture, table[[3, 2, 1, 0]].T)


def test_offsets_of_shaw_have_vectors_up_to_the_clip() -> None:
    shaw = config(Shaw(clip=2), Sinusoidal())
    model = build_encoder_decoder(shaw)
    relative, added = position_views(shaw, model, length=6)
    assert list(relative.offsets) == [-2, -1, 0, 1, 2]
    assert relative.picture.shape == (5, 4)
    assert added.title.startswith("decoder: sinusoidal")


def test_no_positions_are_said_to_be_none() -> None:
    with pytest.raises(ModelError, match="nothing tells positions apart"):
        position_views(config(NoPositions()))


def test_the_table_has_a_row_for_each_distance_told(tmp_path: Path) -> None:
    views = position_views(config(Alibi()), length=3)
    assert views[0].lines() == [
        "ALiBi",
        "added to the score, by offset of the key from the query",
        "offset     head 1     head 2",
        "    -2    -0.1250    -0.0078",
        "    -1    -0.0625    -0.0039",
        "    +0     0.0000     0.0000",
        "    +1    -0.0625    -0.0039",
        "    +2    -0.1250    -0.0078",
    ]
    draw_positions(views, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
