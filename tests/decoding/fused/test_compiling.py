"""What is compiled is kept, forgotten when it is stale, and not made for another processor."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from numba import config  # pyright: ignore  # has no stubs

from dragoman.decoding.fused.compiling import check_numba, compiled, forget_stale
from dragoman.decoding.fused.selecting import reorder
from dragoman.errors import ConfigError


def double(number: int) -> int:
    return 2 * number


def test_where_nothing_may_be_written_kernels_are_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere(*_: object, **__: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr("numba.core.dispatcher.Dispatcher.enable_caching", nowhere)
    assert compiled(double)(4) == 8


def test_what_was_compiled_before_a_change_is_forgotten_wherever_it_is_kept(
    tmp_path: Path,
) -> None:
    source = Path(reorder.__code__.co_filename).stat().st_mtime  # pyright: ignore  # is compiled
    old, new, other = (tmp_path / f"{name}.nbi" for name in ("a.f-1", "a.g-2", "b.f-1"))
    for file in (old, new, other):
        file.touch()
    for file in (old, other):
        os.utime(file, (source - 10, source - 10))
    forget_stale(tmp_path, "a")
    assert not old.exists()
    assert new.exists()
    assert other.exists()


def test_numba_that_may_not_compile_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    with pytest.raises(ConfigError, match="NUMBA_DISABLE_JIT"):
        check_numba()


def test_numba_that_cannot_be_loaded_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ModuleType("numba")
    broken.__spec__ = find_spec("numba")
    monkeypatch.setitem(sys.modules, "numba", broken)
    with pytest.raises(ConfigError, match="cannot be loaded: "):
        check_numba()


def test_vectors_that_numba_does_without_are_not_used() -> None:
    asked = "from dragoman.decoding.fused.dot_products import STEP, vectors_of\n"
    asked += "print([kind for kind in STEP if vectors_of(kind)])"
    told = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    found = subprocess.run(
        [sys.executable, "-c", asked], env=told, capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n"


LONG_SUMS = """
import hashlib
import numpy as np
from dragoman.decoding.fused.attending import attend_within
rng = np.random.default_rng(0)
y = rng.normal(size=(300, 96)).astype(np.float32)
ones, nothing = np.ones(300, np.float32), np.zeros(96, np.float32)
held = tuple(np.zeros((300, 2, 16), np.float32) for _ in range(3))
out, starts = np.zeros((300, 32), np.float32), np.array([0, 300])
shape = (2, 2, 16, 16)
attend_within(y, ones, ones, nothing, shape, np.float32(0.25), held, starts, out, ones.copy())
print(hashlib.sha256(out.tobytes()).hexdigest())
"""


def test_kernels_out_of_the_cache_add_up_as_those_just_compiled(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", LONG_SUMS], env=environment, capture_output=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert list(tmp_path.rglob("*.nbc"))
    assert first == second
