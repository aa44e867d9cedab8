from pathlib import Path

import pytest

from dragoman.errors import ModelError
from dragoman.inspection import NamedMask, draw_masks, mask_kinds, model_masks
from dragoman.models import ConvolutionalConfig, Linear, Local, ModelConfig, Sparse


def drawn(mask: NamedMask) -> list[str]:
    return [line.replace(" ", "") for line in mask.lines()[1:]]


def test_each_kind_of_mask_is_as_written_by_hand() -> None:
    masks = {mask.name.split(":")[0]: drawn(mask) for mask in mask_kinds(4, 1, keys=3)}
    assert masks["padding"] == ["███·"] * 4
    assert masks["causal"] == ["█···", "██··", "███·", "████"]
    assert masks["local"] == ["██··", "███·", "·███", "··██"]
    assert masks["local and causal"] == ["█···", "██··", "·██·", "··██"]
    assert masks["sparse"] == ["████", "███·", "████", "█·██"]


def test_a_model_hides_padding_everywhere_and_what_follows_in_its_decoder() -> None:
    encoder, decoder, cross = model_masks(ModelConfig(layers=1, vocabulary=9), 4, 1)
    assert drawn(encoder) == ["███·"] * 4
    assert drawn(decoder) == ["█···", "██··", "███·", "███·"]
    assert drawn(cross) == ["███·"] * 4
    assert decoder.name == "decoder self-attention: itself and those before, 1 of padding"


def test_patterns_are_those_of_the_model() -> None:
    local = ModelConfig(layers=1, vocabulary=9, attention=Local(keys=3))
    encoder, decoder, cross = model_masks(local, 4, 0)
    assert drawn(encoder) == ["██··", "███·", "·███", "··██"]
    assert drawn(decoder) == ["█···", "██··", "·██·", "··██"]
    assert drawn(cross) == ["████"] * 4
    sparse = Sparse(keys=1, global_positions=(1,))
    (only,) = model_masks(
        ModelConfig(layers=1, vocabulary=9, attention=sparse, architecture="decoder-only"), 3, 0
    )
    assert drawn(only) == ["█··", "██·", "·██"]
    linear = ModelConfig(layers=1, vocabulary=9, attention=Linear())
    assert drawn(model_masks(linear, 2, 0)[1]) == ["█·", "██"]


def test_what_is_no_transformer_has_no_masks() -> None:
    config = ConvolutionalConfig(architecture="convolutional", vocabulary=9)
    with pytest.raises(ModelError, match="this model is convolutional"):
        model_masks(config, 4, 0)


def test_masks_are_drawn(tmp_path: Path) -> None:
    draw_masks(mask_kinds(4, 1)[:2], tmp_path / "masks.png")
    assert (tmp_path / "masks.png").read_bytes().startswith(b"\x89PNG")
