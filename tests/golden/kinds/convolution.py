"""Convolutions, full and separable."""

import torch
from torch import Tensor

from dragoman.nn import convolve, depthwise_convolve, fused_convolve, separable_convolve
from tests.golden.case import Case


def conv1d(case: Case) -> dict[str, Tensor]:
    """Both forms that exist: the fast one and its slow twin, which must agree."""
    x, kernel = case.tensor("x"), case.tensor("w")
    dilation, stride = case.inputs["dilation"], case.inputs["stride"]
    fast = fused_convolve(x, kernel, dilation=dilation, stride=stride)
    slow = convolve(x, kernel, dilation=dilation, stride=stride)
    torch.testing.assert_close(fast, slow, equal_nan=True)
    return {"output": fast}


def separable_conv(case: Case) -> dict[str, Tensor]:
    x, depthwise = case.tensor("x"), case.tensor("depthwise")
    return {
        "depthwise_output": depthwise_convolve(x, depthwise),
        "output": separable_convolve(x, depthwise, case.tensor("pointwise")),
    }


KINDS = {"conv1d": conv1d, "separable_conv": separable_conv}
