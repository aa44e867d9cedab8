"""Timing what a workload is made of, with a clock that is told what to say."""

import os
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from dragoman.errors import ConfigError
from dragoman.run import processor
from dragoman.run.processor import ProcessorSpeed, processor_device, processor_speed, threads_of
from dragoman.training import Kernels
from tests.inspection.test_plan import WORK

SPEED = ProcessorSpeed(products=2e9, bandwidth=3e9, operator=1e-6, took=0.25)


def test_products_are_timed_cut_and_counted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every call is said to take 1 s. Products (4096, 8) x (8, 4) are cut to 2048 rows and reach
    # 2 * 2048 * 8 * 4 a second, so the whole takes 2 s; 300 of (3, 5) x (5, 7) are cut to 256.
    shapes: list[tuple[int, ...]] = []

    def seconds(work: Callable[[], object]) -> float:
        made = work()
        if isinstance(made, torch.Tensor):
            shapes.append(tuple(made.shape))
        return 1.0

    monkeypatch.setattr(processor, "_seconds", seconds)
    large, many = 2.0 * 4_096 * 8 * 4, 2.0 * 300 * 3 * 5 * 7
    work = replace(WORK, products={(1, 4_096, 8, 4): large, (300, 3, 5, 7): many})
    found = processor_speed(work, Kernels(), width=8)
    assert shapes == [(2_048, 4), (256, 3, 7)]
    assert found.products == pytest.approx((large + many) / (2 + 300 / 256))


def test_what_was_timed_becomes_a_device_without_a_guess() -> None:
    device = processor_device(SPEED, "bf16", 2)
    assert (device.peak, device.bandwidth) == ({"bf16": 2e9}, 3e9)
    assert device.utilization is None
    assert device.operator_seconds == 1e-6
    assert device.processor
    assert device.title == "2 threads of this machine"
    assert device.memory > 0


def test_a_system_that_hides_its_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "available_memory", lambda device: None)
    with pytest.raises(ConfigError, match=r"^--hardware: this system does not say how much memory"):
        processor_device(SPEED, "fp32", 1)


def test_threads_are_put_back_and_more_than_there_are_is_refused() -> None:
    before = torch.get_num_threads()
    with threads_of(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
    most = os.cpu_count()
    with (
        pytest.raises(ConfigError, match=rf"^--hardware: this machine has {most} threads; try cpu"),
        threads_of(100_000),
    ):
        pass
