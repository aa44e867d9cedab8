"""What ``dragoman plan`` says against what runs here: memory and time of whole updates.

    python benchmarks/plan.py --threads 1

Each case runs in fresh processes: one trains on whole batches, writes a checkpoint, averages
checkpoints, and says what memory it took at each; one plans, times a few updates on small batches,
as ``plan --measure`` does, and then whole ones, in turn. See ``benchmarks/README.md``.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from process import peak_bytes, resident_bytes
from report import Table, commit, machine, machine_line, today, versions

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TASKS = ("memory", "time")
MEMORY, TIME = 0.15, 0.25  # how far a plan may be off


@dataclass(frozen=True)
class Case:
    """A model, the size of its batches, and how it trains."""

    name: str
    model: Table
    slots: int
    precision: str = "fp32"
    length: int = 32
    vocabulary: int = 8_000
    training: Table = field(default_factory=dict)
    data: Table = field(default_factory=lambda: {"train": {"source": "unread", "target": "unread"}})


SHAPES = ((1, 1), (0.9, 0.5), (1, 0.75), (0.8, 0.25), (1, 1))  # of a whole batch: places, length
TINY = {"layers": 2, "d_model": 128, "heads": 4, "d_ff": 512}
SMALL = {"layers": 3, "d_model": 256, "heads": 4, "d_ff": 1024}
LARGE = {"layers": 4, "d_model": 512, "heads": 8, "d_ff": 2048}
TEXT = {"train": {"text": "unread"}, "context": 64}
ADAFACTOR = {"optimizer": {"kind": "adafactor"}}
CASES = (
    Case("width 128, 2+2 layers", TINY, 2_048),
    Case("width 128, 2+2 layers, 2 batches an update", TINY, 4_096, training={"accumulate": 2}),
    Case("width 256, 3+3 layers", SMALL, 2_048),
    Case("width 256, 3+3 layers", SMALL, 4_096, "bf16"),
    Case("width 256, 3+3 layers, rows of 64", SMALL, 4_096, length=64),
    Case("width 256, 3+3 layers, Adafactor", SMALL, 2_048, training=ADAFACTOR),
    Case("width 256, 3+3 layers, no table shared", {**SMALL, "tied": "none"}, 2_048),
    Case("width 512, 4+4 layers", LARGE, 1_024),
    Case("width 512, 4+4 layers", LARGE, 2_048, "bf16"),
    Case("recurrent, width 256", {"architecture": "recurrent", "d_model": 256}, 2_048),
    Case("convolutional, width 256", {"architecture": "convolutional", "d_model": 256}, 2_048),
    Case("decoder alone, width 256", {**SMALL, "architecture": "decoder-only"}, 2_048, data=TEXT),
    Case("encoder alone, width 256", {**SMALL, "architecture": "encoder-only"}, 2_048, data=TEXT),
    Case("base, 37,000 pieces", {"preset": "base"}, 2_048, vocabulary=37_000),
)


def main() -> None:
    """Run every case, print the table and write the results."""
    options = _options()
    if options.job:
        return _child(json.loads(options.job.read_text()))
    if options.cases:
        cases = _read(options.cases)
    else:
        cases = [_case(case, options) for case in CASES if options.only in case.name]
    results: Table = {
        "date": today(),
        "commit": commit(ROOT),
        "machine": machine(),
        "versions": versions([]),
        "threads": options.threads,
        "cases": cases,
    }
    if not options.cases and set(options.tasks) != set(TASKS):
        return None  # the cases were printed
    text = _markdown(results)
    print(text)
    if options.results:
        file = options.results / f"plan-{results['date']}"
        file.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
        file.with_suffix(".md").write_text(text)
    return None


def _case(case: Case, options: argparse.Namespace) -> Table:
    found: Table = {"name": case.name, "slots": case.slots, "precision": case.precision}
    for task in options.tasks:
        with tempfile.TemporaryDirectory() as name:
            job, result = Path(name) / "job.json", Path(name) / "result.json"
            table = {"case": case.__dict__, "task": task, "threads": options.threads}
            job.write_text(json.dumps({**table, "rounds": options.rounds, "result": str(result)}))
            environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
            command = [sys.executable, str(Path(__file__).resolve()), "--job", str(job)]
            subprocess.run(command, env=environment, check=True)
            found |= json.loads(result.read_text())
    print(json.dumps(found), flush=True)
    return found


def _read(file: Path) -> list[Table]:
    """Join what was printed of cases before, memory and time, the latest of each."""
    found: dict[tuple[Any, ...], Table] = {}
    for line in file.read_text().splitlines():
        if line.startswith("{"):
            case = json.loads(line)
            found.setdefault(tuple(case[key] for key in ("name", "precision", "slots")), {}).update(
                case
            )
    return list(found.values())


def _child(job: Table) -> None:
    import torch

    from dragoman.recipe import parse_recipe

    case = Case(**job["case"])
    torch.set_num_threads(job["threads"])
    recipe = parse_recipe(
        {
            "data": case.data,
            "tokenizer": {"size": case.vocabulary},
            "model": case.model,
            "training": {
                "batch_tokens": case.slots,
                "precision": case.precision,
                **case.training,
            },
        }
    )
    work = _memory if job["task"] == "memory" else _time
    Path(job["result"]).write_text(json.dumps(work(case, recipe, job)))


def _memory(case: Case, recipe: Any, job: Table) -> Table:
    """Train, save, train, save and average; take note of the most memory so far after each.

    Batches are of several shapes, as those of a corpus, since an allocator keeps more then.
    """
    from dragoman.atomic import remove_folder
    from dragoman.run.example_batch import example_batch, planned_config
    from dragoman.run.plan import UpdatesHere, plan
    from dragoman.training import Progress, average_checkpoints, save_checkpoint

    config = planned_config(recipe)
    batches = [
        example_batch(
            recipe, config, slots=round(full * case.slots), length=round(long * case.length)
        )
        for full, long in SHAPES
    ]
    here = UpdatesHere(recipe)
    here.train(batches, accumulate=recipe.training.accumulate)
    peaks, stays = {"update": peak_bytes()}, resident_bytes()
    with tempfile.TemporaryDirectory() as name:
        path = save_checkpoint(Path(name), here.weights, Progress())
        remove_folder(path)
        here.train(batches, accumulate=recipe.training.accumulate)
        path = save_checkpoint(Path(name), here.weights, Progress())
        peaks["saving"] = peak_bytes()
        copies = [Path(name) / f"step-{number:08d}" for number in range(1, 6)]
        for copy in copies:
            shutil.copytree(path, copy)
        average_checkpoints(copies)
        peaks["averaging"] = peak_bytes()
    (planned,) = plan(recipe, [f"cpu:{job['threads']}"], length=case.length).plans
    return {"memory": peaks, "stays": stays, "planned_memory": planned.phases}


def _time(case: Case, recipe: Any, job: Table) -> Table:
    """Plan, measure small batches and whole ones, in turn, as machines are not always as fast."""
    from dragoman.run.example_batch import example_batch, planned_config
    from dragoman.run.plan import UpdatesHere, plan

    whole = example_batch(recipe, planned_config(recipe), slots=case.slots, length=case.length)
    here, rounds = UpdatesHere(recipe), list[Table]()
    for _ in range(job["rounds"]):
        (planned,) = plan(recipe, [f"cpu:{job['threads']}"], length=case.length).plans
        small = here.measure(slots=case.slots, length=case.length)
        rounds.append(
            {
                "reckoned": planned.time.total,
                "expected": small.update_seconds,
                "seconds": here.seconds(whole, accumulate=recipe.training.accumulate),
            }
        )
    median = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    return {**median, "rounds": rounds}


def _markdown(results: Table) -> str:
    lines = [
        f"# Plans against updates, {results['date']}",
        "",
        machine_line(results),
        "",
        "Random text without padding; source and target as long as each other. *Memory*: the most "
        "that the process held, libraries included, in updates, then while a checkpoint was "
        "written and 5 were averaged, against the plan for the whole. *Update*: whole updates. "
        "*Reckoned*: by the plan alone, from products and copies timed in a second. *Expected*: by "
        "`plan --measure`, from updates of a quarter and a half of the batch, of 512 and 1,024 "
        "places at most. Medians of rounds in turn.",
        "",
        "| model | format | places | memory: updates | saved, averaged | planned | off | update | "
        "reckoned | off | expected | off |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in results["cases"]:
        most, planned = case["memory"]["averaging"], max(case["planned_memory"].values())
        seconds, reckoned, expected = (case[key] for key in ("seconds", "reckoned", "expected"))
        cells = [
            case["name"],
            case["precision"],
            f"{case['slots']:,}",
            _mib(case["memory"]["update"]),
            _mib(most),
            _mib(planned),
            _off(planned, most),
            f"{seconds:.3f} s",
            f"{reckoned:.3f} s",
            _off(reckoned, seconds),
            f"{expected:.3f} s",
            _off(expected, seconds),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_farthest(results["cases"])]) + "\n"


def _farthest(cases: Sequence[Table]) -> list[str]:
    """Say how far plans were off at most."""
    memory = [abs(max(c["planned_memory"].values()) / c["memory"]["averaging"] - 1) for c in cases]
    times = {
        name: [abs(case[name] / case["seconds"] - 1) for case in cases]
        for name in ("reckoned", "expected")
    }
    return [
        f"Farthest off: memory {max(memory):.0%} (wanted: {MEMORY:.0%} at most), time with "
        f"`--measure` {max(times['expected']):.0%} (wanted: {TIME:.0%} at most), without "
        f"{max(times['reckoned']):.0%}."
    ]


def _mib(size: float) -> str:
    return f"{size / 2**20:,.0f} MiB"


def _off(planned: float, real: float) -> str:
    return f"{planned / real - 1:+.0%}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Hold plans against what runs here.")
    add = parser.add_argument
    add("--threads", type=int, default=1)
    add("--rounds", type=int, default=2, help="of small and whole batches in turn")
    add("--tasks", nargs="+", choices=TASKS, default=TASKS, help="a table needs both")
    add("--only", default="", help="cases whose name holds this")
    add(
        "--cases", type=Path, help="lines printed by earlier runs, to make a table of, running none"
    )
    add("--results", type=Path, help="folder of the results; none are written unless given")
    add("--job", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
