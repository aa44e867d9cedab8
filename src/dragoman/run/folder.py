"""A run on disk: its recipe, its metrics, its checkpoints; whether it is new, open or done."""

import hashlib
import json
import math
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, cast

from dragoman.atomic import remove_folder, remove_leftovers, write_text
from dragoman.configfile import read_record, write_record
from dragoman.errors import CheckpointError, ConfigError
from dragoman.recipe import Recipe, differences, read_recipe, recipe_toml
from dragoman.run.tasks.prepared import much_is_prepared
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

_FIXED = (  # keys that --accept-changes does not cover, since a checkpoint would not fit
    *("tokenizer.", "model.", "training.batch_tokens", "training.accumulate", "training.seed"),
    *("training.optimizer.kind", "training.ema", "training.freeze"),
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
        self.budget_file = path / "budget.json"
        self.tokenizers_file = path / "tokenizers.sha256"
        self.checkpoints = path / "checkpoints"
        self.accepted: list[str] = []  # what changed since the run began

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
        fixed = [change for change in changed if change.startswith(_FIXED)]
        if fixed and accept_changes and not all("dropout" in change for change in fixed):
            raise CheckpointError(
                f"{self.path}: the vocabulary, the shape of a model, its batches, seed and kind of "
                f"optimizer cannot change in a run; choose another --run, or --restart:\n{listed}"
            )
        if changed and not accept_changes:
            raise CheckpointError(
                f"{self.path}: holds a run of another recipe; choose another --run, --restart to "
                f"throw it away, or --accept-changes to go on with these:\n{listed}"
            )
        self.accepted = [*changed, *self._edited_tokenizers(accept_changes)]
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
        self.budget_file.unlink(missing_ok=True)
        self.tokenizers_file.unlink(missing_ok=True)

    def abandon(self) -> None:
        """Leave nothing of a new run that could not begin."""
        names = ("tokenizer.json", "source.tokenizer.json", "target.tokenizer.json", "start.json")
        for name in (*names, ".lock"):
            (self.path / name).unlink(missing_ok=True)
        if not much_is_prepared(self.path):
            shutil.rmtree(self.path / "data", ignore_errors=True)
        self.clear()
        with suppress(OSError):
            self.path.rmdir()  # only when nothing else is there

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
        """Keep the resolved recipe, and with that of a new run the digests of its tokenizers."""
        self.path.mkdir(parents=True, exist_ok=True)
        digests = self._tokenizer_digests()
        if digests and (self.accepted or not self.recipe_file.exists()):
            lines = [f"{digest}  {name}\n" for name, digest in digests.items()]
            write_text(self.tokenizers_file, "".join(lines))  # as sha256sum reads it
        head = "# Resolved by dragoman; every choice of this run, defaults included.\n\n"
        write_text(self.recipe_file, head + recipe_toml(recipe))

    def resume(self, trainer: Trainer) -> Iterator[Notice]:
        """Put ``trainer`` where the newest whole checkpoint stands, if there is one.

        Raises:
            CheckpointError: checkpoints exist but none can be read.
        """
        yield from (Notice(text=f"changed since the run began: {it}") for it in self.accepted)
        found, damaged, newest = checkpoints(self.checkpoints), list[Path](), ""
        for path in reversed(found):
            try:
                progress = load_checkpoint(path, trainer.weights)
            except CheckpointError as error:
                newest = newest or str(error)
                yield Notice(text=f"{error} (skipped)")
                damaged.append(path)
                continue
            trainer.restore(progress)
            yield Notice(text=f"going on with the run in {self.path} from update {progress.step:,}")
            break
        else:
            if found:
                raise CheckpointError(
                    f"{self.checkpoints}: no checkpoint can be read; use --restart; the newest "
                    f"said:\n  {newest}"
                )
        for path in damaged:
            yield Notice(text=f"{path.name} is kept as {_set_aside(path).name}")
        self._tidy(trainer.progress.step)

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

    def _tokenizer_digests(self) -> dict[str, str]:
        files = sorted(self.path.glob("*tokenizer.json"))
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    def _edited_tokenizers(self, accept_changes: bool) -> list[str]:
        """Name the tokenizers that are not those the run began with, if that is accepted."""
        if not self.tokenizers_file.exists():  # a run without one, or of an older release
            return []
        now = self._tokenizer_digests()
        for line in self.tokenizers_file.read_text(encoding="utf-8").splitlines():
            digest, _, name = line.partition("  ")
            if now.get(name) == digest:
                del now[name]
            elif not accept_changes:
                raise CheckpointError(
                    f"{self.path / name}: is not the tokenizer that this run began with; put it "
                    "back, or --restart, or --accept-changes if it makes the same ids"
                )
        return [f"{name}: is another file" for name in now]

    def _tidy(self, step: int) -> None:
        """Remove what a kill left half-written, and the lines of updates made again."""
        if self.path.is_dir():
            for folder in (self.path, self.checkpoints):
                if folder.is_dir():
                    remove_leftovers(folder)
            self._forget_after(step)

    def _forget_after(self, step: int) -> None:
        """Drop the lines of updates that will be made again."""
        kept = [
            entry
            for entry in self._metrics()
            if entry.get("step", 0) <= step and entry["event"] != Finished.__name__
        ]
        write_text(self.metrics_file, "".join(json.dumps(entry) + "\n" for entry in kept))


def _set_aside(path: Path) -> Path:
    """Rename a damaged checkpoint: as the newest one it would have others cleaned away."""
    aside = path.with_name(f"damaged-{path.name}")
    if aside.exists():
        remove_folder(aside)
    return path.replace(aside)


def _finite(value: object) -> object:
    """Say null for what JSON cannot hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
