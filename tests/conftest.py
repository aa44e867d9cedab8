import os
import signal
import tempfile

import pytest
from hypothesis import settings

# What tests measure on the machine is kept apart from what its user's runs measured.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="dragoman-tests-")

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
