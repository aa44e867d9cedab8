import math
from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from dragoman.models import ModelConfig, build_model, initialize
from dragoman.models.initialize import deepnorm_gain, deepnorm_scale
from dragoman.nn import (
    CausalLM,
    Decoder,
    Encoder,
    EncoderDecoder,
    EncoderOnly,
    FeedForward,
    GatedFeedForward,
    MultiHeadAttention,
    Residual,
)

WIDE = ModelConfig(layers=4, d_model=64, heads=4, d_ff=256, vocabulary=10)
Scheme = Literal["xavier", "depth-scaled", "deepnorm", "normal"]


def build(config: ModelConfig, seed: int = 1) -> EncoderDecoder:
    model = build_model(config, torch.Generator().manual_seed(seed))
    assert isinstance(model, EncoderDecoder)
    return model


def matrices(layer: nn.Module) -> dict[str, Tensor]:
    """Name every matrix of a layer by the module that holds it and its part there."""
    found: dict[str, Tensor] = {}
    for name, module in layer.named_modules():
        match module:
            case MultiHeadAttention():
                blocks = dict(zip(("q", "k", "v"), module.projection_blocks(), strict=True))
            case GatedFeedForward():
                blocks = dict(zip(("gate", "up"), module.projection_blocks(), strict=True))
            case FeedForward():
                blocks = {"inner": module.inner.weight}
            case _:
                continue
        found |= {f"{name}.{part}": block for part, block in blocks.items()}
        found[f"{name}.output"] = module.output.weight
    return found


def xavier_bound(matrix: Tensor) -> float:
    return math.sqrt(6 / sum(matrix.shape))


# Xavier


@pytest.mark.parametrize(
    ("choices", "blocks"),
    [
        ({}, 6 + 10),
        ({"kv_heads": 1, "d_k": 32, "d_v": 48}, 6 + 10),
        ({"feedforward": "gated"}, 7 + 11),
    ],
)
def test_every_block_is_drawn_for_its_own_size(choices: dict[str, Any], blocks: int) -> None:
    # Glorot and Bengio 2010: bound √(6 / (in + out)). All n >= 2048 draws stay below 99 % of it
    # with a chance of 0.99^2048, about 1e-9.
    model = build(replace(WIDE, layers=1, **choices))
    found = [*matrices(model.encoder).values(), *matrices(model.decoder).values()]
    assert len(found) == blocks
    for matrix in found:
        assert 0.99 * xavier_bound(matrix) < matrix.abs().max().item() <= xavier_bound(matrix)


# Scaled by depth


def test_depth_scaled_divides_every_matrix_by_the_root_of_its_layer() -> None:
    plain = build(WIDE)
    scaled = build(replace(WIDE, initialization="depth-scaled"))
    for stack in ("encoder", "decoder"):
        pairs = zip(getattr(plain, stack).layers, getattr(scaled, stack).layers, strict=True)
        for depth, (before, after) in enumerate(pairs, start=1):
            old, new = matrices(before), matrices(after)
            for name in old:
                torch.testing.assert_close(new[name], old[name] / depth**0.5)


# DeepNorm


@pytest.mark.parametrize(
    ("layers", "decoder", "alpha", "beta"),
    [
        # Figure 2 of arXiv 2203.00555 for encoders of N and decoders of M layers, by hand:
        # encoder 0.81 (N⁴ M)^(1/16) and 0.87 (N⁴ M)^(-1/16); decoder (3 M)^(1/4), (12 M)^(-1/4).
        (6, False, 1.41794, 0.49699),  # 7776^(1/16) = 1.75054
        (6, True, 2.05977, 0.34329),  # 18^(1/4), 72^(-1/4)
        (18, False, 1.99875, 0.35257),  # 18^(5/16) = 2.46759
        (18, True, 2.71081, 0.26085),  # 54^(1/4), 216^(-1/4)
    ],
)
def test_deepnorm_of_a_translator_follows_figure_2(
    layers: int, decoder: bool, alpha: float, beta: float
) -> None:
    config = ModelConfig(layers=layers)
    assert deepnorm_scale(config, decoder=decoder) == pytest.approx(alpha, abs=1e-5)
    assert deepnorm_gain(config, decoder=decoder) == pytest.approx(beta, abs=1e-5)


