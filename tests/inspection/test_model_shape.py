from pathlib import Path

import pytest

from dragoman.inspection import (
    count_lines,
    count_parameters,
    draw_shape,
    model_stacks,
    part_counts,
    stack_lines,
)
from dragoman.models import (
    AnyConfig,
    ConvolutionalConfig,
    Images,
    ModelConfig,
    RecurrentConfig,
    Rotary,
)

SMALL = ModelConfig(layers=2, d_model=8, heads=2, d_ff=16, vocabulary=10, tied="all")
SEVERAL: list[AnyConfig] = [
    SMALL,
    ModelConfig(layers=2, decoder_layers=1, d_model=8, heads=2, vocabulary=9, tied="none"),
    ModelConfig(layers=2, d_model=8, heads=2, vocabulary=9, architecture="decoder-only"),
    ModelConfig(layers=1, d_model=8, heads=2, vocabulary=9, architecture="encoder-only"),
    ModelConfig(
        layers=1,
        d_model=8,
        heads=2,
        architecture="encoder-only",
        head="class",
        classes=("a", "b"),
        images=Images(height=4, width=4, patch=2),
    ),
    RecurrentConfig(architecture="recurrent", d_model=4, vocabulary=9, target_vocabulary=7),
    ConvolutionalConfig(architecture="convolutional", d_model=4, layers=2, vocabulary=9),
]


def test_parts_are_counted_by_hand() -> None:
    table = {each.part: (each.times, each.each) for each in part_counts(SMALL)}
    assert table == {
        "source input embedding": (1, 10 * 8),  # all three tables are this one
        "encoder self-attention": (2, 4 * 8 * 8),
        "encoder norms": (2, 2 * 2 * 8),
        "encoder feed forward": (2, 2 * 8 * 16 + 16 + 8),
        "decoder self-attention": (2, 4 * 8 * 8),
        "decoder cross attention": (2, 4 * 8 * 8),
        "decoder norms": (2, 3 * 2 * 8),
        "decoder feed forward": (2, 2 * 8 * 16 + 16 + 8),
    }


@pytest.mark.parametrize("config", SEVERAL)
def test_parts_add_up_to_the_whole_model(config: AnyConfig) -> None:
    assert sum(each.total for each in part_counts(config)) == count_parameters(config).total
    lines = count_lines(part_counts(config))
    assert lines[-1].split()[-1] == f"{count_parameters(config).total:,}"


def test_the_diagram_says_what_is_chosen_with_the_output_at_the_top() -> None:
    config = ModelConfig(
        layers=4,
        heads=8,
        kv_heads=2,
        positions=Rotary(),
        norm="rms",
        norm_order="pre",
        feedforward="gated",
        vocabulary=100,
        architecture="decoder-only",
    )
    lines = [line.strip(" │") for line in stack_lines(model_stacks(config))]
    assert lines[:4] == ["DECODER", "softmax", "linear, to 100 pieces", "rms norm"]
    assert lines[4].endswith("┐ x 4")
    assert lines[5:11] == [
        *("add", "feed-forward, 2,048, gated silu", "rms norm"),
        *("add", "masked self-attention, 8 heads, 2 of keys, rotary", "rms norm"),
    ]
    assert lines[12:14] == ["embedding, 100 x 512", "pieces so far"]


def test_other_architectures_read_the_source_where_they_do() -> None:
    recurrent, convolutional = SEVERAL[5], SEVERAL[6]
    lines = [line.strip() for line in stack_lines([model_stacks(recurrent)[1]])]
    assert lines == [
        *("DECODER", "softmax", "linear, to 7 pieces", "tanh layer of state, attention, embedding"),
        *(lines[4], f"│ {'lstm, 4':^41} │", lines[6]),
        "> attention to encoder, by the last state",
        *("embedding, 7 x 4", "target pieces so far"),
    ]
    assert [block.text for block in model_stacks(convolutional)[1].layer] == [
        "gated convolution, kernel 3",
        "attention to encoder",
    ]


def test_the_decoder_reads_the_encoder_once_a_layer() -> None:
    encoder, decoder = model_stacks(SMALL)
    assert [block.text for block in encoder.layer if block.reads_encoder] == []
    assert [block.text for block in decoder.layer if block.reads_encoder] == [
        "attention to encoder, 2 heads"
    ]
    assert (encoder.times, decoder.times) == (2, 2)


@pytest.mark.parametrize("config", [SEVERAL[0], SEVERAL[4], SEVERAL[5]])
def test_every_kind_is_drawn(config: AnyConfig, tmp_path: Path) -> None:
    draw_shape(model_stacks(config), "a $ model", tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
