import re

import pytest
import torch
from torch import nn

from dragoman.configfile import read_record
from dragoman.errors import ConfigError
from dragoman.models import ModelConfig, build_model
from dragoman.training import AdamConfig, TrainingConfig, build_optimizer, freeze, set_rate


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.source = nn.Embedding(5, 2)
        self.encoder = Encoder()
        self.output = nn.Linear(2, 5, bias=False)
        self.output.weight = self.source.weight  # tied


def test_names_that_match_are_frozen_and_the_others_learn() -> None:
    model = Model()
    assert freeze(model, ["source.*", "encoder.layers.0.*"]) == (
        "source.weight",
        "encoder.layers.0.weight",
        "encoder.layers.0.bias",
    )
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    optimizer = build_optimizer(model.parameters(), AdamConfig())
    set_rate(optimizer, 0.1)
    hidden = model.encoder.layers[1](model.encoder.layers[0](model.source.weight))
    model.output(hidden).square().sum().backward()
    optimizer.step()
    changed = [
        name for name, weight in model.named_parameters() if not torch.equal(weight, before[name])
    ]
    assert changed == ["encoder.layers.1.weight", "encoder.layers.1.bias"]


def test_no_patterns_freeze_nothing() -> None:
    model = Model()
    assert freeze(model, []) == ()
    assert all(weight.requires_grad for weight in model.parameters())


@pytest.mark.parametrize("pattern", ["*.bias", "encoder.layers.[01].bias", "encoder.layers.?.bias"])
def test_patterns_are_those_of_file_names(pattern: str) -> None:
    names = freeze(Model(), [pattern])
    assert names == ("encoder.layers.0.bias", "encoder.layers.1.bias")


@pytest.mark.parametrize(
    ("pattern", "hint", "works"),
    [
        ("encoder.layer.0.*", "did you mean encoder.layers.0.*?", "encoder.layers.0.*"),
        ("encodr.*", "did you mean encoder.*?", "encoder.*"),
        ("Source.*", "did you mean source.*?", "source.*"),
        ("source.wieght", "did you mean source.weight?", "source.weight"),
        ("decoder_positions", "choose from source.*, encoder.*", "source.*"),
        ("", "choose from source.*, encoder.*", "encoder.*"),
    ],
)
def test_a_pattern_without_a_match_gets_a_suggestion_that_works(
    pattern: str, hint: str, works: str
) -> None:
    model = Model()
    message = f"training.freeze: {pattern!r} matches no weight; {hint}"
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        freeze(model, ["*.bias", pattern])
    assert all(weight.requires_grad for weight in model.parameters())  # as it was
    assert freeze(model, [works])


def test_all_patterns_without_a_match_are_reported_together() -> None:
    with pytest.raises(ConfigError) as caught:
        freeze(Model(), ["one", "two", "one"])
    assert len(caught.value.mistakes) == 2


def test_the_other_name_of_a_tied_table_is_explained() -> None:
    message = "^training.freeze: 'output.*' matches only output.weight, which is tied to source.wei"
    with pytest.raises(ConfigError, match=message):
        freeze(Model(), ["output.*"])


def test_something_is_left_to_train() -> None:
    model = Model()
    with pytest.raises(ConfigError, match=r"^training\.freeze: nothing is left to train; leave "):
        freeze(model, ["source.*", "encoder.*"])
    assert all(weight.requires_grad for weight in model.parameters())
    freeze(model, ["source.*"])
    with pytest.raises(ConfigError, match="nothing is left to train"):
        freeze(model, ["encoder.*"])  # what was frozen before counts too


def test_a_recipe_lists_patterns() -> None:
    config = read_record(TrainingConfig, {"freeze": ["source_input.*"]})
    assert config.freeze == ("source_input.*",)
    with pytest.raises(ConfigError, match=r"^freeze: 'encoder' should be a valid array$"):
        read_record(TrainingConfig, {"freeze": "encoder"})


def test_the_example_of_the_docstring_matches_the_real_model() -> None:
    config = ModelConfig(vocabulary=9, d_model=4, d_ff=8, heads=2, layers=2)
    model = build_model(config, torch.Generator())
    names = freeze(model, ["encoder.layers.0.*"])
    assert names
    assert all(name.startswith("encoder.layers.0.") for name in names)
