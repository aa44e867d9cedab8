from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from torch import nn

from dragoman.configfile import read_record, write_record
from dragoman.errors import ConfigError
from dragoman.models.recurrent import RecurrentConfig, build_recurrent
from dragoman.nn import AdditiveAttention, Dropout

TINY = RecurrentConfig(layers=2, d_model=4, vocabulary=10)
BOTH_CELLS = pytest.mark.parametrize("cell", ["lstm", "gru"])


def parameters(model: nn.Module) -> int:
    return sum(weight.numel() for weight in model.parameters())


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        # By hand, D = 4, N blocks. A cell for n inputs has N·D (n + D + 2) weights: 16 (n + 6) for
        # an LSTM, 12 (n + 6) for a GRU. Encoder, two directions: 2·(n=4) + 2·(n=8). Decoder:
        # n=12, n=4. Attention 4·4 + 8·4 + 4 = 52; first state 4·8 + 8 = 40; readout 16·4 + 4 = 68.
        # LSTM: 2·160 + 2·224 + 288 + 160 = 1216. GRU: 3/4 of it, 912. Table 40.
        ({}, 1216 + 52 + 40 + 68 + 40),
        ({"cell": "gru"}, 912 + 52 + 40 + 68 + 40),
        ({"target_vocabulary": 7}, 1216 + 52 + 40 + 68 + 40 + 28),
        ({"layers": 1}, 320 + 288 + 52 + 20 + 68 + 40),
    ],
)
def test_parameters_of_a_tiny_model_by_hand(choices: dict[str, Any], expected: int) -> None:
    assert parameters(build_recurrent(replace(TINY, **choices))) == expected


def test_record_goes_to_a_table_and_back() -> None:
    config = RecurrentConfig(cell="gru", layers=3, d_model=64, dropout=0.3, vocabulary=100)
    assert read_record(RecurrentConfig, write_record(config)) == config
    assert config.max_length is None


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"cell": "rnn"}, "cell: "),
        ({"layers": 0}, "layers: "),
        ({"attends": "some"}, "attends: "),
        ({"d_model": 0}, "d_model: "),
        ({"dropout": 1.0}, "dropout: "),
        ({"heads": 8}, "heads: unknown key"),
    ],
)
def test_choices_out_of_range_are_located(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_record(RecurrentConfig, table)
    assert str(caught.value).startswith(message)


def test_a_model_without_vocabulary_is_refused_with_the_way_out() -> None:
    with pytest.raises(ConfigError) as caught:
        build_recurrent(RecurrentConfig())
    message = "vocabulary: is not set; take it from the tokenizer: tokenizer.size"
    assert str(caught.value) == message


def test_a_joint_vocabulary_has_one_table_for_source_target_and_output() -> None:
    model = build_recurrent(TINY)
    assert model.source_embedding.weight is model.generator.table
    assert model.target_embedding.weight is model.generator.table


def test_a_target_vocabulary_of_its_own_still_shares_its_table_with_the_output() -> None:
    model = build_recurrent(replace(TINY, target_vocabulary=7))
    assert model.target_embedding.weight is model.generator.table
    assert model.source_embedding.weight is not model.generator.table
    assert model(torch.tensor([[9, 3]]), torch.tensor([[1, 6, 2]])).shape == (1, 3, 7)


def test_dropout_reaches_every_part() -> None:
    model = build_recurrent(replace(TINY, dropout=0.3))
    found = [module.p for module in model.modules() if isinstance(module, Dropout)]
    assert found == [0.3] * 3  # embeddings, encoder, decoder


# First weights


@BOTH_CELLS
def test_one_generator_gives_one_model_whatever_the_default_one_did(
    cell: Literal["lstm", "gru"],
) -> None:
    config = replace(TINY, cell=cell, target_vocabulary=7)
    torch.manual_seed(0)
    first = build_recurrent(config, torch.Generator().manual_seed(1)).state_dict()
    torch.manual_seed(5)
    second = build_recurrent(config, torch.Generator().manual_seed(1)).state_dict()
    other = build_recurrent(config, torch.Generator().manual_seed(2)).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    drawn = [name for name in first if "bias" not in name]
    assert len(drawn) == len([name for name in drawn if not torch.equal(first[name], other[name])])


@BOTH_CELLS
def test_blocks_are_orthogonal_or_xavier_and_biases_zero_but_for_the_forget_gate(
    cell: Literal["lstm", "gru"],
) -> None:
    width = 32
    config = RecurrentConfig(cell=cell, layers=2, d_model=width, vocabulary=10)
    model = build_recurrent(config, torch.Generator().manual_seed(3))
    cells = [m for m in model.modules() if isinstance(m, nn.LSTM | nn.GRU | nn.RNNCellBase)]
    assert len(cells) == 2 + 2
    for module in cells:
        for name, weight in module.named_parameters():
            blocks = weight.detach().split(width)
            assert len(blocks) == (4 if cell == "lstm" else 3)
            for number, block in enumerate(blocks):
                if name.startswith("weight_hh"):
                    torch.testing.assert_close(block @ block.T, torch.eye(width), atol=1e-5, rtol=0)
                elif name.startswith("weight_ih"):
                    # Glorot and Bengio 2010; of n >= 1024 draws the largest is almost the bound.
                    bound = (6 / sum(block.shape)) ** 0.5
                    assert 0.98 * bound < block.abs().max() <= bound
                else:
                    forget = cell == "lstm" and number == 1 and name.startswith("bias_ih")
                    assert (block == (1.0 if forget else 0.0)).all(), name
    for module in model.modules():
        if isinstance(module, nn.Linear):
            bound = (6 / sum(module.weight.shape)) ** 0.5
            assert 0.98 * bound < module.weight.abs().max() <= bound
        if isinstance(module, AdditiveAttention):
            assert 0 < module.vector.abs().max() <= (6 / (width + 1)) ** 0.5


def test_tables_are_normal_with_deviation_one_over_the_root_of_the_width() -> None:
    model = build_recurrent(RecurrentConfig(layers=1, d_model=64, vocabulary=400))
    deviation = 1 / (2 * 400 * 64) ** 0.5
    assert model.generator.table.std().item() == pytest.approx(64**-0.5, rel=6 * deviation)