@pytest.mark.parametrize("architecture", ["encoder-only", "decoder-only"])
def test_deepnorm_of_one_stack_follows_figure_2(architecture: Any) -> None:
    # (2 N)^(1/4) and (8 N)^(-1/4) for N = 18: 36^(1/4) = √6, 144^(-1/4) = 1 / √12.
    config = ModelConfig(architecture=architecture, layers=18)
    decoder = architecture == "decoder-only"
    assert deepnorm_scale(config, decoder=decoder) == pytest.approx(6**0.5)
    assert deepnorm_gain(config, decoder=decoder) == pytest.approx(12**-0.5)


def test_deepnorm_shrinks_all_but_queries_and_keys_and_weighs_the_input_of_residuals() -> None:
    # N = M = 4: N⁴ M = 1024, so 1024^(1/16) = 2^(5/8); 12^(1/4); 48^(-1/4).
    by_hand = {
        "encoder": (0.81 * 2 ** (5 / 8), 0.87 * 2 ** (-5 / 8)),
        "decoder": (12**0.25, 48**-0.25),
    }
    plain = build(WIDE)
    deep = build(replace(WIDE, initialization="deepnorm"))
    for stack, (alpha, beta) in by_hand.items():
        old, new = matrices(getattr(plain, stack)), matrices(getattr(deep, stack))
        for name in old:
            gain = 1.0 if name.endswith((".q", ".k")) else beta
            torch.testing.assert_close(new[name], gain * old[name])
        wirings = [part for part in getattr(deep, stack).modules() if isinstance(part, Residual)]
        assert [wiring.scale for wiring in wirings] == pytest.approx([alpha] * len(wirings))


# Normal


def test_normal_has_std_0_02_and_less_where_a_residual_closes() -> None:
    # Radford et al. 2019, section 2.3: 1 / √(residuals). Four layers with two residuals each make
    # 1 / √8; those of the decoder, with attention to the source, have three: 1 / √12.
    model = build(replace(WIDE, initialization="normal"))
    for stack, residuals in ((model.encoder, 8), (model.decoder, 12)):
        for name, matrix in matrices(stack).items():
            std = 0.02 / math.sqrt(residuals) if name.endswith("output") else 0.02
            deviation = 1 / math.sqrt(2 * matrix.numel())  # of the std of n draws, relatively
            assert matrix.std().item() == pytest.approx(std, rel=6 * deviation), name
    table = model.generator.table
    assert table.std().item() == pytest.approx(0.02, rel=6 / math.sqrt(2 * table.numel()))


# All


@pytest.mark.parametrize("scheme", ["xavier", "depth-scaled", "deepnorm", "normal"])
def test_a_model_initialized_again_with_the_same_seed_is_the_same(scheme: Scheme) -> None:
    config = replace(WIDE, initialization=scheme)
    model = build(config)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    initialize(model, config, torch.Generator().manual_seed(1))
    torch.testing.assert_close(dict(model.state_dict()), before, atol=0, rtol=0)


def test_the_error_reaches_the_bottom_of_a_deep_stack_with_a_scheme_for_depth() -> None:
    # arXiv 1908.11365, section 3: what counts is the gradient at the output of each layer. With a
    # scheme for depth it is about as long at the bottom as at the top of 24 layers, whatever the
    # draw; with Xavier alone it shrinks or grows several times.
    worst = {scheme: max(map(abs, _log_ratios(scheme))) for scheme in _SCHEMES}
    assert worst["depth-scaled"] < math.log(1.4)
    assert worst["deepnorm"] < math.log(1.4)
    assert worst["xavier"] > math.log(3)


_SCHEMES: tuple[Scheme, ...] = ("xavier", "depth-scaled", "deepnorm")


def _log_ratios(scheme: Scheme) -> list[float]:
    config = ModelConfig(
        architecture="encoder-only",
        layers=24,
        d_model=32,
        heads=4,
        d_ff=64,
        dropout=0.0,
        initialization=scheme,
        vocabulary=40,
    )
    return [
        _log_ratio(build_model(config, torch.Generator().manual_seed(s))) for s in range(50, 56)
    ]


def _log_ratio(model: nn.Module) -> float:
    """Compare the gradients at the outputs of the lowest and the highest layer."""
    assert isinstance(model, CausalLM | EncoderOnly)
    outputs: list[Tensor] = []

    def keep(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        outputs.append(output)

    stack = next(part for part in model.children() if isinstance(part, Encoder | Decoder))
    for layer in stack.layers:
        layer.register_forward_hook(keep)
    ids = torch.randint(1, 40, (8, 16), generator=torch.Generator().manual_seed(1))
    loss = nn.functional.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    bottom, top = torch.autograd.grad(loss, (outputs[0], outputs[-1]))
    return math.log(bottom.norm().item() / top.norm().item())
