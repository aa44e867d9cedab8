import pytest
import torch

from dragoman.nn import DecoderCache, KeyValues
from dragoman.nn.linear_state import LinearState


def some(length: int, forgotten: int = 0) -> KeyValues:
    keys = torch.arange(length, dtype=torch.float32).view(1, 1, length, 1)
    return KeyValues(keys, keys + 100, forgotten)


def test_cut_keeps_the_first_positions() -> None:
    cut = some(5).cut(2)
    assert cut.length == 2
    assert cut.keys.flatten().tolist() == [0, 1]
    assert cut.values.flatten().tolist() == [100, 101]
    assert some(5).cut(0).length == 0


def test_cut_then_append_is_as_if_the_rest_had_never_been() -> None:
    grown = some(5).cut(2).append(some(1))
    assert grown.keys.flatten().tolist() == [0, 1, 0]


def test_cut_to_the_present_length_changes_nothing_even_after_forgetting() -> None:
    known = some(5, forgotten=3)
    assert known.cut(8) is known


@pytest.mark.parametrize("length", [-1, 6])
def test_cut_refuses_what_has_not_been(length: int) -> None:
    with pytest.raises(ValueError, match=f"length: {length} is not between 0 and 5"):
        some(5).cut(length)


def test_cut_refuses_to_go_back_past_what_is_forgotten() -> None:
    with pytest.raises(ValueError, match="3 positions are forgotten"):
        some(5, forgotten=3).cut(7)


def test_a_decoder_goes_back_in_every_layer_or_not_at_all() -> None:
    seen = torch.ones(1, 1, 1, 4, dtype=torch.bool)
    cache = DecoderCache((some(5), some(5)), (), seen, 5)
    cut = cache.cut(3)
    assert [past.length for past in cut.own if past is not None] == [3, 3]
    assert cut.length == 3
    assert cache.cut(0).own == (None, None)
    sums = LinearState(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2), 5)
    with pytest.raises(TypeError, match="LinearState cannot be cut back"):
        DecoderCache((sums,), (), seen, 5).cut(3)
