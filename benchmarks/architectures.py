r"""What an update costs in each architecture of a comparison, and how good each is after it.

    python benchmarks/architectures.py speed recipes/compare-table2.toml --results speed.json
    python benchmarks/architectures.py curve recipes/compare-table2.toml runs/compare-table2 \
        --speed speed.json --results curve.json

``speed`` makes updates of all variants in turn in one process, on the same batches of real text.
``curve`` averages the checkpoints of the finished comparison at several points of each run and
translates the test set with them: after equal times, as ``speed`` measured them, and after equal
updates. See ``benchmarks/README.md``.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from architecture_side import Side
from report import Table, commit, machine, today, versions

from dragoman.evaluation import corpus_score
from dragoman.recipe import Recipe
from dragoman.run import average
from dragoman.run.comparison.file import PlannedRun, plan_runs, read_comparison
from dragoman.run.comparison.sentences import Sentences, read_test
from dragoman.run.tasks import prepare_task
from dragoman.training import checkpoint_step, regular_checkpoints
from dragoman.translator import Translator, one_line

ROOT = Path(__file__).resolve().parent.parent
POINTS = 3  # of a curve


def speed(options: argparse.Namespace) -> Table:
    """Measure all variants in turn; the one that begins turns too."""
    with tempfile.TemporaryDirectory() as folder:
        sides = [
            Side(one.variant.name, one.recipe, prepare_task(one.recipe, Path(folder)))
            for one in first_seed(options.comparison)
        ]
        for side in sides:
            side.go(2)  # memory is taken
            side.choose_kernels()
            side.forget()
        for number in range(options.rounds):
            first = number % len(sides)
            for side in [*sides[first:], *sides[:first]]:
                side.go(options.updates)
            print(number + 1, *(f"{side.name} {side.busy[-1]:,.0f}" for side in sides), flush=True)
        rows = [{**speeds_of(side), "by_length": side.by_length(options.slots)} for side in sides]
    return {
        "threads": torch.get_num_threads(),
        "updates_a_round": options.updates,
        "slots_by_length": options.slots,
        "variants": rows,
    }


def speeds_of(side: Side) -> Table:
    """Say what was measured of one variant."""
    return {
        "name": side.name,
        "parameters": sum(weight.numel() for weight in side.here.model.parameters()),
        "kernels": asdict(side.here.kernels),
        "pieces_per_second": statistics.median(side.speeds),
        "range": [min(side.speeds), max(side.speeds)],
        "pieces_per_busy_second": statistics.median(side.busy),
        "busy_range": [min(side.busy), max(side.busy)],
        "updates_per_busy_second": statistics.median(side.updates),
        "rounds": side.speeds,
    }


def first_seed(file: Path) -> list[PlannedRun]:
    """Resolve the variants of a comparison, each once."""
    plan = plan_runs(read_comparison(file), file)
    return [one for one in plan if one.seed == plan[0].seed]


def budgets(speeds: Sequence[float], updates: int, points: int) -> list[float]:
    """Give equal times, in seconds, up to that in which the fastest makes all updates.

    Args:
        speeds: updates a second, of each variant.
        updates: made by every variant.
        points: how many times; the first is the last divided by it.
    """
    longest = updates / max(speeds)
    return [longest * number / points for number in range(1, points + 1)]


def points_of(run: PlannedRun, speed: float, seconds: Sequence[float], updates: int) -> list[Table]:
    """Say where to look at a run: what it had made after each time, and at the end.

    Updates are rounded down to a checkpoint.
    """
    every = run.recipe.training.checkpoint_every
    found: list[Table] = [
        {"seconds": time, "updates": max(every, int(time * speed + 1e-6) // every * every)}
        for time in seconds
    ]
    return [*found, {"seconds": None, "updates": updates}]


def translated(run: Path, recipe: Recipe, updates: int, test: Sentences) -> Table:
    """Average the last checkpoints until an update and translate the test set with them."""
    every = recipe.training.checkpoint_every
    known = [
        path
        for path in regular_checkpoints(run / "checkpoints", every=every)
        if checkpoint_step(path) <= updates
    ]
    with tempfile.TemporaryDirectory() as folder:
        average(known[-recipe.training.average_last :], Path(folder) / "model")
        translator = Translator.load(Path(folder) / "model", device="cpu", engine="torch")
        found = translator.translate(test.sources, **asdict(recipe.decoding))
    score = corpus_score("bleu", [one_line(each.text) for each in found], test.references)
    return {"bleu": score.value, "signature": score.signature}


def curve(options: argparse.Namespace) -> Table:
    """Translate with every variant at every point."""
    measured = json.loads(options.speed.read_text(encoding="utf-8"))
    speeds = {row["name"]: row["updates_per_busy_second"] for row in measured["variants"]}
    rows: list[Table] = kept_rows(options.results, options.only)
    for one in first_seed(options.comparison):
        if options.only and one.variant.name not in options.only:
            continue
        name, recipe = one.variant.name, one.recipe
        updates = recipe.training.last_step(1)
        seconds = budgets(list(speeds.values()), updates, options.points)
        known: dict[int, Table] = {}
        points = points_of(one, speeds[name], seconds, updates)
        for point in points:
            if point["updates"] not in known:
                test = read_test(recipe)
                known[point["updates"]] = translated(
                    options.run / one.place, recipe, point["updates"], test
                )
            point.update(known[point["updates"]])
            print(name, point["seconds"], point["updates"], f"{point['bleu']:.2f}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            side = Side(name, recipe, prepare_task(recipe, Path(folder)))
        row = {"name": name, "seed": one.seed, **side.counted(), "chains": side.chains()}
        rows.append({**row, "points": points})
    return {"speeds": options.speed.name, "variants": rows}


def kept_rows(file: Path, only: Sequence[str]) -> list[Table]:
    """Give what a file says of variants that are not looked at again: of none, unless some are."""
    if not only or not file.exists():
        return []
    rows = json.loads(file.read_text(encoding="utf-8"))["variants"]
    return [row for row in rows if row["name"] not in only]


def main() -> None:
    """Run one of the two and write what it found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    first = commands.add_parser("speed", help="of updates, in turn")
    first.add_argument("comparison", type=Path, help="file of dragoman compare")
    first.add_argument("--rounds", type=int, default=8)
    first.add_argument("--updates", type=int, default=3, help="in a round, of each variant")
    first.add_argument("--slots", type=int, default=2_048, help="of batches by length")
    first.set_defaults(work=speed)
    second = commands.add_parser("curve", help="BLEU at points of finished runs")
    second.add_argument("comparison", type=Path, help="file of dragoman compare")
    second.add_argument("run", type=Path, help="its folder")
    second.add_argument("--speed", type=Path, required=True, help="what ``speed`` wrote")
    second.add_argument("--points", type=int, default=POINTS)
    second.add_argument("--only", nargs="+", default=[], help="variants; others stay as they are")
    second.set_defaults(work=curve)
    for command in (first, second):
        command.add_argument("--results", type=Path, required=True, help="file to write")
    options = parser.parse_args()
    head = {"date": today(), "commit": commit(ROOT), "machine": machine(), "versions": versions([])}
    results = {**head, **options.work(options)}
    options.results.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
