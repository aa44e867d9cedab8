"""Pieces whose vectors point the same way (section 3.4 has the table)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dragoman.errors import ModelError
from dragoman.nn import Embedding


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One piece.

    Args:
        id: in the vocabulary.
        cosine: of the angle between its vector and the one looked from, in [-1, 1].
    """

    id: int
    cosine: float


def piece_table(model: nn.Module, *, target: bool = False) -> Tensor:
    """Find the table that turns pieces into vectors, (V, W); of the target side if asked.

    Raises:
        ModelError: it has none, as a model of images.
    """
    tables = [
        part.table if isinstance(part, Embedding) else part.weight
        for part in model.modules()
        if isinstance(part, Embedding | nn.Embedding)
    ]
    if not tables:
        raise ModelError("this model reads no pieces, so it has no vectors of them")
    return tables[-1 if target else 0].detach()


def nearest_pieces(
    table: Tensor, ids: Sequence[int], count: int, *, without: Sequence[int] = ()
) -> list[Neighbour]:
    """Find the pieces whose vectors are nearest by cosine to the mean vector of some.

    Args:
        table: (V, W).
        ids: of those looked from, at least one; they are not among the found.
        count: most pieces to find.
        without: ids left out, such as special symbols.

    Returns:
        By falling cosine, equal ones by their ids.

    Raises:
        ValueError: there are no ``ids``.
    """
    if not ids:
        raise ValueError("no pieces to look from")
    numbers = table.double()
    place = numbers[torch.tensor(list(ids), device=table.device)].mean(0)
    cosines = F.cosine_similarity(numbers, place[None], dim=-1).cpu().numpy()
    left_out = {*ids, *without}
    order = (int(each) for each in np.argsort(-cosines, kind="stable"))
    found = islice((each for each in order if each not in left_out), count)
    return [Neighbour(each, float(cosines[each])) for each in found]
