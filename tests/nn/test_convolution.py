import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.nn import (
    Convolution,
    GatedConvolution,
    SeparableConvolution,
    convolve,
    depthwise_convolve,
    fused_convolve,
    separable_convolve,
)

SEEDS = st.integers(0, 2**31)
SHAPES = st.fixed_dictionaries(
    {"taps": st.integers(1, 5), "dilation": st.integers(1, 4), "stride": st.integers(1, 3)}
)
KINDS = pytest.mark.parametrize("kind", [Convolution, SeparableConvolution])


def block(
    kind: type[Convolution] | type[SeparableConvolution] = Convolution,
    *,
    kernel: int = 3,
    dilation: int = 1,
    causal: bool = False,
    dropout: float = 0.0,
) -> GatedConvolution:
    torch.manual_seed(3)
    convolution = kind(4, 8, kernel, dilation=dilation)
    with torch.no_grad():
        convolution.bias.normal_()
    return GatedConvolution(convolution, causal=causal, dropout=dropout).double()


# The formula


def test_convolution_reads_the_kernel_from_left_to_right() -> None:
    # By hand, 10 x_i + x_{i+2}: 10 + 3, 20 + 4; turned round it would be 31 and 42.
    x = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    kernel = torch.tensor([[[10.0]], [[1.0]]])
    for form in (convolve, fused_convolve):
        torch.testing.assert_close(form(x, kernel, dilation=2), torch.tensor([[13.0], [24.0]]))


@given(shape=SHAPES, extra=st.integers(0, 6), seed=SEEDS)
@settings(max_examples=60)
def test_both_forms_agree_with_the_convolution_of_pytorch(
    shape: dict[str, int], extra: int, seed: int
) -> None:
    taps, dilation, stride = shape["taps"], shape["dilation"], shape["stride"]
    rng = torch.Generator().manual_seed(seed)
    length = (taps - 1) * dilation + 1 + extra
    x = torch.randn(2, length, 3, generator=rng, dtype=torch.float64)
    kernel = torch.randn(taps, 3, 4, generator=rng, dtype=torch.float64)
    expected = F.conv1d(
        x.transpose(1, 2), kernel.permute(2, 1, 0), dilation=dilation, stride=stride
    ).transpose(1, 2)
    for form in (convolve, fused_convolve):
        found = form(x, kernel, dilation=dilation, stride=stride)
        torch.testing.assert_close(found, expected)


@given(shape=SHAPES, extra=st.integers(0, 6), seed=SEEDS)
@settings(max_examples=60)
def test_depthwise_and_separable_agree_with_pytorch(
    shape: dict[str, int], extra: int, seed: int
) -> None:
    taps, dilation, stride = shape["taps"], shape["dilation"], shape["stride"]
    rng = torch.Generator().manual_seed(seed)
    length = (taps - 1) * dilation + 1 + extra
    x = torch.randn(2, length, 3, generator=rng, dtype=torch.float64)
    depthwise = torch.randn(taps, 3, generator=rng, dtype=torch.float64)
    pointwise = torch.randn(3, 4, generator=rng, dtype=torch.float64)
    by_channel = F.conv1d(
        x.transpose(1, 2), depthwise.t()[:, None], dilation=dilation, stride=stride, groups=3
    )
    mixed = F.conv1d(by_channel, pointwise.t()[..., None])
    found = depthwise_convolve(x, depthwise, dilation=dilation, stride=stride)
    torch.testing.assert_close(found, by_channel.transpose(1, 2))
    found = separable_convolve(x, depthwise, pointwise, dilation=dilation, stride=stride)
    torch.testing.assert_close(found, mixed.transpose(1, 2))


def test_separable_is_the_full_convolution_with_the_product_kernel() -> None:
    rng = torch.Generator().manual_seed(0)
    x, depthwise, pointwise = (torch.randn(*s, generator=rng) for s in ((9, 3), (3, 3), (3, 5)))
    product = depthwise[:, :, None] * pointwise  # W_j = diag(depthwise_j) pointwise
    found = separable_convolve(x, depthwise, pointwise, dilation=2)
    torch.testing.assert_close(found, convolve(x, product, dilation=2))


def test_one_output_needs_as_many_positions_as_the_taps_span() -> None:
    # By hand: three taps four apart span 9 positions.
    kernel = torch.ones(3, 1, 1)
    assert convolve(torch.ones(9, 1), kernel, dilation=4).shape == (1, 1)
    for form in (convolve, fused_convolve):
        with pytest.raises(ValueError, match="x: 8 positions are fewer than the 9 that an output"):
            form(torch.ones(8, 1), kernel, dilation=4)


