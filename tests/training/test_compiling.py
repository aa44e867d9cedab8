"""Layers compiled by ``torch.compile`` give the numbers of the layers as they are."""

import shutil

import pytest
import torch

from dragoman.errors import ConfigError
from dragoman.models import ModelConfig, build_model
from dragoman.nn import EncoderOnly
from dragoman.training.compiling import compile_layers

CPU = torch.device("cpu")


def small_encoder() -> EncoderOnly:
    config = ModelConfig(
        architecture="encoder-only", layers=1, d_model=16, heads=2, d_ff=32, vocabulary=20
    )
    model = build_model(config, torch.Generator().manual_seed(1))
    assert isinstance(model, EncoderOnly)
    return model


def test_without_a_compiler_the_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ConfigError, match=r"training\.compile: needs a C\+\+ compiler"):
        compile_layers(small_encoder(), CPU)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # whatever the compiler says of itself
def test_compiled_layers_give_the_same_numbers_at_every_length() -> None:
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("no C++ compiler")
    plain, compiled = small_encoder().eval(), small_encoder().eval()
    assert compile_layers(compiled, CPU) == 1
    assert dict(compiled.named_parameters()).keys() == dict(plain.named_parameters()).keys()
    for shape in ((2, 5), (3, 9)):
        ids = torch.randint(1, 20, shape, generator=torch.Generator().manual_seed(2))
        ids[0, 3:] = 0
        one, two = plain.hidden(ids), compiled.hidden(ids)
        torch.testing.assert_close(two, one)
        one.square().sum().backward()  # pyright: ignore[reportUnknownMemberType]  # torch's stub
        two.square().sum().backward()  # pyright: ignore[reportUnknownMemberType]  # torch's stub
    for (name, one), two in zip(plain.named_parameters(), compiled.parameters(), strict=True):
        if one.grad is not None:
            assert two.grad is not None, name
            torch.testing.assert_close(two.grad, one.grad, rtol=1e-4, atol=1e-4)
