"""Sinusoids that a checkpoint stores have to be those that are computed here."""

from pathlib import Path

import torch

from dragoman.errors import ModelError
from dragoman.interop.checkpoints.tables import State
from dragoman.models import ModelConfig, Sinusoidal
from dragoman.nn import sinusoids

_ENDS = (".pe.pe", ".embed_positions.weights")
_ROWS = 256  # further ones were rounded as they grew: float32 holds no exact angles there
_OFF = 2e-3  # numbers in 16 bits, too


def see_waves(state: State, config: ModelConfig, path: Path) -> None:
    """See that stored tables hold the sinusoids of the model; row r is position r.

    Raises:
        ModelError: one does not, so that the model was trained with other positions.
    """
    for name, table in state.items():
        if not name.endswith(_ENDS):
            continue
        positions = config.positions if name.startswith("encoder") else config.target_positions
        if not isinstance(positions, Sinusoidal) or table.numel() % config.d_model:
            raise ModelError(f"{path}: {name}: {tuple(table.shape)} are no positions of this model")
        rows = table.reshape(-1, config.d_model)[:_ROWS].double()
        wanted = sinusoids(
            torch.arange(len(rows)),
            config.d_model,
            layout=positions.layout,
            rate=positions.rate,
        )
        off = (rows - wanted)[positions.first :].abs()
        if not bool((off <= _OFF).all()):  # no number is none of them, too
            raise ModelError(
                f"{path}: {name}: holds other positions than its trainer computes; "
                "a model with positions of its own is not read here"
            )
