from dataclasses import replace
from typing import Any

import pytest

from dragoman.configfile import read_record
from dragoman.errors import ConfigError
from dragoman.inspection import ParameterCount, count_parameters
from dragoman.models import (
    PRESETS,
    T5,
    AnyConfig,
    ConvolutionalConfig,
    Learned,
    ModelConfig,
    RecurrentConfig,
    build_model,
)

TINY = ModelConfig(layers=1, d_model=4, heads=2, d_ff=6, vocabulary=10)


# By hand: attention 4·4·4 = 64; feed-forward 4·6 + 6 + 6·4 + 4 = 58; norm 8; table 40.
# Encoder layer 64 + 58 + 2·8 = 138; decoder layer 2·64 + 58 + 3·8 = 210.
@pytest.mark.parametrize(
    ("choices", "parts"),
    [
        ({}, {}),
        ({"norm_order": "pre"}, {"norms": 2 * 8}),
        ({"positions": Learned(max_length=5)}, {"positions": 2 * 5 * 4}),
        ({"positions": T5(buckets=8), "layers": 2}, {"positions": 2 * 8 * 2, "layers": 2}),
        ({"tied": "none"}, {"embeddings": 2 * 40, "output": 40}),
        ({"tied": "input"}, {"output": 40}),
        ({"output_bias": True}, {"output": 10}),
        ({"embedding_width": 3}, {"embeddings": 10 * 3 + 3 * 4, "output": 4 * 3}),
        ({"embedding_norm": True}, {"norms": 2 * 8}),
    ],
)
def test_parts_of_a_tiny_translator_by_hand(choices: dict[str, Any], parts: dict[str, int]) -> None:
    layers = parts.pop("layers", 1)
    expected = {"embeddings": 40, "encoder": 138 * layers, "decoder": 210 * layers} | parts
    assert count_parameters(replace(TINY, **choices)) == ParameterCount(**expected)


@pytest.mark.parametrize(
    ("head", "output"),
    [
        # By hand: a layer of 4·4 + 4 = 20; the norm 8; three classes 3·4 + 3 = 15.
        ({"head": "pieces"}, 20 + 8),
        ({"head": "pooled"}, 20),
        ({"head": "class", "classes": ("a", "b", "c")}, 20 + 15),
        ({"head": "tags", "classes": ("a", "b", "c")}, 15),
        ({"head": "none"}, 0),
    ],
)
def test_head_of_an_encoder_is_counted_as_output(head: dict[str, Any], output: int) -> None:
    config = replace(TINY, architecture="encoder-only", segments=2, **head)
    expected = ParameterCount(embeddings=40 + 2 * 4, encoder=138, output=output)
    assert count_parameters(config) == expected


@pytest.mark.parametrize(
    "config",
    [
        TINY,
        RecurrentConfig(layers=2, d_model=8, vocabulary=10),
        ConvolutionalConfig(layers=2, d_model=8, vocabulary=10),
    ],
)
def test_total_is_what_the_model_learns(config: AnyConfig) -> None:
    learned = sum(weight.numel() for weight in build_model(config).parameters())
    assert count_parameters(config).total == learned


def test_a_model_larger_than_any_memory_here_is_counted() -> None:
    # LLaMA 7B (arXiv 2302.13971, table 2) has 6.7 billion; by hand: per layer four 4096² matrices,
    # three of 4096 x 11008 and two norms; two tables of 32,000; a last norm.
    config = read_record(ModelConfig, {**PRESETS["llama"], "vocabulary": 32_000})
    layer = 4 * 4096**2 + 3 * 4096 * 11_008 + 2 * 4096
    count = count_parameters(config)
    assert count.total == 32 * layer + 2 * 32_000 * 4096 + 4096
    assert count.total == pytest.approx(6.7e9, rel=0.01)


def test_a_model_without_vocabulary_cannot_be_counted() -> None:
    with pytest.raises(ConfigError, match="vocabulary: is not set"):
        count_parameters(ModelConfig())
