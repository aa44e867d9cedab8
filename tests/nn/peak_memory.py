"""How many tensor elements live at the same time while something runs."""

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class _Meter(TorchDispatchMode):
    """Follow every storage that an operation makes, until it is freed."""

    def __init__(self) -> None:
        super().__init__()
        self.living: dict[int, int] = {}
        self.peak_bytes = 0
        self._references: dict[int, weakref.ref[torch.UntypedStorage]] = {}

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Any = (),
        kwargs: Any = None,
    ) -> Any:  # Any: whatever operation passes through
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor):
                self._follow(leaf.untyped_storage())
        self.peak_bytes = max(self.peak_bytes, sum(self.living.values()))
        return result

    def _follow(self, storage: torch.UntypedStorage) -> None:
        key = id(storage)
        if key not in self.living:
            self._references[key] = weakref.ref(storage, lambda _: self.living.pop(key))
            self.living[key] = storage.nbytes()


def peak_bytes(run: Callable[[], Tensor]) -> int:
    """Run forward and backward; give the most bytes of new tensors that lived at once."""
    with _Meter() as meter:
        run().sum().backward()
    return meter.peak_bytes