@pytest.mark.parametrize("wrong", [{"dilation": 0}, {"stride": 0}, {"dilation": -1}])
def test_dilation_and_stride_below_one_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        convolve(torch.ones(4, 1), torch.ones(2, 1, 1), **wrong)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(Convolution, 3 * 4 * 8 + 8), (SeparableConvolution, 3 * 4 + 4 * 8 + 8)],
)
def test_weights_are_as_many_as_the_formulas_say(
    kind: type[Convolution] | type[SeparableConvolution], expected: int
) -> None:
    assert sum(weight.numel() for weight in kind(4, 8, 3).parameters()) == expected


# The gated layer


def test_a_block_follows_its_formula() -> None:
    # By hand, one channel, kernel (0, 1, 0) for both halves and a bias of 0: (x + x σ(x)) √½.
    convolution = Convolution(1, 2, 3)
    with torch.no_grad():
        convolution.kernel.zero_()
        convolution.kernel[1] = 1.0
    x = torch.tensor([[[2.0], [-1.0]]])
    expected = [(v + v / (1 + math.exp(-v))) * math.sqrt(0.5) for v in (2.0, -1.0)]
    found = GatedConvolution(convolution)(x).flatten()
    torch.testing.assert_close(found, torch.tensor(expected))


@KINDS
@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (3, 2), (5, 3)])
def test_a_centred_block_reads_equally_far_on_both_sides(
    kind: type[Convolution] | type[SeparableConvolution], kernel: int, dilation: int
) -> None:
    layer = block(kind, kernel=kernel, dilation=dilation)
    x = torch.randn(1, 21, 4, dtype=torch.float64)
    changed = x.clone()
    changed[0, 10] += 1
    moved = (layer(x) != layer(changed)).any(-1)[0].nonzero().flatten().tolist()
    half = (kernel - 1) // 2
    assert moved == [10 + dilation * step for step in range(-half, half + 1)]


@KINDS
@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (2, 1), (3, 2), (4, 3)])
def test_a_causal_block_reads_only_backwards(
    kind: type[Convolution] | type[SeparableConvolution], kernel: int, dilation: int
) -> None:
    layer = block(kind, kernel=kernel, dilation=dilation, causal=True)
    x = torch.randn(1, 21, 4, dtype=torch.float64)
    changed = x.clone()
    changed[0, 10] += 1
    moved = (layer(x) != layer(changed)).any(-1)[0].nonzero().flatten().tolist()
    assert moved == [10 + dilation * step for step in range(kernel)]


@KINDS
@given(
    kernel=st.integers(1, 4),
    dilation=st.integers(1, 3),
    chunks=st.lists(st.integers(1, 3), min_size=1, max_size=5),
)
@settings(max_examples=30)
def test_going_on_in_chunks_equals_all_at_once(
    kind: type[Convolution] | type[SeparableConvolution],
    kernel: int,
    dilation: int,
    chunks: list[int],
) -> None:
    layer = block(kind, kernel=kernel, dilation=dilation, causal=True)
    x = torch.randn(2, sum(chunks), 4, dtype=torch.float64)
    real = torch.rand(2, sum(chunks)) < 0.7
    past, outputs = None, []
    for new, new_real in zip(x.split(chunks, 1), real.split(chunks, 1), strict=True):
        y, past = layer.extend(new, past, new_real)
        assert past.shape == (2, (kernel - 1) * dilation, 4)
        outputs.append(y)
    torch.testing.assert_close(torch.cat(outputs, 1), layer(x, real))


@pytest.mark.parametrize("causal", [False, True])
def test_what_stands_at_padding_never_changes_another_position(causal: bool) -> None:
    layer = block(causal=causal, dilation=2)
    x = torch.randn(1, 7, 4, dtype=torch.float64)
    real = torch.tensor([[True, False, True, True, True, False, False]])
    changed = x.clone()
    changed[~real] = math.nan
    assert torch.equal(layer(x, real)[real], layer(changed, real)[real])


def test_dropout_drops_what_the_convolution_reads_and_keeps_the_sum() -> None:
    layer = block(dropout=0.5)
    x = torch.ones(4, 50, 4, dtype=torch.float64)
    assert not torch.equal(layer(x), layer(x))
    assert torch.equal(layer.eval()(x), layer(x))
    with torch.no_grad():
        for weight in layer.convolution.parameters():
            weight.zero_()
    assert torch.equal(layer.train()(x), x * math.sqrt(0.5))  # the residual itself is not dropped


def test_an_even_kernel_cannot_be_centred() -> None:
    with pytest.raises(ValueError, match="kernel: 4 is even and so has no centre"):
        block(kernel=4)


def test_a_centred_block_cannot_go_on_position_by_position() -> None:
    with pytest.raises(ValueError, match="a centred convolution cannot go on"):
        block().extend(torch.ones(1, 2, 4, dtype=torch.float64), None)
