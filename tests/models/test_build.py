import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from dragoman.configfile import read_record
from dragoman.errors import ConfigError
from dragoman.models import PRESETS, Learned, ModelConfig
from dragoman.nn import (
    Embedding,
    EncoderDecoder,
    FeedForward,
    LayerNorm,
    LearnedPositions,
    MultiHeadAttention,
)
from tests.fixtures import build_encoder_decoder

TINY = ModelConfig(layers=1, d_model=4, heads=2, d_ff=6, vocabulary=10)


def parameters(model: nn.Module) -> int:
    return sum(weight.numel() for weight in model.parameters())


def preset(name: str, **choices: object) -> EncoderDecoder:
    config = read_record(ModelConfig, {**PRESETS[name], **choices})
    with torch.device("meta"):
        return build_encoder_decoder(config)


# Counts


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        # By hand: attention 4·4·4 = 64; feed-forward 4·6 + 6 + 6·4 + 4 = 58; norm 8; table 40.
        # Encoder layer 64 + 58 + 2·8 = 138; decoder layer 2·64 + 58 + 3·8 = 210.
        ({}, 138 + 210 + 40),
        ({"norm_order": "pre"}, 138 + 210 + 40 + 2 * 8),
        ({"attention_bias": True}, 138 + 210 + 40 + 3 * 4 * 4),
        ({"attention_bias": True, "attention_output_bias": False}, 138 + 210 + 40 + 3 * 3 * 4),
        ({"attention_output_bias": True}, 138 + 210 + 40 + 3 * 4),
        ({"target_vocabulary": 7}, 138 + 210 + 40 + 7 * 4),
        ({"positions": Learned(max_length=5)}, 138 + 210 + 40 + 2 * 5 * 4),
        ({"layers": 3}, 3 * (138 + 210) + 40),
    ],
)
def test_parameters_of_a_tiny_model_by_hand(choices: dict[str, Any], expected: int) -> None:
    assert parameters(build_encoder_decoder(replace(TINY, **choices))) == expected


@pytest.mark.parametrize(
    ("name", "exact", "paper"),
    [
        # Table 3 prints 65M and 213M. Exact, by an independent count: see cases/counts.json.
        ("base", 63_045_632, 65e6),
        ("big", 214_171_648, 213e6),
    ],
)
def test_presets_have_the_parameters_of_table_3(name: str, exact: int, paper: float) -> None:
    counted = parameters(preset(name, vocabulary=37_000))
    assert counted == exact
    assert counted == pytest.approx(paper, rel=0.04)


# Wiring


def test_a_joint_vocabulary_has_one_table_for_source_target_and_output() -> None:
    model = build_encoder_decoder(TINY)
    assert model.source_input.embedding.table is model.generator.table
    assert model.target_input.embedding.table is model.generator.table


def test_a_target_vocabulary_of_its_own_still_shares_its_table_with_the_output() -> None:
    model = build_encoder_decoder(replace(TINY, target_vocabulary=7))
    assert model.target_input.embedding.table is model.generator.table
    assert model.source_input.embedding.table is not model.generator.table
    logits = model(torch.tensor([[9, 3]]), torch.tensor([[1, 6, 2]]))
    assert logits.shape == (1, 3, 7)


def test_a_model_without_vocabulary_is_refused_with_the_way_out() -> None:
    with pytest.raises(ConfigError) as caught:
        build_encoder_decoder(ModelConfig())
    message = "vocabulary: is not set; take it from the tokenizer: tokenizer.size"
    assert str(caught.value) == message


def test_dropouts_reach_the_parts_they_are_named_after() -> None:
    config = replace(TINY, dropout=0.1, attention_dropout=0.2, feedforward_dropout=0.3)
    model = build_encoder_decoder(config)
    found = {
        name: module.p if name.endswith("dropout") else module.dropout
        for name, module in model.named_modules()
        if name.endswith("dropout") or isinstance(module, MultiHeadAttention)
    }
    for name, chance in found.items():
        if name.endswith("feed_forward.dropout"):
            assert chance == 0.3, name
        elif name.endswith("attention"):
            assert chance == 0.2, name
        else:  # residuals and the two inputs (section 5.4)
            assert chance == 0.1, name
    assert len(found) == 2 + 2 + 3 + 5  # inputs, feed-forwards, attentions, residuals


def test_norm_eps_reaches_every_norm() -> None:
    model = build_encoder_decoder(replace(TINY, norm_order="pre", norm_eps=1e-3))
    norms = [module for module in model.modules() if isinstance(module, LayerNorm)]
    assert len(norms) == 2 + 3 + 2
    assert {norm.eps for norm in norms} == {1e-3}


# First weights


def test_one_generator_gives_one_model() -> None:
    first, second, other = (
        build_encoder_decoder(TINY, torch.Generator().manual_seed(seed)).state_dict()
        for seed in (1, 1, 2)
    )
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["generator.table"], other["generator.table"])


def test_matrices_are_xavier_uniform_each_for_its_own_size() -> None:
    # Glorot and Bengio 2010: bound √(6 / (in + out)). Of n draws the largest reaches at least
    # 99 % of it, but for a chance of 0.99^n: here n is 4096 or more. The variance is bound² / 3.
    model = build_encoder_decoder(
        ModelConfig(layers=2, d_model=64, heads=4, d_ff=256, vocabulary=10)
    )
    matrices: list[torch.Tensor] = []
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            matrices += [*module.projection_blocks(), module.output.weight]
        elif isinstance(module, FeedForward):
            matrices += [module.inner.weight, module.output.weight]
    assert len(matrices) == 2 * (4 + 2) + 2 * (8 + 2)
    for matrix in matrices:
        bound = math.sqrt(6 / sum(matrix.shape))
        assert 0.99 * bound < matrix.abs().max().item() <= bound
        # √(4/5 / n) is the relative deviation of the variance of n uniform draws.
        deviation = math.sqrt(0.8 / matrix.numel())
        assert matrix.var().item() == pytest.approx(bound**2 / 3, rel=6 * deviation)


def test_tables_are_normal_with_deviation_one_over_the_root_of_the_width() -> None:
    config = replace(TINY, d_model=64, vocabulary=400, positions=Learned(max_length=300))
    tables = [
        module.table
        for module in build_encoder_decoder(config).modules()
        if isinstance(module, Embedding | LearnedPositions)
    ]
    assert len(tables) == 3  # one table of pieces, two of positions
    for table in tables:
        deviation = 1 / math.sqrt(2 * table.numel())
        assert table.std().item() == pytest.approx(64**-0.5, rel=6 * deviation)


def test_biases_start_at_zero_and_gains_at_one() -> None:
    model = build_encoder_decoder(replace(TINY, attention_bias=True))
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            assert (weight == 0).all(), name
        elif name.endswith("gain"):
            assert (weight == 1).all(), name
