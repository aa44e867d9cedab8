"""What the benchmark runs in fresh processes: prepare batches, measure the peak, train one side.

``python benchmarks/child.py JOB.json`` reads what to do and writes what it found to the file the
job names. Only here is PyTorch loaded, so the parent's memory is not part of any figure.
"""

import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from process import busy_seconds, peak_bytes
from workload import PlainBatch, Setup, as_table, read_batches, useful_flop, write_batches

Table = dict[str, Any]  # Any: as JSON holds it
MODULES = {
    "dragoman": "sides.dragoman_side",
    "marian": "peers.marian",
    "torch": "peers.torch_transformer",
    "joeynmt": "peers.joey",
}
FARTHEST = 0.5  # nats between the first loss and that of a uniform guess
SLOWEST = 10  # times as long as in float32 may a product take; a step would take many minutes
ENOUGH = 10.0  # seconds of products of one kind


def main() -> None:
    """Do the job."""
    job: Table = json.loads(Path(sys.argv[1]).read_text())
    sys.path += job.get("packages", [])  # last, so that they replace nothing
    torch.set_num_threads(job["threads"])
    tasks = {"prepare": prepare, "peak": peak, "side": side, "kinds": kinds}
    if job["task"] in ("side", "kinds") and job["setup"]["precision"] == "bf16":
        _check_speed()
    found = tasks[job["task"]](job)
    Path(job["result"]).write_text(json.dumps(found))


def prepare(job: Table) -> Table:
    """Write the batches that every side trains on."""
    from sides.dragoman_side import prepare, recipe_of

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [Path(file) for file in job["text"]] or _sample(folder)
        setup = Setup(**job["setup"])
        recipe = recipe_of(setup, *files, slots=job["slots"])
        batches, padding, vocabulary = prepare(
            recipe, folder / "run", count=job["count"], least=0.9
        )
    plain = [PlainBatch(batch.source, batch.target_in, batch.target_out) for batch in batches]
    write_batches(Path(job["batches"]), plain)
    return {
        "setup": as_table(setup) | {"vocabulary": vocabulary},
        "text": [file.name for file in files],
        "batches": [batch.counts for batch in plain],
        "epoch_padding": padding,
    }


def peak(job: Table) -> Table:
    """Multiply two 2048 x 2048 matrices; the best of 12, or of fewer that take long, in FLOP/s.

    Float32 both as PyTorch does unless told otherwise, and through oneDNN (``medium``).
    """
    size, best = 2_048, Table()
    for name, dtype, products in (
        ("fp32", torch.float32, "highest"),
        ("fp32 through oneDNN", torch.float32, "medium"),
        ("bf16", torch.bfloat16, "highest"),
    ):
        torch.set_float32_matmul_precision(products)
        best[name] = 2 * size**3 / _fastest(dtype, size, 12)
    return best


def _fastest(dtype: torch.dtype, size: int, times: int) -> float:
    """Time products; give the seconds of the fastest."""
    a, b = torch.rand(size, size).to(dtype), torch.rand(size, size).to(dtype)
    seconds: list[float] = []
    while len(seconds) < times and sum(seconds) < ENOUGH:
        start = time.perf_counter()
        torch.mm(a, b)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _check_speed() -> None:
    """See that this processor does not multiply bf16 far slower than float32."""
    whole, half = (_fastest(dtype, 512, 4) for dtype in (torch.float32, torch.bfloat16))
    if half > SLOWEST * whole:
        raise SystemExit(f"this processor takes {half / whole:.0f} times as long as in fp32")


def side(job: Table) -> Table:
    """Train one side; time all batches but the first ones."""
    setup = Setup(**job["setup"])
    batches, warm_up = list(read_batches(Path(job["batches"]))), job["warm_up"]
    steps: Iterator[float] = import_module(MODULES[job["side"]]).train(setup, batches)
    losses, seconds, others = _timed(steps, warm_up)
    if len(losses) != len(batches):
        raise SystemExit(f"{len(losses)} updates instead of {len(batches)}")
    _check(losses, setup)
    return {
        "target_tokens": sum(batch.target_tokens for batch in batches[warm_up:]),
        "flop": sum(useful_flop(setup, batch) for batch in batches[warm_up:]),
        "seconds": seconds[warm_up:],
        "others": others,
        "losses_nats": losses,
        "peak_bytes": peak_bytes(),
    }


def kinds(job: Table) -> Table:
    """Train one side under a profiler; say what kinds of work take the time."""
    from kinds import kinds_of

    batches = list(read_batches(Path(job["batches"])))
    steps: Iterator[float] = import_module(MODULES[job["side"]]).train(
        Setup(**job["setup"]), batches
    )
    return kinds_of(steps, job["warm_up"])


def _timed(steps: Iterator[float], warm_up: int) -> tuple[list[float], list[float], float | None]:
    """Take all steps.

    Returns:
        The loss and the seconds of each, and the share of the machine that other processes took
        after the first ``warm_up``; None where that cannot be known.
    """
    losses: list[float] = []
    seconds: list[float] = []
    start = time.perf_counter()
    busy, own = busy_seconds(), time.process_time()
    for loss in steps:
        now = time.perf_counter()
        losses.append(loss)
        seconds.append(now - start)
        if len(losses) == warm_up:
            busy, own = busy_seconds(), time.process_time()
        start = time.perf_counter()
    own = time.process_time() - own
    if busy is None:
        return losses, seconds, None
    others = (busy_seconds() or 0.0) - busy - own
    whole = sum(seconds[warm_up:]) * (os.cpu_count() or 1)
    return losses, seconds, max(0.0, others / whole)


def _check(losses: Sequence[float], setup: Setup) -> None:
    """See that a side knows nothing at first, and learns: it has neither cheated nor idled."""
    uniform = math.log(setup.vocabulary)
    if abs(losses[0] - uniform) > FARTHEST:
        raise SystemExit(f"the first loss is {losses[0]:.3f} nats, not near ln V = {uniform:.3f}")
    if not losses[-1] < losses[0]:
        raise SystemExit(f"the loss does not fall: {losses[0]:.3f} to {losses[-1]:.3f} nats")


def _sample(folder: Path) -> list[Path]:
    """Write the embedded corpus to two files."""
    from dragoman.data import sample_corpus

    pairs, files = sample_corpus().train, [folder / "sample.de", folder / "sample.en"]
    for number, file in enumerate(files):
        file.write_text("".join(f"{pair[number]}\n" for pair in pairs), encoding="utf-8")
    return files


if __name__ == "__main__":
    main()
