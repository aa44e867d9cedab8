"""Which weight of theirs is which of ours: tables of names that read in both directions.

A row names one of our parameters and those of theirs that stand side by side in it. Nothing is
guessed: a weight on either side that no row names is an error, and so is one that should be equal
to another, or zero, and is not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dragoman.errors import ModelError
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
        tied: theirs is another name of a weight that a row before gives: when it is there, it must
            be equal to the last bit; it is never written.
    """

    ours: str
    theirs: tuple[str, ...]
    form: Form = SAME
    sizes: tuple[int, ...] = ()
    absent: Shape | str | None = None
    tied: bool = False

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
        return {name: self.form.write(part).contiguous() for name, part in pairs}


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


def read_weights(
    ours: Mapping[str, Shape],
    theirs: Mapping[str, Tensor],
    rows: Sequence[Row],
    where: str,
    *,
    computed: Sequence[str] = (),
) -> dict[str, Tensor]:
    """Make our weights of theirs, and use all of theirs.

    Args:
        ours: the shape of every parameter of our model.
        theirs: their weights by name.
        rows: the table, layers numbered.
        where: their file or folder, for messages.
        computed: ends of the names of what is stored and needs no place: masks and the like, which
            both sides compute.

    Returns:
        By our names, in float32.

    Raises:
        ModelError: a weight is missing, left over or of another shape; or one differs from what it
            must be equal to.
    """
    _see_all_named(ours, rows)
    _refuse_unlike(theirs, rows, where, computed)
    read: dict[str, Tensor] = {}
    for row in rows:
        if row.tied and row.theirs[0] not in theirs:
            continue
        joined = _joined(row, theirs, where)
        if row.ours not in ours:
            if joined.count_nonzero():
                named = ", ".join(row.theirs)
                raise ModelError(
                    f"{where}: {named} is not zero, and the choices under dragoman in config.json "
                    "say that there is none; remove them there if the model was trained since"
                )
            continue
        if joined.shape != ours[row.ours]:
            raise ModelError(
                f"{where}: {', '.join(row.theirs)} is {tuple(joined.shape)} as {row.ours}, the "
                f"model needs {tuple(ours[row.ours])}; config.json does not describe these weights"
            )
        if row.ours not in read:
            read[row.ours] = joined
        elif not torch.equal(read[row.ours], joined):
            raise ModelError(
                f"{where}: {row.theirs[0]} differs from the weight that it is tied to; "
                "say tie_word_embeddings = false in config.json if the two were trained apart"
            )
    return read


def write_weights(ours: Mapping[str, Tensor], rows: Sequence[Row], form: str) -> dict[str, Tensor]:
    """Make their weights of ours; what we lack and they always have becomes zeros.

    Args:
        ours: our weights by name, a tied one once.
        rows: the table, layers numbered.
        form: name of their format, for messages.

    Raises:
        ModelError: theirs holds once what differs between our layers.
    """
    _see_all_named(ours, rows)
    written: dict[str, Tensor] = {}
    for row in rows:
        if row.tied:
            continue
        weight = ours[row.ours] if row.ours in ours else torch.zeros(_absent_shape(row, ours))
        for name, part in row.split(weight.detach().cpu()).items():
            if name in written and not torch.equal(written[name], part):
                raise ModelError(
                    f"{form} has one {name} for all layers, and {row.ours} differs between them; "
                    "export it to another format"
                )
            written[name] = part
    return written


def _see_all_named(ours: Iterable[str], rows: Sequence[Row]) -> None:
    """See that the table has a row for every parameter of ours; only a bug can break it."""
    unnamed = sorted(set(ours) - {row.ours for row in rows})
    assert not unnamed, f"no row for {unnamed}"
    missing = sorted({row.ours for row in rows if row.absent is None} - set(ours))
    assert not missing, f"no parameter for {missing}"


def _refuse_unlike(
    theirs: Mapping[str, Tensor], rows: Sequence[Row], where: str, computed: Sequence[str]
) -> None:
    known = {name for row in rows for name in row.theirs}
    missing = {name for row in rows if not row.tied for name in row.theirs} - theirs.keys()
    left = {name for name in theirs.keys() - known if not name.endswith(tuple(computed))}
    parts = [
        f"{len(names)} weights are {what} ({_few(names)})"
        for names, what in ((missing, "missing"), (left, "not known"))
        if names
    ]
    if parts:
        raise ModelError(f"{where}: {'; '.join(parts)}; config.json describes another model")


def _few(names: Iterable[str]) -> str:
    several = sorted(names)
    return ", ".join(several[:3]) + " ..." * (len(several) > 3)


def _joined(row: Row, theirs: Mapping[str, Tensor], where: str) -> Tensor:
    try:
        return row.join(theirs).float()
    except (RuntimeError, IndexError) as error:  # shapes that cannot be laid out so
        named = ", ".join(row.theirs)
        shapes = ", ".join(str(tuple(theirs[name].shape)) for name in row.theirs)
        problem = f"{named} is {shapes}, which makes no {row.ours}"
        raise ModelError(f"{where}: {problem}; config.json describes another model") from error


def _absent_shape(row: Row, ours: Mapping[str, Tensor]) -> Shape:
    assert row.absent is not None  # seen before
    return (ours[row.absent].size(0),) if isinstance(row.absent, str) else row.absent
