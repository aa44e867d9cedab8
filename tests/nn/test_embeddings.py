import pytest
import torch

from dragoman.nn import Embedding, Generator


def test_vectors_are_scaled_by_the_root_of_the_width() -> None:
    # Section 3.4 by hand: √4 = 2.
    embedding = Embedding(3, 4)
    embedding.table.data = torch.arange(12.0).view(3, 4)
    assert embedding(torch.tensor([[2, 0]])).tolist() == [[[16, 18, 20, 22], [0, 2, 4, 6]]]


def test_fresh_vectors_have_elements_of_variance_one_after_scaling() -> None:
    # Drawn with std D^-0.5, times √D. The variance of n draws deviates by √(2 / n).
    torch.manual_seed(0)
    scaled = Embedding(500, 64)(torch.arange(500))
    assert scaled.var().item() == pytest.approx(1, abs=6 * (2 / scaled.numel()) ** 0.5)
    assert scaled.mean().item() == pytest.approx(0, abs=6 / scaled.numel() ** 0.5)


def test_logits_are_the_unscaled_product_with_the_table() -> None:
    # By hand: (1, 2)·(3, 4) = 11 and (1, 2)·(5, 6) = 17.
    table = torch.nn.Parameter(torch.tensor([[3.0, 4.0], [5.0, 6.0]]))
    assert Generator(table)(torch.tensor([[1.0, 2.0]])).tolist() == [[11.0, 17.0]]


def test_a_shared_table_learns_from_both_ends() -> None:
    embedding = Embedding(3, 2)
    logits = Generator(embedding.table)(embedding(torch.tensor([1])))
    logits[0, 2].backward()
    assert embedding.table.grad is not None
    # d(√2 t₁·t₂): row 2 gets √2 t₁ as an output, row 1 gets √2 t₂ as an input, row 0 nothing.
    table = embedding.table.detach()
    expected = 2**0.5 * torch.stack((torch.zeros(2), table[2], table[1]))
    torch.testing.assert_close(embedding.table.grad, expected)
