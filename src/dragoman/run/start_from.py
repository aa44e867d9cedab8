"""Start a new run from the weights and tokenizers of a model: ``dragoman train --from MODEL``.

``start.json`` in the run folder says where the run began, so that the same command without
``--from`` goes on with it, and one with another model is refused. The shapes are those of the
model; optimizer and schedule begin afresh.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from dragoman.atomic import write_text
from dragoman.bundle import load_bundle, load_weights, read_tensors
from dragoman.configfile import Table, write_record
from dragoman.errors import CheckpointError, ConfigError, Mistake, ModelError
from dragoman.models import AnyConfig
from dragoman.recipe import Recipe, read_recipe
from dragoman.run.tasks import Given
from dragoman.tokenization import Tokenizer, spelled_before
from dragoman.training import checkpoints

FILE = "start.json"
_FROM_DATA = ("vocabulary", "target_vocabulary", "classes")  # the data of a run sets these


@dataclass(frozen=True, slots=True)
class Start:
    """The model that a run starts from.

    Args:
        path: model or run folder, absolute.
        sha256: digest of its weights.
        classes: what it chooses from, if it classifies.
        config: its choices; None when the run goes on from a checkpoint, which holds all it needs.
        tokenizers: one for each vocabulary; none when ``config`` is None.
    """

    path: Path
    sha256: str
    classes: tuple[str, ...] | None
    config: AnyConfig | None = None
    tokenizers: tuple[Tokenizer, ...] = ()

    @property
    def given(self) -> Given:
        """What the data of the run takes from the model."""
        return Given(self.tokenizers, self.classes)

    def notices(self) -> Iterator[str]:
        """Say what the run starts with."""
        if self.config is None:
            yield f"this run started from {self.path}"
            return
        yield f"weights are those of {self.path}; optimizer and schedule begin afresh"
        if self.tokenizers:
            yield (
                f"tokenizer and vocabulary are those of {self.path}; [tokenizer] of the recipe is "
                "not used, but for extend"
            )

    def card(self) -> list[str]:
        """Say it for the model card."""
        return [f"- started from {self.path.name}", f"  - sha256 {self.sha256} model.safetensors"]

    def fill(self, model: nn.Module, tokenizers: Sequence[Tokenizer]) -> None:
        """Copy the weights into the model of the run, whose vocabulary may be larger.

        Nothing is done when the run goes on from a checkpoint.

        Args:
            model: gets them.
            tokenizers: of the run.

        Raises:
            ModelError: the weights are no longer there, or no longer what they were.
        """
        if self.config is None:
            return
        file = self.path / "model.safetensors"
        weights = read_tensors(file)
        if _digest(file) != self.sha256:
            raise ModelError(f"{file}: changed while it was read; start again when it is at rest")
        pairs = zip(self.tokenizers, tokenizers, strict=True)
        spelled = [spelled_before(old, new) for old, new in pairs]
        load_weights(model, extend_weights(weights, model, spelled), str(self.path))


def find_start(run: Path, start_from: str | Path | None, *, new: bool) -> Start | None:
    """Find out what a run starts from, or started from.

    Args:
        run: its folder.
        start_from: the model asked for, if any.
        new: whether the run begins now; otherwise it is continued.

    Raises:
        ModelError: the model is missing or damaged.
        CheckpointError: the run began from another model, or from none.
    """
    if start_from is not None and Path(start_from).resolve() == run.resolve():
        raise CheckpointError(f"{run}: is the folder of --from too; choose another --run")
    if new:
        return None if start_from is None else _read_start(Path(start_from))
    before = _remembered(run)
    if start_from is not None:
        _refuse_another(run, before, Path(start_from))
    if before is None or checkpoints(run / "checkpoints"):
        return before
    again = _read_start(before.path if start_from is None else Path(start_from))
    if again.sha256 != before.sha256:
        raise CheckpointError(
            f"{again.path}: its weights are not those that the run in {run} started from; put them "
            "back, or --restart"
        )
    return again


def check_start(start: Start | None, recipe: Recipe) -> None:
    """See that a recipe names no other shapes than the model has; dropouts may differ.

    Raises:
        ConfigError: with every difference, each at its place.
    """
    mistakes: list[Mistake] = []
    if start is None and recipe.tokenizer.extend:
        problem = "there is no vocabulary to extend, as the run starts from no model"
        mistakes = [Mistake("tokenizer.extend", problem, "give --from MODEL, or leave it at 0")]
    elif start is not None and start.config is not None:
        mistakes = [*_differences(start.config, recipe.model, start.path)]
        if recipe.tokenizer.extend and not start.tokenizers:
            problem = f"{start.path} reads images and has no vocabulary"
            mistakes.append(Mistake("tokenizer.extend", problem, "leave it at 0"))
    if mistakes:
        raise ConfigError.together(mistakes)


def keep_start(run: Path, start: Start | None) -> None:
    """Write down in the run folder where the run starts."""
    if start is None:
        (run / FILE).unlink(missing_ok=True)
        return
    table = {"model": str(start.path), "sha256": start.sha256, "classes": start.classes}
    write_text(run / FILE, json.dumps(table, indent=2) + "\n")


def model_table(run: Path, start_from: str | Path | None, *, restart: bool) -> Table | None:
    """Give the ``[model]`` table that a recipe need not repeat, as the run starts from a model.

    Args:
        run: folder of the run; need not exist.
        start_from: the model asked for, if any.
        restart: whether what the run folder holds does not count.

    Returns:
        The choices of the model, or those of a run to continue that started from one; otherwise
        None.

    Raises:
        ModelError: the model is missing or damaged.
    """
    if start_from is not None:
        config = load_bundle(Path(start_from)).config
    elif not restart and (run / FILE).exists() and (run / "recipe.toml").exists():
        config = read_recipe(run / "recipe.toml").model
    else:
        return None
    return {key: value for key, value in write_record(config).items() if key not in _FROM_DATA}


def extend_weights(
    weights: Mapping[str, Tensor], model: nn.Module, spelled: Sequence[Sequence[Sequence[int]]]
) -> dict[str, Tensor]:
    """Give the tables of larger vocabularies their new rows; all else stays bit for bit.

    A new piece begins as the mean of the rows of the pieces that spelled it before (Gee et al.
    2022, arXiv 2402.09977); so does its bias in the output.

    Args:
        weights: of the smaller model, by name.
        model: the larger one; only its names and shapes matter.
        spelled: for each vocabulary, the old ids that spell each new piece.
    """
    extended = dict(weights)
    for name, weight in model.named_parameters():
        old = weights.get(name)
        if old is None or old.size(0) >= weight.size(0) or not spelled:
            continue  # as it was, or for ``load_weights`` to complain about
        side = spelled[0] if name.startswith("source_") else spelled[-1]
        rows = [old[torch.tensor(ids)].float().mean(0).to(old.dtype) for ids in side]
        extended[name] = torch.cat([old, torch.stack(rows)])
    return extended


def _read_start(path: Path) -> Start:
    bundle = load_bundle(path)
    classes = cast("tuple[str, ...] | None", getattr(bundle.config, "classes", None))
    sha256 = _digest(path / "model.safetensors")
    return Start(path.resolve(), sha256, classes, bundle.config, bundle.tokenizers)


def _refuse_another(run: Path, before: Start | None, asked: Path) -> None:
    if before is None:
        raise CheckpointError(
            f"{run}: this run did not start from a model; leave --from out to go on with it, or "
            "choose another --run"
        )
    file = asked / "model.safetensors"
    if asked.resolve() != before.path and (not file.exists() or _digest(file) != before.sha256):
        raise CheckpointError(
            f"{run}: this run started from {before.path}, not from {asked}; leave --from out to "
            "go on with it, or choose another --run"
        )


def _remembered(run: Path) -> Start | None:
    file = run / FILE
    try:
        table = cast("dict[str, Any]", json.loads(file.read_bytes()))  # Any: as JSON holds it
        classes = None if table["classes"] is None else tuple(table["classes"])
        return Start(Path(table["model"]), table["sha256"], classes)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{file}: damaged ({error}); --restart") from None


def _differences(model: AnyConfig, asked: AnyConfig, path: Path) -> Iterator[Mistake]:
    has, wants = write_record(model), write_record(asked)
    keys = sorted(has.keys() | wants.keys())
    if model.architecture != asked.architecture:
        keys = ["architecture"]  # everything else differs too
    for key in keys:
        if has.get(key) != wants.get(key) and key not in _FROM_DATA and "dropout" not in key:
            problem = f"{_shown(wants.get(key))} is not what {path} has, {_shown(has.get(key))}"
            yield Mistake(f"model.{key}", problem, "leave it out, and that is taken")


def _shown(value: object) -> str:
    return "unset" if value is None else json.dumps(value, ensure_ascii=False)


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{file}: cannot be read: {error.strerror}") from None
