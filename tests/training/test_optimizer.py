import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, get_args

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from dragoman.configfile import read_record, write_record
from dragoman.errors import ConfigError, MissingExtraError
from dragoman.training import (
    AdafactorConfig,
    Adam8bitConfig,
    AdamConfig,
    AdamWConfig,
    OptimizerConfig,
    Progress,
    TrainingConfig,
    build_optimizer,
    load_checkpoint,
    moments_of,
    restore_moments,
    save_checkpoint,
    set_rate,
    weight_decay_groups,
)
from dragoman.training.weights import Weights

DECAYING = [AdamWConfig(weight_decay=0.5), AdafactorConfig(weight_decay=0.5)]


def test_adam_has_the_constants_of_section_5_3() -> None:
    optimizer = build_optimizer([nn.Parameter(torch.zeros(1))], AdamConfig())
    assert optimizer.defaults["betas"] == (0.9, 0.98)
    assert optimizer.defaults["eps"] == 1e-9


@pytest.mark.parametrize("config", [AdamConfig(), AdamWConfig(weight_decay=0)])
def test_the_first_update_moves_by_the_rate_against_the_sign(config: OptimizerConfig) -> None:
    # By hand: m̂ = g and v̂ = g², so the step is rate · g / (|g| + eps).
    weight = nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = build_optimizer([weight], config)
    weight.grad = torch.tensor([0.5, -3.0])
    set_rate(optimizer, 0.1)
    optimizer.step()
    assert weight.tolist() == pytest.approx([0.9, -1.9], abs=1e-6)


@pytest.mark.parametrize("config", [AdamConfig(), *DECAYING])
def test_a_rate_of_zero_changes_nothing(config: OptimizerConfig) -> None:
    weight = nn.Parameter(torch.tensor([[1.0, 2.0]]))
    optimizer = build_optimizer([weight], config)
    weight.grad = torch.tensor([[0.5, -1.0]])
    optimizer.step()
    assert weight.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("config", DECAYING)
def test_a_matrix_without_gradient_shrinks_by_its_decay_and_a_vector_stays(
    config: OptimizerConfig,
) -> None:
    # By hand: 1 - rate · decay = 1 - 0.1 · 0.5 = 0.95.
    matrix, vector = nn.Parameter(torch.tensor([[2.0, -4.0]])), nn.Parameter(torch.ones(2))
    optimizer = build_optimizer([vector, matrix], config)
    matrix.grad, vector.grad = torch.zeros(1, 2), torch.zeros(2)
    set_rate(optimizer, 0.1)
    optimizer.step()
    assert matrix.tolist() == [pytest.approx([1.9, -3.8])]
    assert vector.tolist() == [1.0, 1.0]


def test_adamw_decays_beside_the_moments_and_not_through_them() -> None:
    # By hand: 1 · (1 - 0.1 · 0.5) - 0.1 · sign(0.5); decay inside the gradient would give 0.9.
    weight = nn.Parameter(torch.tensor([[1.0]]))
    optimizer = build_optimizer([weight], AdamWConfig(weight_decay=0.5))
    weight.grad = torch.tensor([[0.5]])
    set_rate(optimizer, 0.1)
    optimizer.step()
    assert weight.item() == pytest.approx(0.85)


@pytest.mark.parametrize("scale", [1.0, 1e-6])  # small gradients are told apart too
def test_adafactor_moves_relative_to_the_size_of_the_weight(scale: float) -> None:
    # By hand, algorithm 4: at update 1 the moments are those of the gradient itself. Rows have mean
    # squares 2.5, 2.5 and columns 1, 4 (times scale²), so V = [[1, 4], [1, 4]] and g / √V is the
    # sign. The step is the rate times the weight's root mean square, √((1+4+9+16)/4).
    weight = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    optimizer = build_optimizer([weight], AdafactorConfig())
    weight.grad = torch.tensor([[1.0, -2.0], [-1.0, 2.0]]) * scale
    set_rate(optimizer, 0.01)
    optimizer.step()
    step = 0.01 * math.sqrt(7.5)
    assert weight[0].tolist() == pytest.approx([1 - step, 2 + step], abs=1e-6)
    assert weight[1].tolist() == pytest.approx([3 + step, 4 - step], abs=1e-6)


