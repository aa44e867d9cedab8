import pytest
import torch
from torch import nn

from dragoman.training import AdamConfig, build_optimizer, set_rate


def test_adam_has_the_constants_of_section_5_3() -> None:
    optimizer = build_optimizer([nn.Parameter(torch.zeros(1))], AdamConfig())
    assert optimizer.defaults["betas"] == (0.9, 0.98)
    assert optimizer.defaults["eps"] == 1e-9


def test_the_first_update_moves_by_the_rate_against_the_sign() -> None:
    # By hand: m̂ = g and v̂ = g², so the step is rate · g / (|g| + eps).
    weight = nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = build_optimizer([weight], AdamConfig())
    weight.grad = torch.tensor([0.5, -3.0])
    set_rate(optimizer, 0.1)
    optimizer.step()
    assert weight.tolist() == pytest.approx([0.9, -1.9], abs=1e-6)


def test_a_rate_of_zero_changes_nothing() -> None:
    weight = nn.Parameter(torch.tensor([1.0]))
    optimizer = build_optimizer([weight], AdamConfig())
    weight.grad = torch.tensor([0.5])
    optimizer.step()
    assert weight.item() == 1.0
