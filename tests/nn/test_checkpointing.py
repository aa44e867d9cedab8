import pytest
import torch
from torch import Tensor, nn

from dragoman.models import ModelConfig
from dragoman.nn import (
    EncoderDecoder,
    LayerRunner,
    run_checkpointed,
    run_layer,
)
from tests.fixtures import build_encoder_decoder

SOURCE = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]])
TARGET = torch.tensor([[1, 9, 10], [1, 4, 0]])


def model_with(run: LayerRunner, layers: int = 2, dropout: float = 0.3) -> EncoderDecoder:
    config = ModelConfig(
        layers=layers, d_model=16, heads=2, d_ff=32, vocabulary=20, dropout=dropout
    )
    model = build_encoder_decoder(config, torch.Generator().manual_seed(3))
    model.encoder.run = model.decoder.run = run
    return model


def loss_and_gradients(model: EncoderDecoder) -> tuple[Tensor, list[Tensor | None], Tensor]:
    """Give the third value too: what the generator draws next."""
    torch.manual_seed(7)
    loss = model(SOURCE, TARGET).square().sum()
    loss.backward()
    return loss, [weight.grad for weight in model.parameters()], torch.rand(3)


def test_loss_gradient_and_generator_are_bit_for_bit_those_of_plain_layers() -> None:
    plain = loss_and_gradients(model_with(run_layer))
    again = loss_and_gradients(model_with(run_checkpointed))
    assert torch.equal(plain[0], again[0])
    for one, other in zip(plain[1], again[1], strict=True):
        assert (one is None and other is None) or torch.equal(one, other)  # type: ignore[arg-type]  # both tensors
    assert torch.equal(plain[2], again[2])


def test_it_is_the_dropout_that_would_tell_them_apart() -> None:
    """If backward drew anew, gradients could not be equal above: another draw gives others."""
    model = model_with(run_layer)
    first = loss_and_gradients(model)[0]
    torch.manual_seed(8)
    assert not torch.equal(first, model(SOURCE, TARGET).square().sum())


class Counting(nn.Module):
    """A layer that knows how often it ran."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(2.0))
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return (x * self.weight).sigmoid()


@pytest.mark.parametrize(("run", "calls"), [(run_layer, 1), (run_checkpointed, 2)])
def test_a_layer_runs_again_in_backward_only_when_checkpointed(
    run: LayerRunner, calls: int
) -> None:
    layer = Counting()
    run(layer, torch.ones(2)).sum().backward()
    assert layer.calls == calls


def test_without_gradients_a_layer_runs_once_and_gives_the_same() -> None:
    layer = Counting()
    with torch.no_grad():
        found = run_checkpointed(layer, torch.ones(2))
    assert layer.calls == 1
    assert torch.equal(found, torch.full((2,), 2.0).sigmoid())


def test_an_error_in_a_layer_is_seen_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        run_checkpointed(nn.Linear(3, 2), torch.ones(4, 5))
