"""What ``dragoman plan`` says against what runs here: memory and time of whole updates.

    python benchmarks/plan.py --threads 1

Each case runs in fresh processes: one trains on whole batches and says what memory it took, one
times a few updates on small batches, as ``plan --measure`` does, and then whole ones, in turn. See
``benchmarks/README.md``.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from process import peak_bytes
from report import Table, commit, machine, machine_line, today, versions

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MEMORY, TIME = 0.15, 0.25  # how far a plan may be off


@dataclass(frozen=True)
class Case:
    """A model and the size of its batches."""

    name: str
    model: Table
    slots: int
    precision: str = "fp32"
    length: int = 32
    vocabulary: int = 8_000


SMALL = {"layers": 3, "d_model": 256, "heads": 4, "d_ff": 1024}
CASES = (
    Case("width 128, 2+2 layers", {"layers": 2, "d_model": 128, "heads": 4, "d_ff": 512}, 2_048),
    Case("width 128, 2+2 layers", {"layers": 2, "d_model": 128, "heads": 4, "d_ff": 512}, 8_192),
    Case("width 256, 3+3 layers", SMALL, 2_048),
    Case("width 256, 3+3 layers", SMALL, 4_096),
    Case("width 256, 3+3 layers, rows of 64", SMALL, 4_096, length=64),
    Case("width 256, 3+3 layers", SMALL, 4_096, "bf16"),
    Case("base, 37,000 pieces", {"preset": "base"}, 2_048, vocabulary=37_000),
)


def main() -> None:
    """Run every case, print the table and write the results."""
    options = _options()
    if options.job:
        return _child(json.loads(options.job.read_text()))
    cases = [_case(case, options) for case in CASES if options.only in case.name]
    results: Table = {
        "date": today(),
        "commit": commit(ROOT),
        "machine": machine(),
        "versions": versions([]),
        "threads": options.threads,
        "cases": cases,
    }
    text = _markdown(results)
    print(text)
    if options.results:
        file = options.results / f"plan-{results['date']}"
        file.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
        file.with_suffix(".md").write_text(text)
    return None


def _case(case: Case, options: argparse.Namespace) -> Table:
    found: Table = {"name": case.name, "slots": case.slots, "precision": case.precision}
    for task in ("memory", "time"):
        with tempfile.TemporaryDirectory() as name:
            job, result = Path(name) / "job.json", Path(name) / "result.json"
            table = {"case": case.__dict__, "task": task, "threads": options.threads}
            job.write_text(json.dumps({**table, "rounds": options.rounds, "result": str(result)}))
            environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
            command = [sys.executable, str(Path(__file__).resolve()), "--job", str(job)]
            subprocess.run(command, env=environment, check=True)
            found |= json.loads(result.read_text())
    print(json.dumps(found), file=sys.stderr, flush=True)
    return found


def _child(job: Table) -> None:
    import torch

    from dragoman.recipe import parse_recipe
    from dragoman.run.example_batch import example_batch, planned_config
    from dragoman.run.plan import UpdatesHere, plan

    case = Case(**job["case"])
    torch.set_num_threads(job["threads"])
    recipe = parse_recipe(
        {
            "data": {"train": {"source": "unread", "target": "unread"}},
            "tokenizer": {"size": case.vocabulary},
            "model": case.model,
            "training": {"batch_tokens": case.slots, "precision": case.precision},
        }
    )
    hardware = [f"cpu:{job['threads']}"]
    config = planned_config(recipe)
    whole = example_batch(recipe, config, slots=case.slots, length=case.length)
    if job["task"] == "memory":
        UpdatesHere(recipe).seconds(whole)
        taken = peak_bytes()
        (planned,) = plan(recipe, hardware, length=case.length).plans
        found: dict[str, Any] = {"memory": taken, "planned_memory": planned.taken}
    else:
        report = plan(recipe, hardware, length=case.length)
        here = UpdatesHere(recipe)
        measured, seconds = list[float](), list[float]()
        for _ in range(job["rounds"]):  # in turn, as the machine is not always as fast
            measured.append(here.measure(slots=case.slots, length=case.length).update_seconds)
            seconds.append(here.seconds(whole))
            time.sleep(0.1)
        found = {
            "seconds": statistics.median(seconds),
            "planned_seconds": statistics.median(measured),
            "by_table_seconds": report.plans[0].time.total,
            "rounds": [measured, seconds],
        }
    Path(job["result"]).write_text(json.dumps(found))


def _markdown(results: Table) -> str:
    lines = [
        f"# Plans against updates, {results['date']}",
        "",
        machine_line(results),
        "",
        "Random text without padding; source and target as long as each other. *Memory*: the peak "
        "of the process, libraries included, against the plan for a processor. "
        "*Update*: whole updates, against those that `plan --measure` expects from batches of an "
        "eighth and a quarter of the size; the median of rounds in turn. *By table*: what the "
        "table of devices says without measuring.",
        "",
        "| model | format | slots | memory | planned | off | update | planned | off | by table |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in results["cases"]:
        memory, planned = case["memory"] / 2**20, case["planned_memory"] / 2**20
        seconds, expected = case["seconds"], case["planned_seconds"]
        lines.append(
            f"| {case['name']} | {case['precision']} | {case['slots']:,} | {memory:,.0f} MiB | "
            f"{planned:,.0f} MiB | {planned / memory - 1:+.0%} | {seconds:.3f} s | "
            f"{expected:.3f} s | {expected / seconds - 1:+.0%} | {case['by_table_seconds']:.3f} s |"
        )
    off = [abs(c["planned_memory"] / c["memory"] - 1) for c in results["cases"]]
    late = [abs(c["planned_seconds"] / c["seconds"] - 1) for c in results["cases"]]
    lines += ["", f"Farthest off: memory {max(off):.0%} (wanted: {MEMORY:.0%} at most), "]
    lines[-1] += f"time {max(late):.0%} (wanted: {TIME:.0%} at most)."
    return "\n".join(lines) + "\n"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Hold plans against what runs here.")
    add = parser.add_argument
    add("--threads", type=int, default=1)
    add("--rounds", type=int, default=3, help="of small and whole batches in turn")
    add("--only", default="", help="cases whose name holds this")
    add("--results", type=Path, help="folder of the results; none are written unless given")
    add("--job", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
