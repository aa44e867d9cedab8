"""One run from a recipe to a model folder: read, learn, train, choose weights, write the card."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from dragoman.atomic import only_one
from dragoman.bundle import Bundle, load_weights, read_tensors, save_bundle
from dragoman.data import TokenBatches
from dragoman.errors import CheckpointError, ConfigError
from dragoman.evaluation import Validation, Validator
from dragoman.models import ModelConfig, build_model
from dragoman.recipe import Recipe, read_recipe
from dragoman.run.card import measured, model_card
from dragoman.run.evaluate import evaluate
from dragoman.run.folder import RunFolder
from dragoman.run.prepare import Prepared, prepare
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
from dragoman.translator import Translator, choose_device


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
    if restart:
        folder.clear()
    elif folder.status() == "finished" and not changed:
        yield Notice(text=f"{folder.path}: this run is finished; --restart trains it again")
        return
    prepared = prepare(recipe, folder.path, reuse=folder.status() != "new")
    with only_one(folder.path) as ours:
        if not ours:
            raise CheckpointError(
                f"{folder.path}: another process is training here; wait for it, or choose another "
                "--run"
            )
        folder.write_recipe(recipe)
        yield from folder.record(_run(recipe, folder, prepared, device, should_stop))


def _run(
    recipe: Recipe,
    folder: RunFolder,
    prepared: Prepared,
    device: torch.device,
    should_stop: Callable[[], str],
) -> Iterator[Event]:
    yield from (Notice(text=text) for text in prepared.notices())
    run = _Run(recipe, folder, prepared, device)
    yield from folder.resume(run.trainer)
    run.check_data()
    yield run.started()
    yield from training_loop(
        run.trainer,
        folder.checkpoints,
        recipe.validation,
        run.validate if run.validator is not None else None,
        on_best=run.keep,
        should_stop=should_stop,
    )
    if run.trainer.done or run.out_of_patience:
        yield from run.finish()
    elif not (folder.path / "model.safetensors").exists():
        run.write(f"weights after {run.trainer.progress.step:,} updates of an unfinished run")


class _Run:
    """The parts of one run in progress."""

    def __init__(
        self, recipe: Recipe, folder: RunFolder, prepared: Prepared, device: torch.device
    ) -> None:
        self.recipe, self.folder, self.prepared = recipe, folder, prepared
        training = recipe.training
        self.config = _complete(recipe, prepared)
        torch.manual_seed(training.seed)  # pyright: ignore[reportUnknownMemberType]  # torch's stub
        rng = torch.Generator().manual_seed(training.seed)
        model = build_model(self.config, rng).to(device)
        batches = TokenBatches(
            prepared.train.sources,
            prepared.train.targets,
            budget=training.batch_tokens,
            special=prepared.target_tokenizer.special,
            seed=training.seed,
        )
        optimizer = build_optimizer(model.parameters(), training.optimizer)
        self.trainer = Trainer(model, optimizer, batches, training, self.config.d_model)
        self.trainer.progress = replace(self.trainer.progress, data=prepared.fingerprint)
        self.validator = self._validator()

    def _validator(self) -> Validator | None:
        side = self.prepared.validation
        if side is None:
            return None
        return Validator(
            sources=side.sources.rows(),
            targets=side.targets.rows(),
            references=[pair.target for pair in side.pairs],
            tokenizer=self.prepared.target_tokenizer,
            search=self.recipe.decoding,
            metrics=self.recipe.validation.metrics,
            batch_tokens=min(self.recipe.training.batch_tokens, 8192),
        )

    @property
    def out_of_patience(self) -> bool:
        patience = self.recipe.validation.patience
        return patience is not None and self.trainer.progress.validations_since_best >= patience

    def check_data(self) -> None:
        """See that the run goes on with the text it began with."""
        if self.trainer.progress.data != self.prepared.fingerprint:
            raise CheckpointError(
                f"{self.folder.path}: the training text is not what this run began with; put it "
                "back, or choose another --run"
            )

    def started(self) -> Started:
        return Started(
            step=self.trainer.progress.step,
            steps=self.trainer.steps,
            parameters=sum(weight.numel() for weight in self.trainer.model.parameters()),
            pairs=len(self.prepared.train.sources),
            batches_per_epoch=self.trainer.batches.batches_in_epoch,
        )

    def validate(self) -> Validation:
        assert self.validator is not None
        return self.validator(self.trainer.model)

    def keep(self, event: Validated) -> None:
        """Put the best weights so far into the run folder."""
        title = f"validation at update {event.step:,}"
        lines = measured(title, event.loss_nats, event.scores, event.signatures)
        self.write(f"best weights so far, of update {event.step:,}", lines)

    def write(self, weights: str, lines: Sequence[str] = ()) -> None:
        """Write the model folder with the weights as they are."""
        card = model_card(self.recipe, self.prepared, self.trainer.progress, weights, lines)
        save_bundle(self.folder.path, self._bundle(), card)

    def finish(self) -> Iterator[Event]:
        """Choose between the best single weights and the average of the last checkpoints (6.1)."""
        progress = self.trainer.progress
        lines: list[str] = []
        weights = self._average()
        if self.validator is not None:
            result = self.validate()
            if self._best_beats(result):
                yield Notice(text=f"not better than update {progress.best_step:,}: the {weights}")
                weights = f"best weights, of update {progress.best_step:,}"
                self._load(read_tensors(self.folder.path / "model.safetensors"))
                result = self.validate()
            lines += measured("validation", result.loss_nats, *result.by_metric())
        if self.recipe.data.test is not None:
            found = evaluate(
                Translator(self._bundle()),
                self.recipe.data.test,
                metrics=self.recipe.validation.metrics,
                search=self.recipe.decoding,
            )
            lines += measured("test", found.loss_nats, *found.by_metric())
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
        value = result.value(validation.metrics)
        noise = validation.metrics[:1] == ("bleu",) and max(value, best or 0.0) < 1.0
        if value == best or noise:  # the same weights, or a BLEU that says nothing
            return False
        return validation.keep_best and best is not None and not better(validation, value, best)

    def _load(self, weights: Mapping[str, torch.Tensor]) -> None:
        load_weights(self.trainer.model, weights, str(self.folder.path))

    def _bundle(self) -> Bundle:
        return Bundle(
            self.config,
            self.trainer.model,
            self.prepared.source_tokenizer,
            self.prepared.target_tokenizer,
        )


def _complete(recipe: Recipe, prepared: Prepared) -> ModelConfig:
    """Fill in what only the tokenizers know.

    Raises:
        ConfigError: the recipe names other vocabulary sizes.
    """
    source, target = prepared.source_tokenizer, prepared.target_tokenizer
    found = (source.size, None if source is target else target.size)
    given = (recipe.model.vocabulary, recipe.model.target_vocabulary)
    if given != (None, None) and given != found:
        raise ConfigError(
            "model.vocabulary",
            f"{given[0]} is not what the tokenizer has, {found[0]}",
            "leave it out",
        )
    return replace(
        recipe.model,
        vocabulary=found[0],
        target_vocabulary=found[1],
        padding=target.special.padding,
    )
