import pytest
import torch

from dragoman.nn import LearnedPositions


def test_learned_positions_add_their_rows_from_the_offset_on() -> None:
    positions = LearnedPositions(5, 2)
    positions.table.data = torch.arange(10.0).view(5, 2)
    added = positions(torch.ones(1, 2, 2), 3)
    assert added.tolist() == [[[7.0, 8.0], [9.0, 10.0]]]


@pytest.mark.parametrize(("length", "offset"), [(6, 0), (1, 5), (20, 0), (3, 3)])
def test_learned_positions_end_with_an_error_that_names_both_lengths(
    length: int, offset: int
) -> None:
    # Field report 26: exactly the maximum works, one more and four times do not.
    positions = LearnedPositions(5, 2)
    assert positions(torch.zeros(1, 5, 2)).shape == (1, 5, 2)
    message = f"^{length + offset} positions are more than the 5 learned$"
    with pytest.raises(ValueError, match=message):
        positions(torch.zeros(1, length, 2), offset)


def test_the_length_of_the_table_is_the_limit() -> None:
    assert LearnedPositions(5, 2).max_length == 5


def test_first_values_are_drawn_from_the_generator_with_the_spread_of_embeddings() -> None:
    # Decision 1: normal with std D^-0.5, here 64^-0.5 = 0.125; 64,000 draws.
    positions = LearnedPositions(1000, 64)
    positions.reset(torch.Generator().manual_seed(3))
    first = positions.table.detach().clone()
    assert first.std().item() == pytest.approx(0.125, rel=0.02)
    positions.reset(torch.Generator().manual_seed(3))
    assert torch.equal(positions.table, first)
