"""Which weight of theirs is which of ours: tables of names that read in both directions.

A row names one of our parameters and those of theirs that stand side by side in it; ``weights.py``
follows such a table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dragoman.interop.huggingface.forms import SAME, Form

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """One parameter of ours.

    Args:
        ours: its name; ``{i}`` is the number of a layer.
        theirs: names of what is put side by side along the first axis.
        form: how each of theirs is laid out.
        sizes: how long each of theirs is along that axis; equal parts unless given.
        absent: what stands for a parameter that our model may lack and theirs always has: zeros of
            this shape, or as many as a parameter of ours with this name has rows. Anything but
            zeros is then refused when read.
        tied: theirs is another name of a weight that a row before gives, or what comes of it by
            ``form``: when it is there, it must be equal to the last bit; it is not written.
        derived: the same, but it is written and always there.
        optional: theirs may be missing where ours is.
        fixed: gives, for a shape, what both sides compute, when theirs is nothing of ours; what is
            stored must be that, and is written where ``absent`` gives a shape.
    """

    ours: str
    theirs: tuple[str, ...]
    form: Form = SAME
    sizes: tuple[int, ...] = ()
    absent: Shape | str | None = None
    tied: bool = False
    derived: bool = False
    optional: bool = False
    fixed: Callable[[Shape], Tensor] | None = None

    def at(self, layer: int) -> "Row":
        """Put the number of a layer into the names."""
        theirs = tuple(name.format(i=layer) for name in self.theirs)
        absent = self.absent.format(i=layer) if isinstance(self.absent, str) else self.absent
        return replace(self, ours=self.ours.format(i=layer), theirs=theirs, absent=absent)

    def join(self, theirs: Mapping[str, Tensor]) -> Tensor:
        """Make ours of theirs."""
        parts = [self.form.read(theirs[name]) for name in self.theirs]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def split(self, ours: Tensor) -> dict[str, Tensor]:
        """Make theirs of ours."""
        sizes = self.sizes or (ours.size(0) // len(self.theirs),) * len(self.theirs)
        parts = torch.split(ours, list(sizes)) if len(self.theirs) > 1 else (ours,)
        pairs = zip(self.theirs, parts, strict=True)
        return {name: self.form.write(part).contiguous().clone() for name, part in pairs}


def linear(
    ours: str,
    *theirs: str,
    bias: bool = True,
    form: Form = SAME,
    bias_form: Form = SAME,
    sizes: tuple[int, ...] = (),
) -> Iterator[Row]:
    """Rows of a product; with ``bias`` theirs always has one, ours may have none."""
    weights = tuple(f"{name}.weight" for name in theirs)
    yield Row(f"{ours}.weight", weights, form, sizes)
    if bias:
        biases = tuple(f"{name}.bias" for name in theirs)
        yield Row(f"{ours}.bias", biases, bias_form, sizes, absent=f"{ours}.weight")


def norm(ours: str, theirs: str, *, bias: bool = True) -> Iterator[Row]:
    """Rows of a norm."""
    yield Row(f"{ours}.gain", (f"{theirs}.weight",))
    if bias:
        yield Row(f"{ours}.bias", (f"{theirs}.bias",))


def attention(
    ours: str,
    theirs: str,
    names: str,
    *,
    bias: bool = True,
    output_bias: bool | None = None,
    sizes: tuple[int, ...] = (),
) -> Iterator[Row]:
    """Rows of one attention.

    Args:
        ours: name of the module.
        theirs: name of theirs.
        names: those of query, key, value and output inside it.
        bias: whether theirs has biases.
        output_bias: whether its output has one; as ``bias`` unless given.
        sizes: rows of query, key and value, when keys are fewer.
    """
    *three, output = (f"{theirs}.{name}" for name in names.split())
    yield from linear(f"{ours}.query_key_value", *three, bias=bias, sizes=sizes)
    yield from linear(f"{ours}.output", output, bias=bias if output_bias is None else output_bias)


def every(layers: int, rows: Iterable[Row]) -> list[Row]:
    """Repeat rows for every layer."""
    return [row.at(layer) for row in rows for layer in range(layers)]
