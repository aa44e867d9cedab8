import math
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dragoman.configfile import read_record, write_record
from dragoman.errors import ConfigError
from dragoman.models.convolutional import ConvolutionalConfig, build_convolutional
from dragoman.nn import (
    Convolution,
    ConvolutionalDecoderLayer,
    ConvolutionalEncoderDecoder,
    ConvolutionalMemory,
    Dropout,
    Embedding,
    SeparableConvolution,
)

TINY = ConvolutionalConfig(layers=2, d_model=4, vocabulary=10)
KINDS: dict[str, dict[str, Any]] = {  # Any: arguments of the record
    "plain": {},
    "doubling": {"dilations": "doubling"},
    "separable": {"separable": True},
}


def seeded(config: ConvolutionalConfig, seed: int = 1) -> ConvolutionalEncoderDecoder:
    return build_convolutional(config, torch.Generator().manual_seed(seed))


# The record


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (
            {"kernel": 4},
            "kernel: 4 is even, and a centred kernel reads as far left as right; try 3 or 5",
        ),
        ({"d_model": 7}, "d_model: 7 is odd, and sinusoids come in pairs; try 6 or 8"),
        ({"d_model": 1}, "d_model: 1 is odd, and sinusoids come in pairs; try 2"),
    ],
)
def test_impossible_sizes_are_refused_with_near_values_that_work(
    choices: dict[str, int], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_record(ConvolutionalConfig, choices)
    assert str(caught.value) == message
    for hint in message.rsplit("try ", 1)[1].split(" or "):
        read_record(ConvolutionalConfig, dict.fromkeys(choices, int(hint)))


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        read_record(ConvolutionalConfig, {"kernel": 2, "d_model": 3, "dilation": "none"})
    assert [mistake.place for mistake in caught.value.mistakes] == ["dilation", "kernel", "d_model"]


@pytest.mark.parametrize(
    "wrong", [{"kernel": 0}, {"layers": 0}, {"dropout": 1.0}, {"dilations": "double"}]
)
def test_values_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        read_record(ConvolutionalConfig, wrong)
    assert [mistake.place for mistake in caught.value.mistakes] == list(wrong)


def test_a_record_written_as_a_table_reads_back_the_same() -> None:
    config = ConvolutionalConfig(layers=3, dilations="doubling", separable=True, vocabulary=7)
    assert read_record(ConvolutionalConfig, write_record(config)) == config
    assert config.max_length is None


def test_dilations_double_up_to_16_and_start_again() -> None:
    # ByteNet, arXiv 1610.10099: rates 1, 2, 4, 8, 16, and the scheme is repeated.
    config = ConvolutionalConfig(layers=7, dilations="doubling")
    assert config.dilation_rates == (1, 2, 4, 8, 16, 1, 2)
    assert replace(config, dilations="none").dilation_rates == (1,) * 7


# The model


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        # By hand: a block 3·4·8 + 8 = 104, a query 4·4 + 4 = 20, a table 40.
        # Separable: 3·4 + 4·8 + 8 = 52.
        ({}, 2 * 104 + 2 * (104 + 20) + 40),
        ({"dilations": "doubling"}, 2 * 104 + 2 * (104 + 20) + 40),
        ({"separable": True}, 2 * 52 + 2 * (52 + 20) + 40),
        ({"target_vocabulary": 7}, 2 * 104 + 2 * (104 + 20) + 40 + 7 * 4),
    ],
)
def test_parameters_of_a_tiny_model_by_hand(choices: dict[str, Any], expected: int) -> None:
    model = build_convolutional(replace(TINY, **choices))
    assert sum(weight.numel() for weight in model.parameters()) == expected


def test_tables_are_shared_as_the_vocabularies_allow() -> None:
    joint = build_convolutional(TINY)
    assert joint.source_input.embedding.table is joint.generator.table
    assert joint.target_input.embedding.table is joint.generator.table
    apart = build_convolutional(replace(TINY, target_vocabulary=7))
    assert apart.source_input.embedding.table is not apart.generator.table
    assert apart.target_input.embedding.table is apart.generator.table
    assert apart(torch.tensor([[9, 3]]), torch.tensor([[1, 6, 2]])).shape == (1, 3, 7)


def test_a_model_without_vocabulary_is_refused_with_the_way_out() -> None:
    with pytest.raises(ConfigError) as caught:
        build_convolutional(ConvolutionalConfig())
    message = "vocabulary: is not set; take it from the tokenizer: tokenizer.size"
    assert str(caught.value) == message


