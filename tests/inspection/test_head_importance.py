from pathlib import Path

import pytest
import torch

from dragoman.errors import ModelError
from dragoman.inspection import (
    Head,
    HeadEffect,
    all_heads,
    draw_heads,
    effect_lines,
    head_effects,
    without_head,
)
from dragoman.models import Linear, ModelConfig, Shaw
from dragoman.nn import MultiHeadAttention
from tests.fixtures import build_encoder_decoder

SOURCE, TARGET = torch.tensor([[4, 5, 6, 2]]), torch.tensor([[1, 7, 8]])


def config(**choices: object) -> ModelConfig:
    table = {"layers": 2, "d_model": 12, "heads": 3, "d_ff": 8, "vocabulary": 11, "d_v": 5}
    return ModelConfig(**{**table, **choices})  # pyright: ignore[reportArgumentType]  # a plain table


@pytest.mark.parametrize("choices", [{}, {"positions": Shaw(clip=2)}])
def test_leaving_a_head_out_is_as_if_nothing_read_what_it_says(choices: dict[str, object]) -> None:
    model = build_encoder_decoder(config(**choices), torch.Generator().manual_seed(1)).eval()
    layer = model.decoder.layers[1].get_submodule("cross_attention")
    assert isinstance(layer, MultiHeadAttention)
    for part in (layer, model.encoder.layers[1].get_submodule("attention")):
        assert isinstance(part, MultiHeadAttention)
        kind = "cross" if part is layer else "encoder"
        with torch.inference_mode():
            before = model(SOURCE, TARGET)
            with without_head(model, Head(kind, 1, 2)):
                without = model(SOURCE, TARGET)
            torch.testing.assert_close(model(SOURCE, TARGET), before, rtol=0, atol=0)
            own = part.output.weight.clone()
            part.output.weight[:, 10:15] = 0  # the columns of the third head, 5 wide
            torch.testing.assert_close(without, model(SOURCE, TARGET))
            part.output.weight.copy_(own)
        assert not torch.allclose(without, before)


def test_heads_are_measured_in_order_and_kernels_are_put_back() -> None:
    model = build_encoder_decoder(config())
    heads = all_heads(model)
    assert len(heads) == 3 * 2 * 3
    assert heads[0] == Head("encoder", 0, 0)
    assert str(heads[-1]) == "cross layer 2 head 3"
    attentions = [part for part in model.modules() if isinstance(part, MultiHeadAttention)]
    kernels = [part.kernel for part in attentions]
    values = iter(range(18))
    found = list(head_effects(model, lambda: next(values), 5.0, lower_is_better=True))
    assert [effect.worse for effect in found[:2]] == [-5, -4]
    assert [part.kernel for part in attentions] == kernels
    scores = head_effects(model, lambda: 3.0, 5.0, lower_is_better=False)
    assert next(scores).worse == 2


def test_linear_attention_has_no_heads_to_leave_out() -> None:
    with pytest.raises(ModelError, match="linear attention"):
        all_heads(build_encoder_decoder(config(attention=Linear())))
    with pytest.raises(ModelError, match="this is none"):
        all_heads(torch.nn.Linear(1, 1))


def test_those_that_matter_most_come_first(tmp_path: Path) -> None:
    effects = [
        HeadEffect(Head("encoder", 0, 0), 2.5, 0.5),
        HeadEffect(Head("cross", 0, 1), 3.0, 1.0),
        HeadEffect(Head("cross", 0, 0), 1.9, -0.1),
    ]
    assert effect_lines(effects, 2.0, "loss (nats per piece)") == [
        "with all heads: loss (nats per piece) 2.0000",
        "",
        "left out                      is then   worse by",
        "cross layer 1 head 2           3.0000    +1.0000",
        "encoder layer 1 head 1         2.5000    +0.5000",
        "cross layer 1 head 1           1.9000    -0.1000",
    ]
    draw_heads(effects, tmp_path / "a.png", "loss")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
