"""Weights of a CTranslate2 file into a model of ours; what is left over or missing is refused."""

import numpy as np
import torch
from torch import nn

from dragoman.errors import ModelError
from dragoman.interop.ctranslate2.names import Place, places
from dragoman.interop.ctranslate2.parts import written_positions
from dragoman.interop.ctranslate2.variables import Variables
from dragoman.interop.named_weights import Array
from dragoman.models import ModelConfig, build_model
from dragoman.models.build import Model

NEVER = -1e9  # added to the score of a piece that has none
_ROUNDED = 1e-2  # what is left of positions in half precision differs by less


def filled(
    variables: Variables,
    config: ModelConfig,
    *,
    factors: dict[str, float] | None = None,
    added: dict[str, int] | None = None,
) -> Model:
    """Build a model and give it every weight of the file.

    Args:
        variables: of the file.
        config: complete, sizes of vocabularies included.
        factors: what weights are multiplied by, by name of the variable.
        added: how many rows the tables of ``encoder`` and ``decoder`` need beyond the file's.

    Raises:
        ModelError: a weight is missing, left over, of another shape, or differs from another that
            is to be the same.
    """
    _check_positions(variables, config)
    try:
        model = build_model(config).eval()
    except RuntimeError as error:  # more memory than there is
        problem = str(error).splitlines()[0]
        raise ModelError(f"{variables.path}: cannot be built: {problem}") from None
    filling = _Filling(variables, model, factors or {}, added or {})
    for place in places(config):
        filling.take(place)
    filling.finish()
    left = variables.left()
    if left:
        names = ", ".join(left[:3])
        raise ModelError(
            f"{variables.path}: has {len(left)} variables that no choice of [model] knows: "
            f"{names}{' ...' if len(left) > 3 else ''}; use another model"
        )
    return model


class _Filling:
    """Weights of a model, written from several variables."""

    def __init__(
        self,
        variables: Variables,
        model: nn.Module,
        factors: dict[str, float],
        added: dict[str, int],
    ) -> None:
        self.variables, self.factors, self.added = variables, factors, added
        self.weights = dict(model.named_parameters(remove_duplicate=False))
        self._seen: dict[tuple[int, int], str] = {}  # which variable filled a weight from a row on
        self._rows: dict[int, int] = {}

    @torch.no_grad()
    def take(self, place: Place) -> None:
        """Write the rows of one place."""
        weight = self.weights[place.ours]
        rows = weight[place.start : place.end]
        found = torch.tensor(self._found(place, tuple(rows.shape)))
        if found.shape != rows.shape:
            raise ModelError(
                f"{self.variables.path}: {place.theirs} is {tuple(found.shape)}, and its place in "
                f"the model {tuple(rows.shape)}; convert the model again"
            )
        before = self._seen.setdefault((id(weight), place.start), place.theirs)
        if before == place.theirs:
            rows.copy_(found)
            self._rows[id(weight)] = self._rows.get(id(weight), 0) + rows.size(0)
        elif not torch.equal(rows, found):
            raise ModelError(
                f"{self.variables.path}: {place.theirs} and {before} differ, and are one weight "
                "in the model; convert the model again"
            )

    def finish(self) -> None:
        """See that every weight has been written."""
        for name, weight in self.weights.items():
            if self._rows.get(id(weight), 0) != weight.size(0):
                raise ModelError(f"{self.variables.path}: has nothing for {name}")

    def _found(self, place: Place, shape: tuple[int, ...]) -> Array:
        name = place.theirs
        extra = self._added_rows(name)
        if name.endswith("/bias") and name not in self.variables:  # the library adds none
            found = np.zeros((shape[0] - extra, *shape[1:]), dtype=np.float32)
        else:
            found = self.variables.weight(name) * np.float32(self.factors.get(name, 1.0))
        if extra:
            filler = NEVER if name.endswith("/bias") else 0.0
            rows = np.full((extra, *found.shape[1:]), filler, dtype=np.float32)
            found = np.concatenate((found, rows))
        return found

    def _added_rows(self, name: str) -> int:
        if "/embeddings_0/" in name:
            return self.added.get("encoder", 0)
        if "/embeddings/" in name or "/projection/" in name:
            return self.added.get("decoder", 0)
        return 0


def _check_positions(variables: Variables, config: ModelConfig) -> None:
    """See that a table of positions that are computed here holds what is computed."""
    for stack, positions in (("encoder", config.positions), ("decoder", config.target_positions)):
        name = f"{stack}/position_encodings/encodings"
        if name not in variables or getattr(positions, "kind", "") == "learned":
            continue
        shape = variables.shape(name)
        expected = written_positions(positions, shape[0], config.d_model)
        found = variables.weight(name)
        if (
            expected is None
            or expected.shape != found.shape
            or np.abs(expected - found).max() > _ROUNDED
        ):
            raise ModelError(
                f"{variables.path}: {name} does not hold {positions.kind} positions, as "
                "config.json says; write the folder again"
            )
