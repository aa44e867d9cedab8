"""What the operators of an update do: products by size, bytes moved by all others, how many.

Counted below autograd, forward and backward, on shapes alone: it works on PyTorch's meta device.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from dragoman.inspection import Product

_aten = torch.ops.aten
_FREE = {_aten._unsafe_view, _aten.empty, _aten.empty_like, _aten.new_empty}  # move no number
_BY_INDEX = {  # touch only what an index says of their first operand
    _aten.embedding,
    _aten.gather,
    _aten.index_add,
    _aten.index_select,
    _aten.scatter_add_,
}


class Traffic(TorchDispatchMode):
    """Counts what runs inside the block.

    Attributes:
        products: operations (a multiply-add is two) of matrix products by their sizes.
        moved: bytes that all other operators read and write, as if nothing stayed in a cache.
        operators: how many ran, views not counted.
    """

    def __init__(self) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  # torch's stub
        self.products: Counter[Product] = Counter()
        self.moved = self.operators = 0

    @property
    def operations(self) -> int:
        """Of all products."""
        return sum(self.products.values())

    def __torch_dispatch__(
        self,
        func: Any,  # an operator, which has no public type
        types: Sequence[type],
        args: Sequence[Any] = (),  # operators take and give anything
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operator, and take note of it."""
        given = dict(kwargs or {})
        result = func(*args, **given)
        kind = func.overloadpacket
        if (formula := _FORMULAS.get(kind)) is not None:
            sizes = _sizes(kind, args)
            self.products[sizes] += formula(*args, **given, out_val=result)
            self.operators += 1
        elif kind not in _FREE and not _is_view(func):
            self.moved += _bytes_moved(kind, args, given, result)
            self.operators += 1
        return result


def _in_place(a: Any, b: Any, c: Any, **_: Any) -> int:  # Any: shapes or tensors, as torch's own
    """Count a (n, k) product with (k, m) that is added to what is there, which PyTorch forgets."""
    return 2 * b.shape[0] * b.shape[1] * c.shape[1]


def _with_vector(a: Any, b: Any, **_: Any) -> int:  # Any: as above
    """Count a (n, k) product with a vector (k,), which PyTorch forgets."""
    return 2 * a.shape[0] * a.shape[1]


_FORMULAS: dict[Any, Callable[..., int]] = {
    **flop_registry,
    _aten.addmm_: _in_place,
    _aten.mv: _with_vector,
}


def _sizes(kind: Any, args: Sequence[Any]) -> Product:
    """Give how many products (n, k) x (k, m) an operator makes, and n, k, m.

    Of a fused attention those of its scores stand for all of them.
    """
    given = list(_tensors(args))
    name = kind.__name__
    if "attention" in name:
        first = 1 if name.endswith("backward") else 0  # after the gradient
        q, k = given[first : first + 2]
        return (q[..., 0, 0].numel(), q.size(-2), q.size(-1), k.size(-2))
    a, b = given[-2:]
    if b.dim() == 1:
        return (1, a.size(0), a.size(1), 1)
    return (a[..., 0, 0].numel(), a.size(-2), a.size(-1), b.size(-1))


def _is_view(func: Any) -> bool:  # Any: an operator
    """Whether all that an operator gives is memory that it was given, unchanged."""
    given = [one.alias_info for one in func._schema.returns]
    return bool(given) and all(one is not None and not one.is_write for one in given)


def _bytes_moved(kind: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> int:
    given = list(_tensors(args)) + list(_tensors(list(kwargs.values())))
    made = list(_tensors(result))
    if kind in _BY_INDEX and given:
        whole = _storage(given[0])
        given = given[1:]
        made = [x for x in made if _storage(x) != whole]
    return sum(x.numel() * x.element_size() for x in (*given, *made))


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata  # pyright: ignore[reportPrivateUsage]  # no other name


def _tensors(values: Any) -> Iterator[Tensor]:  # Any: arguments are anything
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, list | tuple):
        for value in values:  # pyright: ignore[reportUnknownVariableType]  # of anything
            yield from _tensors(value)
