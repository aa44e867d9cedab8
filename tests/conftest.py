import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.warm import WarmPrograms

# What tests measure on the machine is kept apart from what its user's runs measured.
if "PYTEST_XDIST_WORKER" not in os.environ:  # which has it from the process that started it
    CACHE = tempfile.TemporaryDirectory(prefix="dragoman-tests-", ignore_cleanup_errors=True)
    os.environ["XDG_CACHE_HOME"] = CACHE.name

# A shell's background job ignores Ctrl-C, and so would all that is started in it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("dragoman", deadline=None)  # a shared machine is slow at times
settings.load_profile("dragoman")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--golden-dir",
        metavar="DIR",
        default=None,
        help="run the golden cases of this folder (default: ../shared/golden beside the "
        "repository when it exists, otherwise the copies in tests/golden/cases)",
    )


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder of programs ``dragoman``, ``python`` and ``torchrun`` that begin at once."""
    folder = tmp_path_factory.mktemp("warm")
    with WarmPrograms(folder):
        yield folder
