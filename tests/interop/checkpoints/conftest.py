"""Checkpoints that are written and read once for all tests that only look at them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from dragoman.bundle import Bundle
from dragoman.interop.checkpoints import read_checkpoint
from tests.interop.checkpoints.making import write

Opened = Callable[[str, str], tuple[Path, Bundle]]


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """Give the path of the checkpoint of a trainer's case, and what was read of it."""

    @cache
    def open_case(trainer: str, case: str) -> tuple[Path, Bundle]:
        path = write(tmp_path_factory.mktemp(trainer), trainer, case)
        return path, read_checkpoint(path.parent)

    return open_case
