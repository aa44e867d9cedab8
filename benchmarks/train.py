"""One training step of Dragoman against three other ways to take it.

    python benchmarks/train.py --threads 2 --passes 3

All sides train the same model on the same batches. Each runs in a process of its own in every pass,
one after the other, and the order turns from pass to pass. See ``benchmarks/README.md``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from report import Table, add_figures, commit, machine, markdown, today, versions

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CORPUS = ROOT.parent / "shared" / "data" / "multi30k"
SIDES = ("dragoman", "marian", "torch", "joeynmt")
PRECISIONS = ("fp32", "bf16")
COUNTS = ("passes", "batches", "warm_up", "attempts", "threads")
DISTURBED = 0.05  # share of the machine that other processes may take


def main() -> None:
    """Measure, print the table, and write the results."""
    options = _options()
    with tempfile.TemporaryDirectory() as name:
        results = _measure(options, Path(name))
    add_figures(results)
    text = markdown(results)
    print(text)
    options.results.mkdir(parents=True, exist_ok=True)
    file = options.results / f"train-{results['date']}"
    file.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
    file.with_suffix(".md").write_text(text)


def _measure(options: argparse.Namespace, folder: Path) -> Table:
    packages = [str(path.resolve()) for path in options.packages]
    common = {
        "threads": options.threads,
        "packages": packages,
        "batches": str(folder / "batches.npz"),
        "warm_up": options.warm_up,
    }
    setup = {"attention_dropout": options.attention_dropout}
    count = options.warm_up + options.batches
    prepared = _run(
        {
            **common,
            "task": "prepare",
            "text": [str(file) for file in _text(options)],
            "slots": options.slots,
            "count": count,
            "setup": setup,
        },
        folder,
    )
    if "error" in prepared:
        raise SystemExit(prepared["error"])
    common["setup"] = prepared["setup"]
    return {
        "date": today(),
        "commit": commit(ROOT),
        "machine": machine(),
        "versions": versions(packages),
        "threads": options.threads,
        "slots": options.slots,
        "warm_up": options.warm_up,
        **prepared,
        "passes": [_pass(number, options, common, folder) for number in range(options.passes)],
        "kinds": _kinds(options, common, folder),
    }


def _kinds(options: argparse.Namespace, common: Table, folder: Path) -> Table:
    """Profile Dragoman once for each precision."""
    found: Table = {}
    for side, precision in _variants(options.sides, options.precision):
        if side == "dragoman":
            setup = {**common["setup"], "precision": precision}
            job = {**common, "task": "kinds", "side": side, "setup": setup}
            found[f"{side} {precision}"] = _run(job, folder)
    return found


def _pass(number: int, options: argparse.Namespace, common: Table, folder: Path) -> Table:
    """Run every side once; each pass begins with another."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    peak = _run({**common, "task": "peak"}, folder)
    if "error" in peak:
        raise SystemExit(peak["error"])
    sides = _variants(options.sides, options.precision)
    found: Table = {}
    for side, precision in [*sides[number % len(sides) :], *sides[: number % len(sides)]]:
        name = f"{side} {precision}" if side == "dragoman" else side
        setup = {**common["setup"], "precision": precision}
        job = {**common, "task": "side", "side": side, "setup": setup}
        for attempt in range(1, options.attempts + 1):
            again = _run(job, folder)
            print(f"pass {number + 1}: {name}: {_said(again)}", file=sys.stderr)
            if attempt == 1 or "error" in again or again["others"] < found[name]["others"]:
                found[name] = again
            if (found[name].get("others") or 0.0) <= DISTURBED:
                break
    names = [f"{side} {precision}" if side == "dragoman" else side for side, precision in sides]
    return {"load": load, "peak": peak, "sides": {name: found[name] for name in names}}


def _variants(sides: Sequence[str], precisions: Sequence[str]) -> list[tuple[str, str]]:
    """Take Dragoman once for each precision; peers have one."""
    return [
        (side, precision)
        for side in sides
        for precision in (precisions if side == "dragoman" else ("fp32",))
    ]


def _run(job: Table, folder: Path) -> Table:
    """Do a job in a fresh process; what went wrong comes back as ``error``."""
    request, result = folder / "job.json", folder / "result.json"
    result.unlink(missing_ok=True)
    request.write_text(json.dumps({**job, "result": str(result)}))
    threads = str(job["threads"])
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    environment["HF_HUB_OFFLINE"] = "1"
    done = subprocess.run(
        [sys.executable, str(HERE / "child.py"), str(request)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode or not result.exists():
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return {"error": lines[-1]}
    return json.loads(result.read_text())


def _said(found: Table) -> str:
    if "error" in found:
        return found["error"]
    losses = found["losses_nats"]
    return (
        f"{found['target_tokens'] / sum(found['seconds']):,.0f} tok/s, "
        f"{found['peak_bytes'] / 2**30:.2f} GiB, loss {losses[0]:.3f} to {losses[-1]:.3f}, "
        f"others {found['others'] or 0.0:.0%}"
    )


def _text(options: argparse.Namespace) -> list[Path]:
    """Find the text: what was asked for, else Multi30k, else none, for the embedded corpus."""
    if options.source and options.target:
        return [options.source, options.target]
    files = [CORPUS / "train.de.gz", CORPUS / "train.en.gz"]
    return files if all(file.exists() for file in files) else []


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure one training step, side by side.")
    add = parser.add_argument
    add("--passes", type=int, default=3, help="how often each side runs")
    add("--batches", type=int, default=5, help="measured in each run")
    add("--warm-up", type=int, default=1, help="batches before them")
    add("--attempts", type=int, default=1, help="most runs of a side in a pass, while disturbed")
    add("--threads", type=int, default=os.cpu_count() or 1)
    add("--slots", type=int, default=4_096, help="most rows x longest row of each side")
    add("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    add("--precision", nargs="+", choices=PRECISIONS, default=["fp32"], help="of Dragoman")
    add("--attention-dropout", type=float, default=0.0, help="on all sides")
    add("--source", type=Path, help="text, one sentence a line, may be .gz")
    add("--target", type=Path, help="its translation")
    add("--packages", type=Path, nargs="+", default=[], help="folders of further packages")
    add("--results", type=Path, default=HERE / "results", help="folder of the results")
    options = parser.parse_args()
    if (options.source is None) != (options.target is None):
        parser.error("give --source and --target, or neither")
    if min(getattr(options, name) for name in COUNTS) < 1:
        parser.error(f"{', '.join(COUNTS)}: must be at least 1")
    return options


if __name__ == "__main__":
    main()
