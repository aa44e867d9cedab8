from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dragoman.configfile import read_record, write_record
from dragoman.errors import ConfigError
from dragoman.models import PRESETS, Learned, ModelConfig, Sinusoidal


def messages(error: ConfigError) -> list[str]:
    return str(error).splitlines()


def test_defaults_are_the_base_model_of_table_3() -> None:
    config = ModelConfig()
    shape = (config.layers, config.d_model, config.d_ff, config.heads, config.dropout)
    assert shape == (6, 512, 2048, 8, 0.1)
    assert config.norm_order == "post"
    assert not config.has_final_norm
    assert config.positions == Sinusoidal()


def test_big_preset_is_the_last_row_of_table_3() -> None:
    config = read_record(ModelConfig, PRESETS["big"])
    shape = (config.layers, config.d_model, config.d_ff, config.heads, config.dropout)
    assert shape == (6, 1024, 4096, 16, 0.3)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_valid_model(name: str) -> None:
    config = read_record(ModelConfig, PRESETS[name])
    assert config.d_ff == 4 * config.d_model  # as in both models of the paper


def test_heads_that_do_not_divide_the_width_are_refused_with_near_values() -> None:
    with pytest.raises(ConfigError) as caught:
        ModelConfig(heads=6)
    assert str(caught.value) == "heads: 6 does not divide d_model 512; try 4 or 8"


def test_the_reader_adds_table_and_file() -> None:
    with pytest.raises(ConfigError) as caught:
        read_record(ModelConfig, {"heads": 6}, file="config.toml")
    located = caught.value.inside("model")
    assert str(located) == "config.toml: model.heads: 6 does not divide d_model 512; try 4 or 8"


def test_odd_width_is_refused_with_sinusoids_only() -> None:
    with pytest.raises(ConfigError) as caught:
        ModelConfig(d_model=513, heads=1)
    problem = "d_model: 513 is odd, and sinusoids come in pairs; try 512 or 514"
    assert str(caught.value) == problem
    assert ModelConfig(d_model=513, heads=1, positions=Learned()).d_model == 513


def test_several_mistakes_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        ModelConfig(d_model=15, heads=4)
    assert messages(caught.value) == [
        "heads: 4 does not divide d_model 15; try 3 or 5",
        "d_model: 15 is odd, and sinusoids come in pairs; try 12 or 16",
    ]


@given(d_model=st.integers(1, 600).map(lambda half: 2 * half), heads=st.integers(1, 64))
def test_every_hint_on_heads_works(d_model: int, heads: int) -> None:
    assume(d_model % heads)
    with pytest.raises(ConfigError) as caught:
        ModelConfig(d_model=d_model, heads=heads)
    (mistake,) = caught.value.mistakes
    for word in mistake.hint.removeprefix("try ").split(" or "):
        assert ModelConfig(d_model=d_model, heads=int(word)).heads == int(word)


@given(half=st.integers(0, 300), heads=st.integers(1, 16))
def test_every_hint_on_an_odd_width_works(half: int, heads: int) -> None:
    with pytest.raises(ConfigError) as caught:
        ModelConfig(d_model=2 * half + 1, heads=heads)
    (hint,) = (mistake.hint for mistake in caught.value.mistakes if mistake.place == "d_model")
    for word in hint.removeprefix("try ").split(" or "):
        assert ModelConfig(d_model=int(word), heads=heads).d_model == int(word)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"haeds": 8}, "haeds: unknown key; did you mean heads?"),
        ({"layers": 0}, "layers: 0 should be greater than or equal to 1"),
        ({"dropout": 1.0}, "dropout: 1.0 should be less than 1"),
        ({"dropout": -0.1}, "dropout: -0.1 should be greater than or equal to 0"),
        ({"norm_order": "per"}, "norm_order: 'per' is not a choice; did you mean pre?"),
        ({"layers": "six"}, "layers: 'six' should be a valid integer"),
        ({"layers": True}, "layers: True should be a valid integer"),
        (
            {"positions": {"kind": "learnt"}},
            "positions.kind: 'learnt' is not a choice; did you mean learned?",
        ),
        (
            {"positions": {"kind": "learned", "max_lenght": 9}},
            "positions.max_lenght: unknown key; did you mean max_length?",
        ),
    ],
)
def test_wrong_setting_is_named_with_its_place(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_record(ModelConfig, table)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("norm_order", "final_norm", "ends_with_norm"),
    [
        ("post", None, False),
        ("pre", None, True),
        ("post", True, True),
        ("pre", False, False),
    ],
)
def test_pre_norm_ends_with_a_norm_unless_told_otherwise(
    norm_order: Any, final_norm: bool | None, ends_with_norm: bool
) -> None:
    config = ModelConfig(norm_order=norm_order, final_norm=final_norm)
    assert config.has_final_norm is ends_with_norm


def test_learned_positions_limit_the_length() -> None:
    assert ModelConfig(positions=Learned(max_length=77)).max_length == 77
    assert ModelConfig().max_length is None


@pytest.mark.parametrize("positions", [Sinusoidal(), Learned(max_length=5)])
def test_a_record_written_as_a_table_reads_back_the_same(
    positions: Sinusoidal | Learned, tmp_path: Path
) -> None:
    config = ModelConfig(d_model=64, heads=2, positions=positions, vocabulary=99, final_norm=True)
    assert read_record(ModelConfig, write_record(config)) == config
