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
        ConfigError: it is not, it cannot be loaded, or it may not compile.
    """
    if find_spec("numba") is None:
        hint = 'pip install "dragoman[fast]", or set engine to torch, which has no int8'
        raise ConfigError("engine", "fused needs numba, which is not installed", hint)
    try:
        from numba import config  # pyright: ignore  # has no stubs
    except (ImportError, OSError, SystemError) as error:  # made for another NumPy or system
        problem = f"fused needs numba, which cannot be loaded: {error}"
        hint = "install releases that go together, or set engine to torch"
        raise ConfigError("engine", problem, hint) from None
    if config.DISABLE_JIT:  # pyright: ignore  # has no stubs
        hint = "unset NUMBA_DISABLE_JIT, or set engine to torch"
        raise ConfigError("engine", "fused needs numba, which is told not to compile", hint)


def forget_stale(kept: Path, module: str) -> None:
    """Forget what was compiled for a module before any file here changed.

    Numba looks at the file of a kernel alone, not at those of what the kernel calls.

    Args:
        kept: where Numba keeps it: beside the module, or where it may write.
        module: its name, without the packages.
    """
    newest = max((file.stat().st_mtime for file in Path(__file__).parent.glob("*.py")), default=0)
    for index in kept.glob(f"{module}.*.nbi"):
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
    """Compile a kernel when it is first called; kept for the next process, if there is a place."""
    from numba import njit  # pyright: ignore  # has no stubs

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        kernel: Any = njit(cache=True, **options)(function)  # pyright: ignore  # has no stubs
    except RuntimeError:  # nothing may be written beside this file, nor at home
        return njit(**options)(function)  # pyright: ignore  # has no stubs
    forget_stale(Path(kernel.stats.cache_path), function.__module__.rpartition(".")[2])
    return kernel


# What kernels call becomes part of each: a function of its own could be another kernel's build of
# it when a kernel comes out of the cache, and add up in another order.


def inlined(function: F) -> F:
    """Compile what kernels call."""
    from numba import njit  # pyright: ignore  # has no stubs

    return njit(nogil=True, error_model="numpy", forceinline=True)(function)  # pyright: ignore  # no stubs


def summing(function: F) -> F:
    """Compile what kernels call to add up many numbers, in any order."""
    from numba import njit  # pyright: ignore  # has no stubs

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": True}
    return njit(fastmath=set(FAST), **options)(function)  # pyright: ignore  # has no stubs
