"""The end of a run: which weights it leaves, and what they reach."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor, nn

from dragoman.bundle import load_weights, read_tensors
from dragoman.errors import CheckpointError, ModelError
from dragoman.evaluation import Validation
from dragoman.recipe import Recipe
from dragoman.run.card import measured
from dragoman.run.folder import RunFolder
from dragoman.run.tasks import Task
from dragoman.training import (
    Event,
    Finished,
    Notice,
    Progress,
    average_checkpoints,
    better,
    verify_checkpoint,
)


@dataclass(frozen=True, slots=True)
class Ending:
    """What is needed to finish a run.

    Args:
        recipe: all choices.
        folder: holds the checkpoints, and the best weights so far.
        task: validates and tests.
        progress: where the run stands.
        write: writes the model folder: a model, what its weights are, and lines about it.
    """

    recipe: Recipe
    folder: RunFolder
    task: Task
    progress: Progress
    write: Callable[[nn.Module, str, Sequence[str]], None]

    def events(self, model: nn.Module) -> Iterator[Event]:
        """Choose between the best single weights and the average of the last checkpoints (6.1).

        Args:
            model: holds the last weights, or their moving average; is changed in place.
        """
        progress, lines = self.progress, list[str]()
        yield from self._damaged()
        weights = self._average(model)
        if self.task.validated:
            result = self.task.validate(model)
            if self._best_beats(result):
                try:
                    self._load(model, read_tensors(self.folder.path / "model.safetensors"))
                except ModelError as error:
                    yield Notice(text=f"{error}; keeping the {weights}")
                else:
                    name = f"update {progress.best_step:,}"
                    yield Notice(text=f"not better than {name}: the {weights}")
                    weights = f"best weights, of {name}"
                    result = self.task.validate(model)
            lines += measured("validation", result.loss_nats, *result.by_metric())
        lines += self.task.test(model)
        if progress.skipped:
            count = "1 update" if progress.skipped == 1 else f"{progress.skipped:,} updates"
            lines.append(f"{count} skipped, since loss or gradient was no number")
        yield from (Notice(text=line) for line in lines)
        self.write(model, weights, lines)
        yield Finished(
            step=progress.step, path=self.folder.path, weights=weights, seconds=progress.seconds
        )

    def _last(self) -> list[Path]:
        training = self.recipe.training
        if training.ema is not None:
            return []
        return self.folder.latest(training.average_last, every=training.checkpoint_every)

    def _damaged(self) -> Iterator[Notice]:
        for path in self._last():
            if not _whole(path):
                yield Notice(text=f"{path}: is damaged, and left out of the average")

    def _average(self, model: nn.Module) -> str:
        """Load the average of the last checkpoints, if there are several; say what it is."""
        training = self.recipe.training
        if training.ema is not None:
            return f"moving average of the weights ({training.ema:g})"
        last = [path for path in self._last() if _whole(path)]
        if len(last) < 2:
            return f"weights of update {self.progress.step:,}"
        self._load(model, average_checkpoints(last))
        return f"average of the last {len(last)} checkpoints"

    def _best_beats(self, result: Validation) -> bool:
        validation, best = self.recipe.validation, self.progress.best
        value = result.value(self.task.metrics)
        noise = self.task.metrics[:1] == ("bleu",) and max(value, best or 0.0) < 1.0
        if value == best or noise:  # the same weights, or a BLEU that says nothing
            return False
        return validation.keep_best and best is not None and not better(validation, value, best)

    def _load(self, model: nn.Module, weights: Mapping[str, Tensor]) -> None:
        load_weights(model, weights, str(self.folder.path))


def _whole(path: Path) -> bool:
    try:
        verify_checkpoint(path)
    except CheckpointError:
        return False
    return True
