"""Train variants of a recipe side by side, on the same data, order and budget (table 3)."""

import json
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from dragoman.atomic import write_text
from dragoman.bundle import library_versions
from dragoman.data import parts_of, read_pairs
from dragoman.device import choose_device
from dragoman.errors import CheckpointError, ConfigError, DragomanError, MissingExtraError
from dragoman.recipe import differences, read_recipe
from dragoman.run.comparison.events import (
    CompareEvent,
    ComparisonDone,
    VariantDone,
    VariantStarted,
)
from dragoman.run.comparison.file import Comparison, PlannedRun, plan_runs, read_comparison
from dragoman.run.comparison.job import Job, as_trained, run_job
from dragoman.run.comparison.measured import (
    MEASURED,
    Measured,
    read_hypotheses,
    read_measured,
)
from dragoman.run.comparison.picture import draw_comparison
from dragoman.run.comparison.rows import MeasuredRun, compare_rows
from dragoman.run.comparison.sentences import read_test
from dragoman.run.comparison.table import Compared
from dragoman.run.folder import RunFolder
from dragoman.run.tasks.corpora import pairs_in
from dragoman.training import Event, Notice, Stopped


def compare(
    file: str | Path,
    run: str | Path | None = None,
    *,
    minutes: float | None = None,
    overrides: Sequence[str] = (),
    device: str = "auto",
    restart: bool = False,
    should_stop: Callable[[], str] = lambda: "",
) -> Iterator[CompareEvent]:
    """Train the variants of a file one after the other, each in a process of its own.

    A comparison that was stopped goes on: finished variants are not trained again.

    Args:
        file: TOML; see ``Comparison``.
        run: folder to make or to continue; ``runs/compare-NAME`` unless given.
        minutes: of training for each variant, in place of the budget in the file.
        overrides: settings for all variants, such as ``data.train=other.tsv``, after those of the
            file.
        device: ``auto``, ``cpu``, ``cuda``, ...
        restart: throw away what the folders of the variants hold.
        should_stop: asked after every event; a reason ends this sitting, saved.

    Yields:
        What happens, that of the training included; at last ComparisonDone, or Stopped.

    Raises:
        ConfigError: the file or a variant is wrong; with every mistake, before anything is trained.
        CheckpointError: a folder holds another run.
        DataError: a corpus is wrong.
    """
    file = Path(file)
    comparison = read_comparison(file, minutes=minutes, overrides=overrides)
    plan = plan_runs(comparison, file)
    folder = default_folder(file) if run is None else Path(run)
    work = _Work(comparison, plan, folder, device)
    work.check(restart=restart)
    yield from work.train_all(should_stop)
    if not work.stopped:
        yield work.write(file.stem)


def default_folder(file: Path) -> Path:
    """Name the folder of a comparison after its file."""
    name = file.stem if file.stem.startswith("compare-") else f"compare-{file.stem}"
    return Path("runs") / name


