"""Numba, behind one door: functions compiled once and kept on disk, which run without the lock.

Numba is the extra ``fast``. What is compiled here works on arrays of NumPy that share their memory
with tensors; products of matrices stay PyTorch's.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

from dragoman.errors import ConfigError

F = TypeVar("F", bound=Callable[..., Any])  # Any: a kernel takes and gives what it likes

# Sums may be added up in any order, so that many numbers are added at a time; infinities and NaN
# keep their meaning. Nothing else may be rearranged: what two kernels compute alike is equal.
FAST = frozenset({"reassoc", "contract", "nsz", "arcp"})


def check_numba() -> None:
    """See that numba is installed, and goes with the NumPy that is.

    Raises:
        ConfigError: it is not, or does not.
    """
    if find_spec("numba") is None:
        hint = 'pip install "dragoman[fast]", or set engine to torch, which has no int8'
        raise ConfigError("engine", "fused needs numba, which is not installed", hint)
    try:
        import numba  # noqa: F401  # pyright: ignore  # has no stubs
    except ImportError as error:
        problem = f"fused needs numba, which does not load: {error}"
        raise ConfigError("engine", problem, "install another, or set engine to torch") from None


def forget_stale(folder: Path | None) -> None:
    """Forget what was compiled into a folder before any file here changed.

    Numba looks at the file of a kernel alone, not at those of what the kernel calls.
    """
    if folder is None:
        return
    newest = max(file.stat().st_mtime for file in Path(__file__).parent.glob("*.py"))
    for index in folder.glob("*.nbi"):
        with suppress(OSError):  # another process was faster, or nothing may be written here
            if index.stat().st_mtime < newest:
                index.unlink()


def kept_in(kernel: Callable[..., Any]) -> Path | None:
    """Say where compiled kernels are kept; None: where nothing may be written, they are not."""
    path = cast("Any", kernel).stats.cache_path  # Any: numba has no stubs
    return None if path is None else Path(path)


@cache  # whoever was told once need not be told by every engine
def tell_of_compiling(say: Callable[[str], None], kept: Path | None) -> None:
    """Tell once when kernels begin to be compiled, which is why a first translation takes long.

    Args:
        say: is told.
        kept: where kernels are kept.
    """
    from numba.core import event  # pyright: ignore  # has no stubs

    events: Any = event
    again = "once; takes half a minute where most are new"
    if kept is None:
        again = "anew each time, as no folder for them can be written; NUMBA_CACHE_DIR may name one"

    class Telling(events.Listener):
        def on_start(self, event: Any) -> None:
            if not said:
                said.append(f"compiling kernels for this processor, {again}")
                say(said[0])

        def on_end(self, event: Any) -> None:
            pass

    said: list[str] = []
    events.register("numba:compile", Telling())


def compiled(function: F) -> F:
    """Compile a kernel when it is first called; kept for the next process, where one can write."""
    from numba import njit  # pyright: ignore  # has no stubs

    try:
        return njit(nogil=True, cache=True, error_model="numpy")(function)  # pyright: ignore
    except RuntimeError:  # neither beside this file nor in the cache of the user
        return njit(nogil=True, error_model="numpy")(function)  # pyright: ignore


def inlined(function: F) -> F:
    """Compile what kernels call."""
    from numba import njit  # pyright: ignore

    return njit(nogil=True, error_model="numpy")(function)  # pyright: ignore


def summing(function: F) -> F:
    """Compile what kernels call to add up many numbers, in any order."""
    from numba import njit  # pyright: ignore

    return njit(nogil=True, error_model="numpy", fastmath=set(FAST))(function)  # pyright: ignore