def test_adafactor_takes_the_root_of_the_update_where_the_rate_is_higher() -> None:
    # By hand: the relative step of update 4 is min(rate, 1 / √4) = 0.5; a constant gradient keeps
    # the direction at 1, and the weight's size is its absolute value: 8 · (1 - 0.5).
    weight = nn.Parameter(torch.tensor([[8.0]]))
    optimizer = build_optimizer([weight], AdafactorConfig())
    for rate in (0.0, 0.0, 0.0, 3.0):
        weight.grad = torch.tensor([[2.0]])
        set_rate(optimizer, rate)
        optimizer.step()
    assert weight.item() == pytest.approx(4.0)


def test_adafactor_keeps_a_row_and_a_column_for_a_matrix() -> None:
    weight = nn.Parameter(torch.ones(30, 50))
    optimizer = build_optimizer([weight], AdafactorConfig())
    weight.grad = torch.ones(30, 50)
    optimizer.step()
    assert sum(moment.numel() for moment in optimizer.state[weight].values()) == 30 + 50 + 1


def test_rows_without_gradient_do_not_make_adafactor_undefined() -> None:
    weight = nn.Parameter(torch.ones(2, 2))
    optimizer = build_optimizer([weight], AdafactorConfig())
    weight.grad = torch.tensor([[0.0, 0.0], [1e-20, 0.0]])
    set_rate(optimizer, 0.01)
    optimizer.step()
    assert weight.isfinite().all()
    assert weight[0].tolist() == [1.0, 1.0]


def test_only_tensors_of_several_dimensions_decay() -> None:
    table, bias, scalar, kernel = (torch.zeros(shape) for shape in [(9, 4), (4,), (), (2, 3, 4)])
    decaying, staying = weight_decay_groups([bias, table, scalar, kernel], 0.1)
    assert [id(one) for one in decaying["params"]] == [id(table), id(kernel)]
    assert [id(one) for one in staying["params"]] == [id(bias), id(scalar)]
    assert (decaying["weight_decay"], staying["weight_decay"]) == (0.1, 0.0)
    assert len(weight_decay_groups([table], 0.1)) == len(weight_decay_groups([bias], 0.1)) == 1


@pytest.mark.parametrize("config", [AdamConfig(), *DECAYING])
def test_plain_tensors_learn_and_frozen_ones_are_left_out(config: OptimizerConfig) -> None:
    wide = torch.ones(2, 2, requires_grad=True)
    frozen = nn.Parameter(torch.ones(2, 2), requires_grad=False)
    optimizer = build_optimizer(iter([wide, frozen]), config)
    wide.grad = torch.ones(2, 2)
    frozen.grad = torch.ones(2, 2)
    set_rate(optimizer, 0.1)
    optimizer.step()
    assert (wide < 1).all()
    assert (frozen == 1).all()
    with pytest.raises(ValueError, match="nothing to train"):
        build_optimizer([frozen], config)


