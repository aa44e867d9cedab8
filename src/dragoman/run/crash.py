"""What is left when a run stops because its loss is no number: all that is needed to see why."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dragoman.atomic import new_folder
from dragoman.bundle import library_versions
from dragoman.data import Example
from dragoman.errors import TrainingError
from dragoman.recipe import Recipe, recipe_toml
from dragoman.training import Trainer, Update


class CrashBundle:
    """Remembers skipped updates, and stops the run with a folder about them when there are many.

    The folder holds ``updates.json`` (loss, norm, batches and the weights whose gradient is no
    number), ``lines.txt`` (the text of those batches), ``recipe.toml`` and ``versions.json``.

    Args:
        run: folder of the run; the bundle is made in it.
        recipe: all choices.
        example: gives the text of an example, and where it stands.
    """

    def __init__(self, run: Path, recipe: Recipe, example: Callable[[int], Example]) -> None:
        self.run, self.recipe, self.example = run, recipe, example
        self.updates: list[dict[str, Any]] = []  # Any: as JSON holds it

    def take(self, trainer: Trainer, update: Update) -> None:
        """Take note of a skipped update.

        Raises:
            TrainingError: it was one too many in a row.
        """
        progress = trainer.progress
        if progress.skipped_in_a_row <= 1:
            self.updates = []
        batches = [[int(index) for index in batch.examples] for batch in update.window]
        self.updates.append(
            {
                "step": progress.step,
                "loss": str(update.loss),
                "gradient_norm": str(update.norm),
                "learning_rate": update.rate,
                "not_finite": list(update.not_finite),
                "batches": batches,
            }
        )
        if progress.skipped_in_a_row < trainer.config.max_skipped:
            return
        try:
            kept = f"their lines and all else is in {self.write()}"
        except OSError as error:
            kept = f"{self.run}: no more about them can be written: {error.strerror or error}"
        what = "loss" if "nan" in str(update.loss) or "inf" in str(update.loss) else "gradient"
        raise TrainingError(
            f"update {progress.step}: the {what} was no number in {progress.skipped_in_a_row} "
            f"updates in a row, which were skipped; {kept}; go on "
            "with a lower learning rate or training.clip_norm (--accept-changes), or mend the data"
        )

    def write(self) -> Path:
        """Write the folder; give its path."""
        path = self.run / f"crash-step-{self.updates[-1]['step']:08d}"
        with new_folder(path) as aside:
            for name, text in (
                ("updates.json", json.dumps(self.updates, indent=2) + "\n"),
                ("lines.txt", "".join(f"{line}\n" for line in self._lines())),
                ("recipe.toml", recipe_toml(self.recipe)),
                ("versions.json", json.dumps(library_versions(), indent=2) + "\n"),
            ):
                (aside / name).write_text(text, encoding="utf-8", newline="\n")
        return path

    def _lines(self) -> Sequence[str]:
        seen = dict.fromkeys(
            index for update in self.updates for batch in update["batches"] for index in batch
        )
        return [self.example(index).line() for index in seen]
