"""Preparing a large corpus: how fast, with how much memory, and what it costs afterwards.

    python benchmarks/prepare.py --pairs 10000000 --passes 3

Makes the corpus itself, in ``--work``. Measures in fresh processes, by the wall clock:

- *library*: the ``tokenizers`` library encodes lines that are in memory already, all its threads at
  work; nothing is read, written or kept.
- *dragoman*: two text files become ids on disk; reading, checking for blanks, encoding, the rule
  for long pairs, writing and the digest of what was written are all counted.
- *reuse*: from opening the prepared ids to the first batch.
- *training*: the most memory a process holds that makes some updates, on all pairs and on few.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.report import commit, machine, versions  # noqa: E402  # after the path

Table = dict[str, Any]  # Any: as JSON holds it
WORDS = 200_000  # made-up words; their frequencies fall as in real text (Zipf)
LEARNED = 200_000  # pairs that the vocabulary is learnt from
FEW = 10_000  # pairs of the small corpus
BATCH = 10_000  # lines that the library is given at once


def main() -> None:
    """Measure, print, write the results."""
    options = _options()
    if options.child:
        print(json.dumps(CHILDREN[options.child](options)))
        return
    options.work.mkdir(parents=True, exist_ok=True)
    make_corpus(options.work / "many", options.pairs)
    make_corpus(options.work / "some", min(options.pairs, options.pass_pairs))
    make_corpus(options.work / "few", min(options.pairs, FEW))
    _learn(options.work)
    results: Table = {
        "date": date.today().isoformat(),
        "commit": commit(ROOT),
        "machine": machine(),
        "versions": versions([]),
        "command": "python benchmarks/prepare.py " + " ".join(sys.argv[1:]),
        "pairs": options.pairs,
        "pass_pairs": options.pass_pairs,
        "bytes": _size(options.work / "many"),
        "passes": [],
    }
    for number in range(options.passes):
        sides = ["library", "dragoman"][:: -1 if number % 2 else 1]
        found = {side: _child(options, side, "some", fresh=number) for side in sides}
        results["passes"].append(found)
        print(f"pass {number + 1}: {_ratio(found):.2f}", file=sys.stderr)
    for name in ("library", "dragoman", "reuse"):
        results[name] = _child(options, name, "many", fresh=0)
    for name in ("many", "few"):
        results[f"training {name}"] = _child(options, "training", name, fresh=0)
    text = markdown(results)
    print(text)
    if options.results:
        stem = options.results / f"prepare-{results['date']}"
        stem.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
        stem.with_suffix(".md").write_text(text + "\n")


def markdown(results: Table) -> str:
    """Write the results for a reader."""
    ratios = [_ratio(each) for each in results["passes"]]
    megabytes = results["bytes"] / 1e6
    many, few = results["training many"]["peak_mib"], results["training few"]["peak_mib"]
    whole, reuse = results["dragoman"], results["reuse"]
    lines = [
        f"# Preparing {results['pairs']:,} pairs ({megabytes:,.0f} MB), {results['date']}",
        f"{results['machine']['processor']}, {results['machine']['cores']} cores, "
        f"commit {results['commit']}, "
        + ", ".join(f"{name} {version}" for name, version in results["versions"].items())
        + ".",
        f"`{results['command']}`",
        "| | |\n|---|---|",
        f"| the library alone, {len(ratios)} passes of {results['pass_pairs']:,} pairs | "
        + _rates(results, "library")
        + " MB/s |",
        "| Dragoman, the same | " + _rates(results, "dragoman") + " MB/s |",
        f"| ratio, pass by pass | {min(ratios):.2f}-{max(ratios):.2f}, "
        f"median {float(np.median(ratios)):.2f} |",
        f"| all pairs: the library alone | {results['library']['rate']:.1f} MB/s |",
        f"| all pairs: Dragoman | {whole['rate']:.1f} MB/s, {whole['seconds']:.0f} s, "
        f"{_ratio(results):.2f} of the library |",
        f"| most memory while preparing, all processes together | {whole['peak_mib']:,.0f} MiB |",
        f"| ids on disk | {whole['disk_mb']:,.0f} MB |",
        f"| first batch, ids prepared before | {reuse['seconds']:.2f} s "
        f"(and {reuse['import_seconds']:.1f} s to import PyTorch and Dragoman) |",
        f"| most memory in training | {many:,.0f} MiB; with {FEW:,} pairs {few:,.0f} MiB "
        f"({many / few - 1:+.1%}) |",
    ]
    return "\n\n".join(lines[:3]) + "\n\n" + "\n".join(lines[3:])


def make_corpus(stem: Path, pairs: int) -> None:
    """Write two files of made-up sentences, the same each time, unless they are there."""
    done = stem.with_suffix(".done")
    if done.exists() and done.read_text() == str(pairs):
        return
    rng = np.random.default_rng(1)
    sides = [
        _words(rng, alphabet)
        for alphabet in ("abcdefghijklmnoprstuvwz", "aäbdeéfghiklmnoöprsßtuüvwz")
    ]
    frequencies = 1 / np.arange(10, WORDS + 10)
    edges = np.cumsum(frequencies / frequencies.sum())
    with (
        stem.with_suffix(".source").open("w", encoding="utf-8", newline="\n") as source,
        stem.with_suffix(".target").open("w", encoding="utf-8", newline="\n") as target,
    ):
        for start in range(0, pairs, 100_000):
            count = min(100_000, pairs - start)
            lengths = np.clip(rng.lognormal(2.0, 0.45, count).astype(np.int64), 1, 60)
            ids = np.searchsorted(edges, rng.random(int(lengths.sum()))).clip(max=WORDS - 1)
            ends = np.cumsum(lengths).tolist()
            rows = ids.tolist()
            for begin, end in zip([0, *ends[:-1]], ends, strict=True):
                row = rows[begin:end]
                source.write(" ".join([sides[0][number] for number in row]) + ".\n")
                target.write(" ".join([sides[1][number] for number in reversed(row)]) + ".\n")
    done.write_text(str(pairs))


def _words(rng: np.random.Generator, alphabet: str) -> list[str]:
    """Make up words: frequent ones short, rare ones long, some with a capital or a comma."""
    letters = np.array(list(alphabet))
    found: dict[str, None] = {}
    while len(found) < WORDS:
        rank = len(found)
        size = int(2 + np.log10(rank + 1) * 1.2 + rng.integers(0, 4))
        word = "".join(letters[rng.integers(0, len(letters), size)])
        if rng.random() < 0.1:
            word = word.capitalize()
        found[word + ("," if rng.random() < 0.05 else "")] = None
    return list(found)


def _learn(work: Path) -> None:
    """Learn one vocabulary for all corpora, unless it is there."""
    from dragoman.tokenization import TokenizerConfig, learn_tokenizers

    if not (work / "tokenizer.json").exists():
        sides = [
            list(islice(_lines(work / "many", side), LEARNED)) for side in ("source", "target")
        ]
        tokenizer, _ = learn_tokenizers(*sides, TokenizerConfig(size=32_000))
        tokenizer.save(work / "tokenizer.json")


def _library(options: argparse.Namespace) -> Table:
    """Encode with the library alone."""
    import tokenizers

    backend = tokenizers.Tokenizer.from_file(str(options.work / "tokenizer.json"))
    stem, seconds, size = options.work / options.corpus, 0.0, 0
    for side in ("source", "target"):
        lines = _lines(stem, side)
        while block := list(islice(lines, 100 * BATCH)):  # memory for the lines is not counted
            batches = [block[start : start + BATCH] for start in range(0, len(block), BATCH)]
            begin = time.perf_counter()
            for batch in batches:
                backend.encode_batch_fast(batch, add_special_tokens=False)
            seconds += time.perf_counter() - begin
            size += sum(len(line.encode()) + 1 for line in block)
    return {"seconds": seconds, "rate": size / 1e6 / seconds}


def _dragoman(options: argparse.Namespace) -> Table:
    """Prepare as a run does before it trains."""
    from dragoman.run.tasks.pairs import read_all_pairs

    recipe, folder = _recipe(options), _folder(options)
    peak = _Peak()
    begin = time.perf_counter()
    pairs = read_all_pairs(recipe, folder)
    seconds = time.perf_counter() - begin
    size = _size(options.work / options.corpus)
    disk = sum(path.stat().st_size for path in (folder / "data").rglob("*") if path.is_file())
    return {
        "pairs": len(pairs.train[0]),
        "seconds": seconds,
        "rate": size / 1e6 / seconds,
        "peak_mib": peak.stop(),
        "disk_mb": disk / 1e6,
    }


def _reuse(options: argparse.Namespace) -> Table:
    """Open what was prepared, and make a batch."""
    begin = time.perf_counter()
    from dragoman.run.tasks import prepare_task

    imported = time.perf_counter()
    recipe, folder = _recipe(options), _folder(options)
    prepare_task(recipe, folder, reuse=True).batches().next_batch()  # finds the plan
    planned = time.perf_counter()
    batch = prepare_task(recipe, folder, reuse=True).batches().next_batch()
    return {
        "import_seconds": imported - begin,
        "first_seconds": planned - imported,
        "seconds": time.perf_counter() - planned,
        "rows": len(batch.pairs),
    }


def _training(options: argparse.Namespace) -> Table:
    """Make some updates of a small model."""
    import dragoman

    peak = _Peak()
    for _ in dragoman.train(_recipe(options), _folder(options), restart=True):
        pass
    return {"peak_mib": peak.stop()}


CHILDREN: dict[str, Callable[[argparse.Namespace], Table]] = {
    "library": _library,
    "dragoman": _dragoman,
    "reuse": _reuse,
    "training": _training,
}


def _recipe(options: argparse.Namespace) -> Any:  # Any: naming the type loads torch
    from dragoman.recipe import parse_recipe

    stem = options.work / options.corpus
    return parse_recipe(
        {
            "data": {"train": {"source": f"{stem}.source", "target": f"{stem}.target"}},
            "tokenizer": {"file": str(options.work / "tokenizer.json")},
            "model": {"layers": 2, "d_model": 128, "heads": 4, "d_ff": 256},
            "training": {"steps": 40, "batch_tokens": 4096, "precision": "fp32"},
        }
    )


class _Peak:
    """The most memory that this process and those it started hold together, looked at often."""

    def __init__(self) -> None:
        self._most, self._go_on = 0, True
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> float:
        """Give the most, in MiB."""
        self._go_on = False
        self._thread.join()
        return max(self._most, _high_water(os.getpid())) / 1024

    def _watch(self) -> None:
        while self._go_on:
            pids = [os.getpid(), *_children()]
            self._most = max(self._most, sum(map(_resident, pids)))
            time.sleep(0.05)


def _children() -> list[int]:
    folder = Path(f"/proc/{os.getpid()}/task")
    found: list[int] = []
    for task in folder.iterdir():
        try:
            found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def _resident(pid: int) -> int:
    return _status(pid, "VmRSS")


def _high_water(pid: int) -> int:
    return _status(pid, "VmHWM")


def _status(pid: int, key: str) -> int:
    """Read a field of a process in KiB; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(key + ":")), 0)


