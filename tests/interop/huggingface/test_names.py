"""Tables of names read in both directions, and nothing goes missing."""

import pytest
import torch
from torch import Tensor

from dragoman.errors import ModelError
from dragoman.interop.huggingface.forms import (
    Divided,
    Form,
    HeadByHead,
    LeadingOnes,
    Patches,
    Transposed,
)
from dragoman.interop.huggingface.names import Row, every, linear
from dragoman.interop.huggingface.weights import read_weights, write_weights


def numbered(*shape: int) -> Tensor:
    return torch.arange(float(torch.tensor(shape).prod())).reshape(shape)


def shapes(weights: dict[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(each.shape) for name, each in weights.items()}


def test_query_key_and_value_of_each_head_are_gathered_by_kind() -> None:
    # By hand: 2 heads of width 1; rows q0 k0 v0 q1 k1 v1 become q0 q1 k0 k1 v0 v1.
    theirs = torch.tensor([[10.0], [20], [30], [11], [21], [31]])
    assert HeadByHead(2).read(theirs).flatten().tolist() == [10, 11, 20, 21, 30, 31]
    bias = theirs.flatten()
    assert HeadByHead(2).read(bias).tolist() == [10, 11, 20, 21, 30, 31]


def test_pixels_of_a_patch_come_before_their_channels() -> None:
    # By hand: one kernel over 2 channels and 1 x 1 pixels, and one over 1 channel and 2 x 2.
    assert Patches(2, 1).read(torch.tensor([[[[1.0]], [[2.0]]]])).tolist() == [[1, 2]]
    assert Patches(1, 2).read(numbered(1, 1, 2, 2)).tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("form", "shape"),
    [
        (Transposed(), (3, 5)),
        (LeadingOnes(), (1, 7)),
        (LeadingOnes(2), (1, 1, 7)),
        (Patches(3, 2), (4, 3, 2, 2)),
        (HeadByHead(4), (24, 5)),
        (HeadByHead(4), (24,)),
        (Divided(4.0), (3, 5)),
    ],
)
def test_what_is_read_is_written_back_to_the_bit(form: Form, shape: tuple[int, ...]) -> None:
    theirs = numbered(*shape)
    back = form.write(form.read(theirs))
    assert back.shape == theirs.shape
    assert torch.equal(back, theirs)


def test_keys_may_be_fewer_than_queries() -> None:
    row = Row("qkv", ("q", "k", "v"), sizes=(4, 2, 2))
    ours = numbered(8, 3)
    theirs = write_weights({"qkv": ours}, [row], "X")
    assert shapes(theirs) == {"q": (4, 3), "k": (2, 3), "v": (2, 3)}
    assert torch.equal(read_weights({"qkv": (8, 3)}, theirs, [row], "f")["qkv"], ours)


def test_a_bias_that_we_lack_is_written_as_zeros_and_must_be_zeros() -> None:
    rows = [*linear("a", "b", "c"), Row("s", ("t",), absent=(2, 3))]
    ours = {"a.weight": numbered(4, 3)}
    theirs = write_weights(ours, rows, "X")
    assert theirs["b.bias"].tolist() == [0, 0]
    assert theirs["t"].tolist() == [[0, 0, 0]] * 2
    read_weights(shapes(ours), theirs, rows, "f")
    theirs["c.bias"][1] = 1e-30
    with pytest.raises(ModelError, match=r"f: b\.bias, c\.bias is not zero, .*dragoman"):
        read_weights(shapes(ours), theirs, rows, "f")


def test_a_tied_table_may_be_missing_but_not_differ() -> None:
    rows = [Row("table", ("wte",)), Row("table", ("lm_head",), tied=True)]
    table = numbered(4, 3)
    assert write_weights({"table": table}, rows, "X").keys() == {"wte"}
    for theirs in ({"wte": table}, {"wte": table, "lm_head": table.clone()}):
        assert torch.equal(read_weights({"table": (4, 3)}, theirs, rows, "f")["table"], table)
    other = table.clone()
    other[3, 2] += 1e-6
    with pytest.raises(ModelError, match="f: lm_head differs from the weight that it is tied to"):
        read_weights({"table": (4, 3)}, {"wte": table, "lm_head": other}, rows, "f")


def test_layers_that_share_their_weights_are_folded_only_while_equal() -> None:
    rows = every(2, linear("layers.{i}", "one", bias=False))
    same = {f"layers.{layer}.weight": numbered(2, 2) for layer in range(2)}
    theirs = write_weights(same, rows, "ALBERT")
    assert theirs.keys() == {"one.weight"}
    read = read_weights(shapes(same), theirs, rows, "f")
    assert all(torch.equal(read[name], same[name]) for name in same)
    same["layers.1.weight"] = numbered(2, 2) * (1 + 1e-6)
    with pytest.raises(ModelError, match=r"ALBERT has one one\.weight for all layers, and layers"):
        write_weights(same, rows, "ALBERT")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"b.bias": None}, r"1 weights are missing \(b\.bias\)"),
        ({"b.bias": None, "b.weight": None}, r"2 weights are missing \(b\.bias, b\.weight\)"),
        ({"d": numbered(1)}, r"1 weights are not known \(d\)"),
        ({"b.mask": numbered(1), "mask": numbered(1)}, r"1 weights are not known \(mask\)"),
        ({"b.bias": numbered(3)}, r"b\.bias is \(3,\) as a\.bias, the model needs \(2,\)"),
        ({"b.weight": numbered(2)}, r"b\.weight is \(2,\), which makes no a\.weight"),
    ],
)
def test_what_is_missing_left_over_or_of_another_shape_is_named(
    change: dict[str, Tensor | None], message: str
) -> None:
    rows = [*linear("a", "b", form=HeadByHead(1) if "b.weight" in change else Transposed())]
    if "b.weight" in change:
        rows[0] = Row("a.weight", ("b.weight",), Patches(1, 1))
    theirs = {"b.weight": numbered(3, 2), "b.bias": numbered(2)} | change
    held = {name: each for name, each in theirs.items() if each is not None}
    with pytest.raises(ModelError, match=message):
        read_weights({"a.weight": (2, 3), "a.bias": (2,)}, held, rows, "f", computed=(".mask",))


def test_half_precision_is_read_as_single() -> None:
    theirs = {"b": torch.tensor([1.5, -2.25], dtype=torch.bfloat16)}
    read = read_weights({"a": (2,)}, theirs, [Row("a", ("b",))], "f")
    assert read["a"].dtype == torch.float32
    assert read["a"].tolist() == [1.5, -2.25]
