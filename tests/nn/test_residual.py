import pytest
import torch
from torch import Tensor, nn

from dragoman.nn import LayerNorm, NormOrder, Residual


class Doubling(nn.Module):
    """Stands for a norm whose place can be seen."""

    def forward(self, x: Tensor) -> Tensor:
        return 2 * x


def plus_three(x: Tensor) -> Tensor:
    return x + 3


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("post", 2 * (5 + (5 + 3))),  # Norm(x + Sublayer(x)), section 3.1
        ("pre", 5 + (2 * 5 + 3)),  # x + Sublayer(Norm(x))
    ],
)
def test_norm_stands_where_the_order_says(order: NormOrder, expected: float) -> None:
    residual = Residual(Doubling(), dropout=0.0, order=order)
    assert residual(torch.tensor([5.0]), plus_three).item() == expected


def test_order_is_post_unless_asked() -> None:
    assert Residual(Doubling(), dropout=0.0).order == "post"


@pytest.mark.parametrize("order", ["post", "pre"])
def test_dropout_acts_on_the_sublayer_output_before_it_is_added(order: NormOrder) -> None:
    # Section 5.4: x itself is never dropped, so each sum is 1 + 0 or 1 + 1 / (1 - 0.5).
    torch.manual_seed(0)
    residual = Residual(nn.Identity(), dropout=0.5, order=order)
    summed = residual(torch.ones(1000), torch.ones_like)
    assert set(summed.tolist()) == {1.0, 3.0}
    assert set(residual.eval()(torch.ones(1000), torch.ones_like).tolist()) == {2.0}


def test_post_norm_gives_every_position_mean_zero_and_variance_one() -> None:
    torch.manual_seed(0)
    out = Residual(LayerNorm(64), dropout=0.0)(torch.randn(3, 64), torch.sin)
    torch.testing.assert_close(out.mean(-1), torch.zeros(3), atol=1e-6, rtol=0)
    torch.testing.assert_close(out.var(-1, correction=0), torch.ones(3), atol=1e-4, rtol=0)