def _child(options: argparse.Namespace, name: str, corpus: str, *, fresh: int) -> Table:
    """Measure one side in a process of its own."""
    command = [sys.executable, __file__, "--child", name, "--corpus", corpus]
    command += ["--work", str(options.work), "--fresh", str(fresh)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: Table = json.loads(done.stdout)
    print(f"{name} {corpus}: {found}", file=sys.stderr)
    return found


def _folder(options: argparse.Namespace) -> Path:
    return options.work / f"run-{options.corpus}-{options.fresh}"


def _lines(stem: Path, side: str) -> Iterator[str]:
    with stem.with_suffix(f".{side}").open(encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield line.removesuffix("\n")


def _size(stem: Path) -> int:
    return sum(stem.with_suffix(f".{side}").stat().st_size for side in ("source", "target"))


def _ratio(found: Table) -> float:
    return found["dragoman"]["rate"] / found["library"]["rate"]


def _rates(results: Table, side: str) -> str:
    rates = [each[side]["rate"] for each in results["passes"]]
    return f"{min(rates):.1f}-{max(rates):.1f}"


def _options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--pass-pairs", type=int, default=1_000_000)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "prepare")
    parser.add_argument("--results", type=Path, help="folder to write results to")
    parser.add_argument("--child", choices=("library", "dragoman", "reuse", "training"))
    parser.add_argument("--corpus", default="many")
    parser.add_argument("--fresh", type=int, default=0)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