# --- in a recipe -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", get_args(get_args(OptimizerConfig)[0]))
def test_every_optimizer_can_be_written_in_a_recipe(kind: type[Any]) -> None:
    config = TrainingConfig(optimizer=kind())
    assert read_record(TrainingConfig, write_record(config)) == config


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"kind": "adamv"}, "optimizer.kind: 'adamv' is not a choice; did you mean adam?"),
        # Decay in the gradient is not decay once Adam divides by its size (arXiv 1711.05101).
        ({"kind": "adam", "weight_decay": 0.1}, "optimizer.weight_decay: unknown key; choose from"),
        ({"kind": "adamw", "weight_decay": -0.1}, "optimizer.weight_decay: -0.1 "),
        ({"kind": "adafactor", "beta1": 0.9}, "optimizer.beta1: unknown key"),
    ],
)
def test_a_wrong_optimizer_is_a_located_message(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_record(TrainingConfig, {"optimizer": table})
    assert str(caught.value).startswith(message)


# --- bitsandbytes ------------------------------------------------------------------------------


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    monkeypatch.setitem(sys.modules, "bitsandbytes.optim", None)
    with pytest.raises(MissingExtraError, match=r"adam8bit.*pip install 'dragoman\[adam8bit\]'"):
        build_optimizer([nn.Parameter(torch.zeros(1))], Adam8bitConfig())


def test_adam_of_8_bits_is_that_of_bitsandbytes(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("bitsandbytes.optim")
    library.Adam8bit = lambda weights, **settings: SimpleNamespace(  # type: ignore[attr-defined]  # a stand-in
        weights=list(weights), **settings
    )
    monkeypatch.setitem(sys.modules, "bitsandbytes", ModuleType("bitsandbytes"))
    monkeypatch.setitem(sys.modules, "bitsandbytes.optim", library)
    weight = nn.Parameter(torch.zeros(1))
    built = build_optimizer([weight], Adam8bitConfig(beta2=0.95))
    expected = SimpleNamespace(weights=[weight], lr=0.0, betas=(0.9, 0.95), eps=1e-9)
    assert vars(built) == vars(expected)


# --- resumption --------------------------------------------------------------------------------

RESUMED: list[OptimizerConfig] = [AdamConfig(), *DECAYING]
if importlib.util.find_spec("bitsandbytes"):
    RESUMED.append(Adam8bitConfig())


@pytest.mark.parametrize("config", RESUMED, ids=lambda config: config.kind)
def test_resuming_equals_never_having_stopped(config: OptimizerConfig, tmp_path: Path) -> None:
    whole = start(config)
    train(*whole, updates=range(6))
    model, optimizer = start(config)
    train(model, optimizer, updates=range(3))
    moments = {
        f"{name}.{moment}": value
        for name, weight in model.named_parameters()
        for moment, value in moments_of(optimizer, weight).items()
    }
    assert not any(name.startswith("0.bias") for name in moments)  # it is frozen
    save_file(moments, tmp_path / "moments.safetensors")

    resumed, optimizer = start(config, seed=9)
    resumed.load_state_dict(model.state_dict())
    for name, weight in resumed.named_parameters():
        prefix = f"{name}."
        saved = load_file(tmp_path / "moments.safetensors").items()
        mine = {key.removeprefix(prefix): x for key, x in saved if key.startswith(prefix)}
        if mine:
            restore_moments(optimizer, weight, mine)
    train(resumed, optimizer, updates=range(3, 6))
    for name, weight in whole[0].state_dict().items():
        assert torch.equal(weight, resumed.state_dict()[name]), name


@pytest.mark.parametrize("config", RESUMED, ids=lambda config: config.kind)
def test_a_checkpoint_holds_all_that_an_optimizer_remembers(
    config: OptimizerConfig, tmp_path: Path
) -> None:
    whole, stopped, resumed = (Weights(start(config, seed)[0], config) for seed in (1, 1, 9))
    learn(whole, range(6))
    learn(stopped, range(3))
    load_checkpoint(save_checkpoint(tmp_path, stopped, Progress(step=3)), resumed)
    learn(resumed, range(3, 6))
    for name, weight in whole.tensors().items():
        assert torch.equal(weight, resumed.tensors()[name]), name


def learn(weights: Weights, updates: range) -> None:
    for update in updates:
        weights.backward(loss_of(weights.model, update))
        weights.step(update + 1, 0.01 * (update + 1))


def start(config: OptimizerConfig, seed: int = 1) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Make a small model with a frozen weight, a matrix big enough for 8 bits, and vectors."""
    rng = torch.Generator().manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 80), nn.LayerNorm(80), nn.Linear(80, 70))
    for weight in model.parameters():
        nn.init.normal_(weight, generator=rng)
    model[0].bias.requires_grad_(False)
    return model, build_optimizer(model.parameters(), config)


def train(model: nn.Module, optimizer: torch.optim.Optimizer, updates: range) -> None:
    for update in updates:
        optimizer.zero_grad()
        loss_of(model, update).backward()
        set_rate(optimizer, 0.01 * (update + 1))
        optimizer.step()


def loss_of(model: nn.Module, update: int) -> torch.Tensor:
    rng = torch.Generator().manual_seed(100 + update)
    return model(torch.randn(5, 64, generator=rng)).square().mean()
