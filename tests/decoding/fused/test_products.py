import numpy as np
import pytest
import torch

from dragoman.decoding.fused import Kind, Room
from dragoman.decoding.fused.products import Product
from dragoman.decoding.fused.room import as_array


def test_int8_products_are_exact_sums_of_whole_numbers() -> None:
    torch.manual_seed(1)
    weight = torch.randn(24, 40)
    product = Product.pack(weight, None, "int8")
    x = torch.randint(-127, 128, (7, 40), dtype=torch.int8)
    scales = weight.abs().amax(dim=1) / 127
    whole = (weight / scales[:, None]).round()
    assert whole.abs().amax() == 127
    expected = x.double() @ whole.double().t()
    for rows in (1, 2, 5, 7):  # one row alone takes another way in the library
        found = product.multiply(x[:rows].contiguous(), Room())
        assert (torch.from_numpy(found) == expected[:rows]).all()
    assert torch.from_numpy(product.columns).allclose(scales)


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("rows", [1, 3, 4, 70])
def test_products_are_those_of_torch(kind: Kind, rows: int) -> None:
    torch.manual_seed(2)
    dtype = torch.float32 if kind == "float32" else torch.bfloat16
    weight, bias, x = torch.randn(33, 20), torch.randn(33), torch.randn(rows, 20).to(dtype)
    product = Product.pack(weight, bias, kind)
    found = product.multiply(x, Room())
    expected = x.float() @ weight.to(dtype).float().t()
    if kind == "bfloat16":
        bits = torch.from_numpy(np.asarray(found).astype(np.int32)) << 16
        assert bits.view(torch.float32).allclose(expected, rtol=2**-6, atol=2e-2)
    else:
        assert torch.from_numpy(found).allclose(expected, atol=1e-4)
    assert torch.from_numpy(product.bias).equal(bias)


def test_room_is_used_again_and_grows() -> None:
    room = Room()
    tensor, array = room.get("x", 2, 3, torch.float32)
    tensor.fill_(5)
    assert (array == 5).all()
    assert room.get("x", 2, 3, torch.float32)[0].data_ptr() == tensor.data_ptr()
    assert room.get("x", 1, 3, torch.float32)[0].data_ptr() == tensor.data_ptr()
    assert room.get("x", 9, 3, torch.float32)[1].shape == (9, 3)
    assert room.get("y", 2, 3, torch.int8)[1].dtype == np.int8


def test_bfloat16_is_seen_as_its_bits() -> None:
    assert as_array(torch.tensor([1.0, -2.0]).bfloat16()).tolist() == [0x3F80, 0xC000]
