"""One side of ``decode.py`` in a process of its own: loads a model once, then answers.

``python benchmarks/serve.py`` reads one job a line as JSON and writes one answer a line. The first
job names the side; the others say what to translate, and with which setting.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from process import busy_seconds, peak_bytes
from sides.decoding import LOADERS, Side, write

Table = dict[str, Any]  # Any: as JSON holds it


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is no answer
    side: Side | None = None
    for line in sys.stdin:
        job: Table = json.loads(line)
        try:
            if job["task"] == "load":
                side, found = _load(job), {}
            elif job["task"] == "write":
                found = write(job)
            elif side is None:
                raise RuntimeError("no side is loaded")
            else:
                found = TASKS[job["task"]](side, job)
            answer = {**found, "peak_bytes": peak_bytes()}
        except Exception as error:  # whatever a side does, the others go on
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), file=answers, flush=True)


def _load(job: Table) -> Side:
    if job["side"] == "ctranslate2":  # it imports both for its converters where they are there
        sys.modules["torch"] = sys.modules["transformers"] = None  # type: ignore[assignment]  # nobody loads them
    return LOADERS[job["side"]](job)


def tune(side: Side, job: Table) -> Table:
    """Warm up, then find the fastest setting."""
    sources = _sources(job)
    seconds: list[float] = []
    side.run(sources[:64], job["beam"], side.settings[0])
    for setting in side.settings:
        begin = time.perf_counter()
        side.run(sources, job["beam"], setting)
        seconds.append(time.perf_counter() - begin)
    best = side.settings[seconds.index(min(seconds))]
    return {"setting": best, "tried": list(zip(side.settings, seconds, strict=True))}


def translate(side: Side, job: Table) -> Table:
    """Translate all at once; say how long it took, and what the machine did besides."""
    sources = _sources(job)
    busy, own, begin = busy_seconds(), time.process_time(), time.perf_counter()
    found = side.run(sources, job["beam"], job["setting"])
    seconds, own = time.perf_counter() - begin, time.process_time() - own
    others = None
    if busy is not None:
        others = max(0.0, ((busy_seconds() or 0.0) - busy - own) / seconds / (os.cpu_count() or 1))
    answer: Table = {"seconds": seconds, "others": others, "sentences": len(sources)}
    return answer | ({"ids": found} if job["keep"] else {})


def latency(side: Side, job: Table) -> Table:
    """Translate one by one on one thread, after some to warm up."""
    setting = job["setting"]
    if isinstance(setting, list):  # of transformers: batch and threads
        setting = (1, 1)
    sources, seconds = _sources(job), list[float]()
    for source in [*sources[:5], *sources]:
        begin = time.perf_counter()
        side.run([source], job["beam"], setting)
        seconds.append(time.perf_counter() - begin)
    measured: Sequence[float] = seconds[5:]
    cuts = statistics.quantiles(measured, n=20, method="inclusive")
    return {"p50_ms": 1000 * statistics.median(measured), "p95_ms": 1000 * cuts[-1]}


TASKS = {"tune": tune, "translate": translate, "latency": latency}


def _sources(job: Table) -> list[list[int]]:
    """Read ids: all of a file, or so many from all parts of it."""
    rows: list[list[int]] = json.loads(Path(job["sources"]).read_text())
    most = job.get("most") or len(rows)
    return rows[:: max(1, len(rows) // most)][:most]


if __name__ == "__main__":
    main()
