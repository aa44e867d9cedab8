"""Which keys a position may see by its place alone: causal, local, sparse.

A pattern is handed to self-attention and meets the mask of padding there. The queries are always
the last Q of the K key positions.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from dragoman.nn.masks import causal_mask, combine, local_mask, sparse_mask


class Pattern(Protocol):
    """Who may see whom by place."""

    @property
    def window(self) -> int | None:
        """How many past keys a later query may still see; None is all of them."""
        ...

    def mask(self, queries: int, keys: int, *, device: torch.device) -> Tensor | None:
        """Give a boolean mask, (Q, K), or None when every query sees every key."""
        ...


@dataclass(frozen=True, slots=True)
class Causal:
    """Each position sees itself and those before (section 3.2.3)."""

    @property
    def window(self) -> None:
        """All past keys stay visible."""
        return None

    def mask(self, queries: int, keys: int, *, device: torch.device) -> Tensor | None:
        """Hide what comes after each query; one query alone is the last and sees all."""
        return None if queries == 1 else causal_mask(queries, keys, device=device)


@dataclass(frozen=True, slots=True)
class Local:
    """Each position sees r = 2 half_width + 1 keys centred on it (section 4, restricted).

    Args:
        half_width: keys on each side.
        causal: those after the position are hidden as well.
    """

    half_width: int
    causal: bool = False

    @property
    def window(self) -> int | None:
        """The next query sees this many past keys; past ones end up nowhere else."""
        return self.half_width if self.causal else None

    def mask(self, queries: int, keys: int, *, device: torch.device) -> Tensor:
        """Hide what lies further away than ``half_width``."""
        near = local_mask(queries, keys, half_width=self.half_width, device=device)
        return near & causal_mask(queries, keys, device=device) if self.causal else near


@dataclass(frozen=True, slots=True)
class Sparse:
    """A local window, and some positions that see and are seen by all (arXiv 2004.05150).

    Args:
        half_width: keys on each side.
        global_positions: places that see everything and are seen from everywhere.
        causal: positions after a query are hidden as well.
    """

    half_width: int
    global_positions: tuple[int, ...] = (0,)
    causal: bool = False

    @property
    def window(self) -> None:
        """A global query sees all past keys."""
        return None

    def mask(self, queries: int, keys: int, *, device: torch.device) -> Tensor | None:
        """Hide what is neither near nor global."""
        sparse = sparse_mask(
            queries,
            keys,
            half_width=self.half_width,
            global_positions=self.global_positions,
            device=device,
        )
        before = Causal().mask(queries, keys, device=device) if self.causal else None
        return combine(sparse, before)