class _Work:
    """A comparison in progress.

    Args:
        comparison: the file.
        plan: its runs, variant by variant.
        folder: of the comparison.
        device: the same for all.
    """

    def __init__(
        self, comparison: Comparison, plan: Sequence[PlannedRun], folder: Path, device: str
    ) -> None:
        self.comparison, self.plan, self.folder, self.device = comparison, plan, folder, device
        self.stopped = False
        # By seed: who trained first, on which ids, and with how many pieces to validate on.
        self.seen: dict[int, tuple[str, tuple[str, int]]] = {}

    def check(self, *, restart: bool) -> None:
        """Find what would stop a comparison after hours, before it begins.

        Raises:
            ConfigError: the device is not here.
            DataError: a test set cannot be read, or is empty.
            CheckpointError: a folder holds another run.
        """
        choose_device(self.device)
        self.tests = {one.seed: read_test(one.recipe) for one in self.plan}
        data = self.plan[0].recipe.data  # of all variants
        for corpus in (data.train, data.validation):
            if corpus is not None and restart:  # nothing is thrown away for text that is missing
                for part in parts_of(pairs_in(corpus)):
                    read_pairs(part)
        for one in self.plan:
            run = RunFolder(self.folder / one.place)
            if restart:
                run.clear()
                (run.path / MEASURED).unlink(missing_ok=True)
            _check_folder(one, run)

    def train_all(self, should_stop: Callable[[], str]) -> Iterator[CompareEvent]:
        """Train and measure what is not finished."""
        if find_spec("matplotlib") is None:
            missing = MissingExtraError("the picture of a comparison", "plot")
            yield Notice(text=f"{missing}; the rest is written without it")
        for number, one in enumerate(self.plan, start=1):
            earlier = read_measured(self.folder / one.place)
            if earlier is None:
                name, total = one.variant.name, len(self.plan)
                yield VariantStarted(name=name, seed=one.seed, number=number, runs=total)
                yield from self._train(one, should_stop)
                if self.stopped:
                    return
            measured = earlier or read_measured(self.folder / one.place)
            assert measured is not None
            self._check_data(one, measured)
            yield VariantDone(
                name=one.variant.name,
                seed=one.seed,
                measured=measured,
                earlier=earlier is not None,
            )

    def write(self, name: str) -> ComparisonDone:
        """Put the variants side by side, and write it into the folder."""
        variants = [
            (runs[0].variant, [self._measured_run(one) for one in runs])
            for runs in (list(group) for _, group in groupby(self.plan, lambda one: one.variant))
        ]
        compared = Compared(
            name=name,
            budget=self._budget(),
            seeds=self.comparison.seeds,
            versions=library_versions(),
            rows=compare_rows(variants),
        )
        summary = json.dumps(compared.summary(), indent=1, ensure_ascii=False)
        write_text(self.folder / "comparison.json", summary + "\n")
        write_text(self.folder / "comparison.md", compared.markdown())
        if find_spec("matplotlib") is not None:
            draw_comparison(compared, self.folder / "comparison.png")
        return ComparisonDone(folder=self.folder, compared=compared)

    def _train(self, one: PlannedRun, should_stop: Callable[[], str]) -> Iterator[Event]:
        job = Job(
            recipe=one.recipe,
            folder=self.folder / one.place,
            minutes=one.minutes,
            device=self.device,
        )
        try:
            for event in run_job(job, should_stop=should_stop):
                self.stopped = isinstance(event, Stopped)
                yield event
        except DragomanError as error:
            raise DragomanError(f"variant {one.variant.name!r}: {error}") from error

    def _check_data(self, one: PlannedRun, measured: Measured) -> None:
        """See that a variant was trained and validated on what the first one was."""
        seen = (measured.data, measured.validation_pieces)
        first, first_seen = self.seen.setdefault(one.seed, (one.variant.name, seen))
        if seen != first_seen:
            raise ConfigError(
                f"variant {one.variant.name!r}",
                f"did not see the same pairs as {first!r}: its limit of length is another, or the "
                "text has changed",
                "set data.max_length for all variants, and give --restart",
            )

    def _measured_run(self, one: PlannedRun) -> MeasuredRun:
        folder = self.folder / one.place
        measured = read_measured(folder)
        assert measured is not None
        return MeasuredRun(measured, read_hypotheses(folder), self.tests[one.seed].references)

    def _budget(self) -> str:
        if self.comparison.minutes is not None:
            return f"{self.comparison.minutes:g} minutes of training"
        training = self.plan[0].recipe.training
        if training.epochs is not None:
            return f"{training.epochs:,} epochs"
        return f"{training.steps:,} updates"


def _check_folder(one: PlannedRun, run: RunFolder) -> None:
    """See that a folder is new or holds this very run."""
    recipe = as_trained(one.recipe)
    if run.status() == "new":
        run.check(recipe, restart=False, accept_changes=False)
        return
    changed = [
        change
        for change in differences(read_recipe(run.recipe_file), recipe)
        # The clock decides how many updates there are.
        if one.minutes is None or not change.startswith("training.steps:")
    ]
    measured = read_measured(run.path)
    if measured is not None and measured.minutes != one.minutes:
        changed.append(f"minutes: {one.minutes} was {measured.minutes}")
    if changed:
        listed = "\n".join(f"  {change}" for change in changed)
        raise CheckpointError(
            f"{run.path}: holds a run of another recipe; choose another --run, or --restart to "
            f"throw away what all variants have:\n{listed}"
        )
