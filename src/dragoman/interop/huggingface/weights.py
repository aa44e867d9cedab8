"""Weights of theirs into ours and back, by a table of names.

Nothing is guessed: a weight on either side that no row names is an error, and so is one that should
be equal to another, or zero, and is not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor

from dragoman.errors import ModelError
from dragoman.interop.huggingface.names import Row, Shape


def read_weights(
    ours: Mapping[str, Shape],
    theirs: Mapping[str, Tensor],
    rows: Sequence[Row],
    where: str,
    *,
    computed: Sequence[str] = (),
    told_by: str = "config.json",
) -> dict[str, Tensor]:
    """Make our weights of theirs, and use all of theirs.

    Args:
        ours: the shape of every parameter of our model.
        theirs: their weights by name.
        rows: the table, layers numbered.
        where: their file or folder, for messages.
        computed: ends of the names of what is stored and needs no place: masks and the like, which
            both sides compute.
        told_by: what says how large the model is, for messages.

    Returns:
        By our names, in float32.

    Raises:
        ModelError: a weight is missing, left over or of another shape; or one differs from what it
            must be equal to.
    """
    _see_all_named(ours, rows)
    theirs = _by_first_names(theirs, rows)
    unlike = _unlike(theirs, rows, computed)
    if unlike:
        raise ModelError(f"{where}: {unlike}; {told_by} describes another model")
    read: dict[str, Tensor] = {}
    for row in rows:
        if row.theirs[0] not in theirs:  # seen before: it may be missing
            continue
        if row.fixed is not None:
            _see_fixed(row.fixed, theirs[row.theirs[0]], f"{where}: {row.theirs[0]}")
            continue
        if row.tied or row.derived:
            _see_tied(row, _first_row(row, rows), theirs, read, where)
            continue
        joined = _joined(row, theirs, where, told_by)
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
                f"model needs {tuple(ours[row.ours])}; {told_by} does not describe these weights"
            )
        read[row.ours] = joined
    return read


def _by_first_names(theirs: Mapping[str, Tensor], rows: Sequence[Row]) -> Mapping[str, Tensor]:
    """Give a tied table the name that comes first where only another one is stored."""
    named = dict(theirs)
    for row in rows:
        first = _first_row(row, rows) if row.tied else None
        if first is not None and first.theirs[0] not in named and row.theirs[0] in named:
            named[first.theirs[0]] = named.pop(row.theirs[0])
    return named


def _first_row(row: Row, rows: Sequence[Row]) -> Row | None:
    """Find the row that gives the weight which another one is a second name of."""
    same = (each for each in rows if each.ours == row.ours and each.form == row.form)
    return next((each for each in same if not (each.tied or each.derived)), None)


def _see_tied(
    row: Row,
    first: Row | None,
    theirs: Mapping[str, Tensor],
    read: Mapping[str, Tensor],
    where: str,
) -> None:
    """See that a weight is what another one makes it, if ours has that at all."""
    name = row.theirs[0]
    if first is not None and first.theirs[0] in theirs:
        wanted = theirs[first.theirs[0]].float()
    elif row.ours not in read:
        wanted = torch.zeros_like(theirs[name], dtype=torch.float32)
    else:
        (wanted,) = row.split(read[row.ours]).values()
    if not torch.equal(theirs[name].float(), wanted):
        raise ModelError(
            f"{where}: {name} differs from the weight that it is tied to; "
            "say tie_word_embeddings = false in config.json if the two were trained apart"
        )


def _see_fixed(fixed: Callable[[Shape], Tensor], stored: Tensor, where: str) -> None:
    shape = tuple(stored.shape)
    if len(shape) != 2 or not torch.allclose(stored.float(), fixed(shape), atol=1e-4, rtol=0):
        raise ModelError(f"{where}: is not the table that models of this family compute")


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
        if row.fixed is not None and isinstance(row.absent, tuple):
            written[row.theirs[0]] = row.fixed(row.absent)
        if row.tied or row.fixed is not None:
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
    unnamed = sorted(set(ours) - {row.ours for row in rows if row.fixed is None})
    assert not unnamed, f"no row for {unnamed}"
    needed = {row.ours for row in rows if row.absent is None and row.fixed is None}
    missing = sorted(needed - set(ours))
    assert not missing, f"no parameter for {missing}"


def _unlike(theirs: Mapping[str, Tensor], rows: Sequence[Row], computed: Sequence[str]) -> str:
    """Name the weights that are missing and those that no row names; nothing if all is well."""
    known = {name for row in rows for name in row.theirs}
    needed = (row for row in rows if not (row.tied or row.optional or row.fixed is not None))
    missing = {name for row in needed for name in row.theirs} - theirs.keys()
    left = {name for name in theirs.keys() - known if not name.endswith(tuple(computed))}
    parts = [
        f"{len(names)} weights are {what} ({_few(names)})"
        for names, what in ((missing, "missing"), (left, "not known"))
        if names
    ]
    return "; ".join(parts)


def _few(names: Iterable[str]) -> str:
    several = sorted(names)
    return ", ".join(several[:3]) + " ..." * (len(several) > 3)


def _joined(row: Row, theirs: Mapping[str, Tensor], where: str, told_by: str) -> Tensor:
    try:
        return row.join(theirs).float()
    except (RuntimeError, IndexError) as error:  # shapes that cannot be laid out so
        named = ", ".join(row.theirs)
        shapes = ", ".join(str(tuple(theirs[name].shape)) for name in row.theirs)
        problem = f"{named} is {shapes}, which makes no {row.ours}"
        raise ModelError(f"{where}: {problem}; {told_by} describes another model") from error


def _absent_shape(row: Row, ours: Mapping[str, Tensor]) -> Shape:
    assert row.absent is not None  # seen before
    return (ours[row.absent].size(0),) if isinstance(row.absent, str) else row.absent