def test_dropout_reaches_inputs_blocks_and_the_output_of_the_decoder() -> None:
    model = build_convolutional(replace(TINY, dropout=0.3))
    found = [module.p for module in model.modules() if isinstance(module, Dropout)]
    assert found == [0.3] * (2 + 2 * 2 + 1)


# First weights


@pytest.mark.parametrize("kind", KINDS)
def test_one_generator_gives_one_model(kind: str) -> None:
    config = replace(TINY, **KINDS[kind])
    first, second, other = (seeded(config, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], second[name]) for name in first)
    random = [name for name in first if not name.endswith("bias")]
    assert not any(torch.equal(first[name], other[name]) for name in random)


def test_variances_are_those_of_section_3_5() -> None:
    # 4 p / n before a gate, p / n and 1 / n otherwise, for n inputs kept with chance p.
    config = ConvolutionalConfig(layers=2, d_model=64, kernel=5, dropout=0.25, vocabulary=300)
    expected: list[tuple[torch.Tensor, float]] = []
    for chosen in (config, replace(config, separable=True)):
        for module in seeded(chosen).modules():
            match module:
                case Convolution(kernel=kernel):
                    expected.append((kernel, 4 * 0.75 / (5 * 64)))
                case SeparableConvolution(depthwise=depthwise, pointwise=pointwise):
                    expected += [(depthwise, 0.75 / 5), (pointwise, 4 / 64)]
                case ConvolutionalDecoderLayer(query=query):
                    expected.append((query.weight, 1 / 64))
                case Embedding(table=table):
                    expected.append((table, 1 / 64))
                case _:
                    pass
    assert len(expected) == (4 + 2 + 1) + (4 * 2 + 2 + 1)
    for weight, variance in expected:
        # √(2 / n) is the relative deviation of the variance of n normal draws.
        deviation = math.sqrt(2 / weight.numel())
        assert weight.var().item() == pytest.approx(variance, rel=6 * deviation)


def test_biases_start_at_zero() -> None:
    model = build_convolutional(TINY)
    biases = [weight for name, weight in model.named_parameters() if name.endswith("bias")]
    assert len(biases) == 2 + 2 + 2
    assert not any(bias.any() for bias in biases)


@pytest.mark.parametrize("kind", KINDS)
def test_first_weights_keep_the_size_of_vectors_through_twelve_layers(kind: str) -> None:
    # Section 3.4 there. Its rule for attention counts on source vectors that are independent and
    # zero on average, as random ones are; e and z each have the size of the embeddings.
    config = ConvolutionalConfig(layers=12, d_model=64, vocabulary=99, **KINDS[kind])
    model, rng = seeded(config).eval(), torch.Generator().manual_seed(0)
    ids = torch.randint(1, 99, (4, 40), generator=rng)
    z, e = torch.randn(2, 4, 40, 64, generator=rng) * 0.1
    visible = torch.ones(4, 1, 1, 40, dtype=torch.bool)
    with torch.no_grad():
        states = model.encode(ids).states
        hidden = model.decode(ids, ConvolutionalMemory(z, (z + e) * math.sqrt(40), visible))
        size = (model.source_input(ids) * 0.1).std()
    assert 0.4 < states.std() / size < 2.5
    assert 0.4 < hidden.std() / size < 2.5


# Training


def loss_after(model: nn.Module, updates: int) -> tuple[float, float]:
    """Learn to copy eight random pieces; give the first and the mean of the last ten losses."""
    rng = torch.Generator().manual_seed(5)
    torch.manual_seed(6)  # dropout
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses: list[float] = []
    for _ in range(updates):
        source = torch.randint(3, 16, (16, 8), generator=rng)
        target_in = F.pad(source[:, :-1], (1, 0), value=1)
        loss = F.cross_entropy(model(source, target_in).flatten(0, 1), source.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[0], sum(losses[-10:]) / 10


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_learns_to_copy(kind: str) -> None:
    # Thirteen pieces at random are log 13 = 2.56 nats; below 0.8 the source must be read.
    config = ConvolutionalConfig(layers=2, d_model=32, dropout=0.1, vocabulary=16, **KINDS[kind])
    first, last = loss_after(seeded(config).train(), 90)
    assert first > 2.3
    assert last < 0.8
