import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.decoding.fused import Kind, Room
from dragoman.decoding.fused.dot_products import AVX2, vectors_of
from dragoman.decoding.fused.multiplying import has_vectors
from dragoman.decoding.fused.products import Product
from dragoman.decoding.fused.room import as_array


def given(x: torch.Tensor) -> tuple[torch.Tensor, Any]:
    return x, as_array(x)


OURS = [own for own in (False, True) if not own or has_vectors("int8", 4)]


@pytest.mark.parametrize("own", OURS)
@pytest.mark.parametrize("outputs", [1, 24, 64, 130])
def test_int8_products_are_exact_sums_of_whole_numbers(own: bool, outputs: int) -> None:
    torch.manual_seed(1)
    weight = torch.randn(outputs, 40)
    product = Product.pack(weight, None, "int8", own=own)
    x = torch.randint(-127, 128, (11, 40), dtype=torch.int8)
    x[0] = 127
    scales = weight.abs().amax(dim=1) / 127
    whole = (weight / scales[:, None]).round()
    assert whole.abs().amax() == 127
    expected = x.double() @ whole.double().t()
    for rows in range(1, 12):
        found = product.multiply(given(x[:rows].contiguous()), Room())
        assert (torch.from_numpy(found[:, :outputs]) == expected[:rows]).all()
    assert torch.from_numpy(product.columns).allclose(scales)


@pytest.mark.parametrize("own", OURS)
@pytest.mark.parametrize("inputs", [1024, 1028, 4096])
def test_int8_products_of_many_inputs_are_exact_where_they_are_largest(
    own: bool, inputs: int
) -> None:
    weight = torch.full((2, inputs), 0.5)
    weight[1, ::2] = -0.5
    weight[1, 0] = 0.5  # so that the sum is no round number
    product = Product.pack(weight, None, "int8", own=own)
    x = torch.full((2, inputs), 127, dtype=torch.int8)
    x[1, -1] = 126
    found = product.multiply(given(x), Room())[:, :2]
    most = 127 * 127 * inputs
    assert found.tolist() == [[most, 2 * 127 * 127], [most - 127, 2 * 127 * 127 - 127]]


def test_one_input_is_multiplied_too() -> None:
    product = Product.pack(torch.tensor([[2.0], [-4.0]]), None, "int8")
    x = torch.tensor([[3], [-127], [0]], dtype=torch.int8)
    found = product.multiply(given(x), Room())
    assert found.tolist() == [[381, -381], [-16129, 16129], [0, 0]]


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("own", OURS)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 70])
@pytest.mark.parametrize("outputs", [33, 64])
def test_products_are_those_of_torch(kind: Kind, own: bool, rows: int, outputs: int) -> None:
    if own and not has_vectors(kind, 20):
        pytest.skip(f"this processor has no vectors for {kind}")
    torch.manual_seed(2)
    dtype = torch.float32 if kind == "float32" else torch.bfloat16
    weight, bias, x = torch.randn(outputs, 20), torch.randn(outputs), torch.randn(rows, 20)
    product, x = Product.pack(weight, bias, kind, own=own), x.to(dtype)
    found = product.multiply(given(x), Room())[:, :outputs]
    expected = x.float() @ weight.to(dtype).float().t()
    if found.dtype == np.uint16:  # PyTorch rounds the sums
        bits = torch.from_numpy(found.astype(np.int32)) << 16
        assert bits.view(torch.float32).allclose(expected, rtol=2**-6, atol=2e-2)
    else:
        assert torch.from_numpy(found).allclose(expected, atol=1e-4)
    assert torch.from_numpy(product.bias).equal(bias)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
def test_inputs_that_fill_no_step_are_left_to_torch(kind: Kind) -> None:
    weight = torch.randn(5, 7)
    x = torch.ones(2, 7).to({"int8": torch.int8, "bfloat16": torch.bfloat16}.get(kind, torch.float))
    product = Product.pack(weight, None, kind)
    assert product.multiply(given(x), Room()).shape[0] == 2


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
def test_what_a_row_gives_does_not_depend_on_how_many_there_are(kind: Kind) -> None:
    if not has_vectors(kind, 20):
        pytest.skip(f"this processor has no vectors for {kind}")
    torch.manual_seed(3)
    dtype = {"int8": torch.int8, "bfloat16": torch.bfloat16}.get(kind, torch.float32)
    product = Product.pack(torch.randn(70, 20), None, kind)
    x = (torch.randn(11, 20) * (30 if kind == "int8" else 1)).to(dtype)
    together = product.multiply(given(x), Room()).copy()
    for rows in (1, 2, 3, 6):
        alone = product.multiply(given(x[:rows].contiguous()), Room())
        assert (alone == together[:rows]).all()


@pytest.mark.skipif(
    vectors_of("float32") is AVX2, reason="the vectors of this processor are those of AVX2"
)
def test_vectors_of_avx2_are_used_where_there_are_no_longer_ones() -> None:
    told = os.environ | {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma,+avx"}
    script = (
        "import pytest\n"
        "from dragoman.decoding.fused.dot_products import AVX2, vectors_of\n"
        "assert vectors_of('int8') is AVX2\n"
        f"raise SystemExit(pytest.main(['-q', '-p', 'no:cacheprovider', {__file__!r}]))"
    )
    found = subprocess.run([sys.executable, "-c", script], env=told, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def test_room_is_used_again_and_grows() -> None:
    room = Room()
    tensor, array = room.get("x", 2, 3, torch.float32)
    tensor.fill_(5)
    assert (array == 5).all()
    assert room.get("x", 2, 3, torch.float32)[0].data_ptr() == tensor.data_ptr()
    assert room.get("x", 1, 3, torch.float32)[0].data_ptr() == tensor.data_ptr()
    assert room.get("x", 9, 3, torch.float32)[1].shape == (9, 3)
    assert room.get("y", 2, 3, torch.int8)[1].dtype == np.int8
    assert room.get("y", 2, 3, torch.float32)[0].dtype == torch.float32


def test_bfloat16_is_seen_as_its_bits() -> None:
    assert as_array(torch.tensor([1.0, -2.0]).bfloat16()).tolist() == [0x3F80, 0xC000]
