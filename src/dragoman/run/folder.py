"""A run on disk: its recipe, its metrics, its checkpoints; whether it is new, open or done."""

import json
import math
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, cast

from dragoman.atomic import write_text
from dragoman.configfile import read_record, write_record
from dragoman.errors import CheckpointError, ConfigError
from dragoman.recipe import Recipe, differences, read_recipe, recipe_toml
from dragoman.training import (
    Event,
    Finished,
    Kernels,
    Notice,
    Trainer,
    checkpoints,
    load_checkpoint,
    regular_checkpoints,
)


class RunFolder:
    """The folder of one run.

    Args:
        path: need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recipe_file = path / "recipe.toml"
        self.metrics_file = path / "metrics.jsonl"
        self.kernels_file = path / "kernels.json"
        self.checkpoints = path / "checkpoints"

    def status(self) -> Literal["new", "open", "finished"]:
        """Say how far the run is."""
        if not self.recipe_file.exists():
            return "new"
        last = self._metrics()[-1:]
        return "finished" if last and last[0]["event"] == Finished.__name__ else "open"

    def check(self, recipe: Recipe, *, restart: bool, accept_changes: bool) -> list[str]:
        """See whether ``recipe`` may be trained here; give what changed and was accepted.

        Raises:
            CheckpointError: the folder holds a run of another recipe, or something else.
        """
        if self.path.exists() and not self.path.is_dir():
            raise CheckpointError(f"{self.path}: is a file; choose a folder for --run")
        model, run = self.path / "config.json", self.status() != "new"
        if (self.path / "README.md").exists() and not run and not model.exists():
            raise CheckpointError(
                f"{self.path}: has a README.md that the model card would overwrite; choose a new "
                "folder for --run"
            )
        if restart:
            return []
        if not run:
            if model.exists() or checkpoints(self.checkpoints):
                raise CheckpointError(
                    f"{self.path}: holds a model that is no run of a recipe; choose another --run, "
                    "or --restart to throw it away"
                )
            return []
        changed = differences(read_recipe(self.recipe_file), recipe)
        listed = "\n".join(f"  {change}" for change in changed)
        fixed = [change for change in changed if change.startswith(("tokenizer.", "model."))]
        if fixed and accept_changes and not all("dropout" in change for change in fixed):
            raise CheckpointError(
                f"{self.path}: the vocabulary and the shape of a model cannot change in a run; "
                f"choose another --run, or --restart:\n{listed}"
            )
        if changed and not accept_changes:
            raise CheckpointError(
                f"{self.path}: holds a run of another recipe; choose another --run, --restart to "
                f"throw it away, or --accept-changes to go on with these:\n{listed}"
            )
        return changed

    def clear(self) -> None:
        """Throw away what this or another run left here.

        Tokenizers stay, as they may be new already; files of other kinds stay too.
        """
        for name in ("checkpoints", "tensorboard"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in ("config.json", "model.safetensors", "README.md"):
            (self.path / name).unlink(missing_ok=True)
        self.recipe_file.unlink(missing_ok=True)
        self.metrics_file.unlink(missing_ok=True)
        self.kernels_file.unlink(missing_ok=True)

    def kernels(self) -> Kernels | None:
        """Read how this run computes, if it has begun."""
        try:
            table = json.loads(self.kernels_file.read_bytes())
            return read_record(Kernels, table, file=str(self.kernels_file))
        except (OSError, ValueError, ConfigError):
            return None

    def keep_kernels(self, kernels: Kernels) -> None:
        """Keep how this run computes, so that going on with it computes as before."""
        write_text(self.kernels_file, json.dumps(write_record(kernels)) + "\n")

    def write_recipe(self, recipe: Recipe) -> None:
        """Keep the resolved recipe."""
        self.path.mkdir(parents=True, exist_ok=True)
        head = "# Resolved by dragoman; every choice of this run, defaults included.\n\n"
        write_text(self.recipe_file, head + recipe_toml(recipe))

    def resume(self, trainer: Trainer) -> Iterator[Notice]:
        """Put ``trainer`` where the newest whole checkpoint stands, if there is one.

        Raises:
            CheckpointError: checkpoints exist but none can be read.
        """
        found = checkpoints(self.checkpoints)
        for path in reversed(found):
            try:
                progress = load_checkpoint(path, trainer.weights)
            except CheckpointError as error:
                yield Notice(text=f"{error} (skipped)")
                continue
            trainer.restore(progress)
            yield Notice(text=f"going on with the run in {self.path} from update {progress.step:,}")
            break
        else:
            if found:
                raise CheckpointError(
                    f"{self.checkpoints}: no checkpoint can be read; use --restart"
                )
        self._forget_after(trainer.progress.step)

    def record(self, events: Iterable[Event]) -> Iterator[Event]:
        """Pass events on, and keep each as a line of ``metrics.jsonl``."""
        for event in events:
            if self.path.is_dir():
                fields = {key: _finite(value) for key, value in asdict(event).items()}
                line = json.dumps({"event": type(event).__name__, **fields}, default=str)
                with self.metrics_file.open("a", encoding="utf-8", newline="\n") as file:
                    file.write(line + "\n")
            yield event

    def latest(self, count: int, *, every: int) -> list[Path]:
        """Give the newest ``count`` regular checkpoints, oldest first."""
        return regular_checkpoints(self.checkpoints, every=every)[-count:]

    def _metrics(self) -> list[dict[str, Any]]:  # Any: as JSON holds it
        if not self.metrics_file.exists():
            return []
        found: list[dict[str, Any]] = []
        for line in self.metrics_file.read_bytes().split(b"\n"):
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # a line that a kill cut off
            if isinstance(entry, dict) and "event" in entry:
                found.append(cast("dict[str, Any]", entry))
        return found

    def _forget_after(self, step: int) -> None:
        """Drop the lines of updates that will be made again."""
        kept = [
            entry
            for entry in self._metrics()
            if entry.get("step", 0) <= step and entry["event"] != Finished.__name__
        ]
        if self.path.is_dir():
            write_text(self.metrics_file, "".join(json.dumps(entry) + "\n" for entry in kept))


def _finite(value: object) -> object:
    """Say null for what JSON cannot hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
