"""One run from a recipe to a model folder: read, learn, train, choose weights, write the card."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from dragoman.atomic import only_one
from dragoman.bundle import load_weights, read_tensors, save_bundle
from dragoman.device import choose_device
from dragoman.errors import CheckpointError
from dragoman.evaluation import Validation
from dragoman.models import build_model
from dragoman.recipe import Recipe, read_recipe
from dragoman.run.card import measured, model_card
from dragoman.run.folder import RunFolder
from dragoman.run.tasks import Task, prepare_task
from dragoman.training import (
    Event,
    Finished,
    Notice,
    Started,
    Trainer,
    Validated,
    average_checkpoints,
    better,
    build_optimizer,
    training_loop,
)


def train(
    recipe: Recipe | str | Path,
    run: str | Path | None = None,
    *,
    device: str = "auto",
    restart: bool = False,
    accept_changes: bool = False,
    should_stop: Callable[[], str] = lambda: "",
) -> Iterator[Event]:
    """Train a model; an unfinished run of the same recipe in the same folder is continued.

    Args:
        recipe: all choices, or the path of a TOML file that holds them.
        run: folder to make or to continue; ``runs/NAME`` for a recipe file of that name.
        device: ``auto``, ``cpu``, ``cuda``, ...
        restart: throw away what the folder holds.
        accept_changes: go on although the recipe differs from the one in the folder.
        should_stop: asked after every update; a reason ends this sitting, saved.

    Yields:
        What happens; the same is kept in ``metrics.jsonl``.

    Raises:
        ConfigError: the recipe is wrong.
        DataError: a corpus is wrong.
        CheckpointError: the folder holds another run, or cannot be written.
    """
    name = "translator" if isinstance(recipe, Recipe) else Path(recipe).stem
    folder = RunFolder(Path(run) if run is not None else Path("runs") / name)
    recipe = recipe if isinstance(recipe, Recipe) else read_recipe(recipe)
    try:
        yield from _train(
            recipe, folder, choose_device(device), restart, accept_changes, should_stop
        )
    except OSError as error:
        raise CheckpointError(
            f"{folder.path}: cannot be written: {error.strerror or error}; make room or choose "
            "another --run; the same command goes on from the last checkpoint"
        ) from error


def _train(
    recipe: Recipe,
    folder: RunFolder,
    device: torch.device,
    restart: bool,
    accept_changes: bool,
    should_stop: Callable[[], str],
) -> Iterator[Event]:
    changed = folder.check(recipe, restart=restart, accept_changes=accept_changes)
    if folder.status() == "finished" and not changed and not restart:
        yield Notice(text=f"{folder.path}: this run is finished; --restart trains it again")
        return
    # What was there is thrown away only when the new data has been read.
    reuse = not restart and folder.status() != "new"
    task = prepare_task(recipe, folder.path, reuse=reuse)
    with only_one(folder.path) as ours:
        if not ours:
            raise CheckpointError(
                f"{folder.path}: another process is training here; wait for it, or choose another "
                "--run"
            )
        if restart:
            folder.clear()
        folder.write_recipe(recipe)
        yield from folder.record(_run(recipe, folder, task, device, should_stop))


def _run(
    recipe: Recipe,
    folder: RunFolder,
    task: Task,
    device: torch.device,
    should_stop: Callable[[], str],
) -> Iterator[Event]:
    yield from (Notice(text=text) for text in task.notices())
    recipe = replace(recipe, validation=replace(recipe.validation, metrics=task.metrics))
    run = _Run(recipe, folder, task, device)
    yield from folder.resume(run.trainer)
    run.check_data()
    yield run.started()
    yield from training_loop(
        run.trainer,
        folder.checkpoints,
        recipe.validation,
        run.validate if task.validated else None,
        on_best=run.keep,
        should_stop=should_stop,
    )
    if run.trainer.done or run.out_of_patience:
        yield from run.finish()
    elif not (folder.path / "model.safetensors").exists():
        run.write(f"weights after {run.trainer.progress.step:,} updates of an unfinished run")


class _Run:
    """The parts of one run in progress."""

    def __init__(self, recipe: Recipe, folder: RunFolder, task: Task, device: torch.device) -> None:
        self.recipe, self.folder, self.task = recipe, folder, task
        training = recipe.training
        torch.manual_seed(training.seed)  # pyright: ignore[reportUnknownMemberType]  # torch's stub
        rng = torch.Generator().manual_seed(training.seed)
        self.model = build_model(task.config, rng).to(device)
        self.trainer = Trainer(
            self.model,
            build_optimizer(self.model.parameters(), training.optimizer),
            task.batches(),
            lambda batch: task.loss(self.model, batch),
            training,
            task.config.d_model,
        )
        self.trainer.progress = replace(self.trainer.progress, data=task.fingerprint)

    @property
    def out_of_patience(self) -> bool:
        patience = self.recipe.validation.patience
        return patience is not None and self.trainer.progress.validations_since_best >= patience

    def check_data(self) -> None:
        """See that the run goes on with the text it began with."""
        if self.trainer.progress.data != self.task.fingerprint:
            raise CheckpointError(
                f"{self.folder.path}: the training text is not what this run began with; put it "
                "back, or choose another --run"
            )

    def started(self) -> Started:
        return Started(
            step=self.trainer.progress.step,
            steps=self.trainer.steps,
            parameters=sum(weight.numel() for weight in self.trainer.model.parameters()),
            pairs=self.task.examples,
            batches_per_epoch=self.trainer.batches.batches_in_epoch,
        )

    def validate(self) -> Validation:
        return self.task.validate(self.model)

    def keep(self, event: Validated) -> None:
        """Put the best weights so far into the run folder."""
        title = f"validation at update {event.step:,}"
        lines = measured(title, event.loss_nats, event.scores, event.signatures)
        self.write(f"best weights so far, of update {event.step:,}", lines)

    def write(self, weights: str, lines: Sequence[str] = ()) -> None:
        """Write the model folder with the weights as they are."""
        card = model_card(self.recipe, self.task.card(), self.trainer.progress, weights, lines)
        save_bundle(self.folder.path, self.task.bundle(self.model), card)

    def finish(self) -> Iterator[Event]:
        """Choose between the best single weights and the average of the last checkpoints (6.1)."""
        progress = self.trainer.progress
        lines: list[str] = []
        weights = self._average()
        if self.task.validated:
            result = self.validate()
            if self._best_beats(result):
                yield Notice(text=f"not better than update {progress.best_step:,}: the {weights}")
                weights = f"best weights, of update {progress.best_step:,}"
                self._load(read_tensors(self.folder.path / "model.safetensors"))
                result = self.validate()
            lines += measured("validation", result.loss_nats, *result.by_metric())
        lines += self.task.test(self.model)
        yield from (Notice(text=line) for line in lines)
        self.write(weights, lines)
        yield Finished(
            step=progress.step, path=self.folder.path, weights=weights, seconds=progress.seconds
        )

    def _average(self) -> str:
        """Load the average of the last checkpoints, if there are several; say what it is."""
        training = self.recipe.training
        last = self.folder.latest(training.average_last, every=training.checkpoint_every)
        if len(last) < 2:
            return f"weights of update {self.trainer.progress.step:,}"
        self._load(average_checkpoints(last))
        return f"average of the last {len(last)} checkpoints"

    def _best_beats(self, result: Validation) -> bool:
        validation, best = self.recipe.validation, self.trainer.progress.best
        value = result.value(self.task.metrics)
        noise = self.task.metrics[:1] == ("bleu",) and max(value, best or 0.0) < 1.0
        if value == best or noise:  # the same weights, or a BLEU that says nothing
            return False
        return validation.keep_best and best is not None and not better(validation, value, best)

    def _load(self, weights: Mapping[str, torch.Tensor]) -> None:
        load_weights(self.model, weights, str(self.folder.path))
