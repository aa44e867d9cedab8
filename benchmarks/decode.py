"""Translating with the same weights in Dragoman, CTranslate2 and ``transformers``.

    python benchmarks/decode.py MODEL --results benchmarks/results

Every side is a process that loads the model once; the sides take turns, round after round, and the
order turns too. See ``benchmarks/README.md``.
"""

import argparse
import csv
import gzip
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from decode_report import add_figures, markdown
from report import Table, commit, machine, today, versions

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DATA = ROOT.parent / "shared" / "data"
SEARCHES = {"greedy": 1, "beam": 4}
# Engines and number formats of Dragoman; one that is not there is reported and left out.
SIDES = (
    "dragoman torch float32",
    "dragoman fused float32",
    "dragoman fused bfloat16",
    "dragoman fused int8",
    "ctranslate2 - float32",
    "ctranslate2 - int8",
    "transformers - float32",
)
SLOW = ("dragoman torch", "transformers")  # run in fewer rounds, and on some of the sentences


def main() -> None:
    """Measure, print the table, and write the results."""
    options = _options()
    with tempfile.TemporaryDirectory() as name:
        results = _measure(options, Path(name))
    add_figures(results)
    text = markdown(results)
    print(text)
    if options.results:
        options.results.mkdir(parents=True, exist_ok=True)
        file = options.results / f"decode-{results['date']}"
        file.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
        file.with_suffix(".md").write_text(text)


def _measure(options: argparse.Namespace, folder: Path) -> Table:
    data = _data(options, folder)
    written = _Process("write", options.threads)
    about = written.ask({"task": "write", "model": str(options.model), "folder": str(folder)})
    written.end()
    if "error" in about:
        raise SystemExit(about["error"])
    results: Table = {
        "date": today(),
        "commit": commit(ROOT),
        "machine": machine(),
        "versions": versions([]),
        "command": "python benchmarks/decode.py " + shlex.join(_without_folders(sys.argv[1:])),
        "threads": options.threads,
        "model": about,
        "data": {name: each["about"] for name, each in data.items()},
        "sides": {},
    }
    sides = [_Measured(name, options, folder) for name in options.sides]
    try:
        for name, each in data.items():
            for search in options.only:
                _compare(options, sides, name, each, search)
    finally:
        for side in sides:
            side.end()
    results["sides"] = {side.name: side.found for side in sides}
    _score(results, data, options)
    return results


def _compare(
    options: argparse.Namespace,
    sides: "Sequence[_Measured]",
    data: str,
    files: Table,
    search: str,
) -> None:
    """Tune every side, then let them take turns, then one sentence at a time."""
    job = {"sources": files["sources"], "beam": SEARCHES[search]}
    for side in sides:
        side.tune(f"{data} {search}", job, options)
    for number in range(options.rounds):
        turn = number % len(sides)
        for side in [*sides[turn:], *sides[:turn]]:
            side.translate(f"{data} {search}", job, number, options)
    if data == options.data[0]:
        for side in sides:
            side.latency(f"{data} {search}", job, options)


class _Process:
    """A child that answers."""

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            **one,
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_VERBOSITY": "error",
        }
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        self._child = subprocess.Popen(
            [sys.executable, str(HERE / "serve.py")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def ask(self, job: Table) -> Table:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(json.dumps(job) + "\n")
            self._child.stdin.flush()
            line = self._child.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": f"{self.name} ended"}

    def end(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait()


class _Measured:
    """A side, and what was found of it: by data and search, and once for all."""

    def __init__(self, name: str, options: argparse.Namespace, folder: Path) -> None:
        self.name, self.found = name, Table()
        side, engine, precision = name.split()
        self.slow = name.startswith(SLOW)
        self._process = _Process(name, options.threads)
        loaded = self._process.ask(
            {
                "task": "load",
                "side": side,
                "engine": engine,
                "precision": precision,
                "model": str(options.model),
                "folder": str(folder),
                "threads": options.threads,
            }
        )
        self._note(loaded, f"{name}: loading")

    def tune(self, key: str, job: Table, options: argparse.Namespace) -> None:
        most = options.slow_sentences if self.slow else options.tune
        tuned = self._ask({**job, "task": "tune", "most": most}, f"{key}: tuned")
        if tuned:
            self.found[key] = {"setting": tuned["setting"], "tried": tuned["tried"], "rounds": {}}

    def translate(self, key: str, job: Table, number: int, options: argparse.Namespace) -> None:
        if key not in self.found or (self.slow and number >= options.slow_rounds):
            return
        most = options.slow_sentences if self.slow else None
        found, first = self.found[key], not self.found[key]["rounds"]
        request = {**job, "task": "translate", "setting": found["setting"], "keep": first}
        done = self._ask({**request, "most": most}, f"{key}: round {number + 1}")
        if done:
            if first:
                found["ids"] = done.pop("ids")
            found["rounds"][str(number)] = done

    def latency(self, key: str, job: Table, options: argparse.Namespace) -> None:
        if key not in self.found:
            return
        request = {**job, "task": "latency", "setting": self.found[key]["setting"]}
        done = self._ask({**request, "most": options.single}, f"{key}: one by one")
        if done:
            self.found[key]["latency"] = done

    def end(self) -> None:
        self._process.end()

    def _ask(self, job: Table, what: str) -> Table:
        if "error" in self.found:
            return {}
        return self._note(self._process.ask(job), f"{self.name}: {what}")

    def _note(self, answer: Table, what: str) -> Table:
        """Keep the most memory, or what went wrong."""
        if "error" in answer:
            self.found["error"] = answer["error"]
            print(f"{what}: {answer['error']}", file=sys.stderr)
            return {}
        self.found["peak_bytes"] = answer.pop("peak_bytes")
        said = {key: value for key, value in answer.items() if key != "ids"}
        print(f"{what}: {said}", file=sys.stderr)
        return answer


def _data(options: argparse.Namespace, folder: Path) -> dict[str, Table]:
    """Turn the sources into ids once, for all sides."""
    from dragoman.bundle import load_tokenizers

    tokenizers = load_tokenizers(options.model)
    data: dict[str, Table] = {}
    for name in options.data:
        pairs = list(islice(PAIRS[name](), options.sentences))
        ids = tokenizers[0].encode_many([source for source, _ in pairs])
        file = folder / f"{name}.json"
        file.write_text(json.dumps(ids))
        about = {"sentences": len(ids), "pieces": sum(map(len, ids))}
        references = [target for _, target in pairs]
        data[name] = {"sources": str(file), "references": references, "about": about}
    return data


def _multi30k() -> Iterator[tuple[str, str]]:
    files = [DATA / "multi30k" / f"test_2016_flickr.{side}.gz" for side in ("de", "en")]
    texts = [gzip.decompress(file.read_bytes()).decode("utf-8") for file in files]
    return zip(*(text.split("\n")[:-1] for text in texts), strict=True)


def _tatoeba() -> Iterator[tuple[str, str]]:
    """Read German sources of test, then development, then training sentences, each once."""
    seen: set[str] = set()
    for part in ("test", "dev", "train"):
        file = DATA / "tatoeba" / f"eng-deu.{part}.tsv.gz"
        with gzip.open(file, "rt", encoding="utf-8", newline="") as stream:
            for english, german, *_ in csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
                if german not in seen:
                    seen.add(german)
                    yield german, english


PAIRS = {"multi30k": _multi30k, "tatoeba": _tatoeba}


def _score(results: Table, data: dict[str, Table], options: argparse.Namespace) -> None:
    """Add BLEU, pieces and how many translations equal those of CTranslate2 in float32."""
    from sacrebleu.metrics.bleu import BLEU

    from dragoman.bundle import load_tokenizers

    tokenizer = load_tokenizers(options.model)[-1]
    for key in [f"{name} {search}" for name in data for search in options.only]:
        peer = results["sides"].get("ctranslate2 - float32", {}).get(key, {}).get("ids")
        for side in results["sides"].values():
            if key not in side or "ids" not in side[key]:
                continue
            ids = side[key]["ids"]
            step = max(1, len(data[key.split()[0]]["references"]) // len(ids))
            references = data[key.split()[0]]["references"][::step][: len(ids)]
            score = BLEU().corpus_score(tokenizer.decode_many(ids), [references])
            side[key]["bleu"] = score.score
            side[key]["pieces"] = sum(len(row) + 1 for row in ids)  # with the end symbol
            if peer is not None:
                same = zip(ids, peer[::step][: len(ids)], strict=True)
                side[key]["equal"] = sum(own == other for own, other in same)
    for side in results["sides"].values():
        for each in side.values():
            if isinstance(each, dict):
                each["sentences"] = len(each.pop("ids", []))


def _without_folders(arguments: Sequence[str]) -> list[str]:
    """Leave out where things lie on this machine."""
    return [Path(argument).name if "/" in argument else argument for argument in arguments]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure translation, side by side.")
    add = parser.add_argument
    add("model", type=Path, help="model folder, German to English for the data here")
    add("--data", nargs="+", choices=list(PAIRS), default=list(PAIRS))
    add("--only", nargs="+", choices=list(SEARCHES), default=list(SEARCHES), help="searches")
    add("--sides", nargs="+", default=list(SIDES), help="'LIBRARY ENGINE PRECISION' each")
    add("--rounds", type=int, default=3, help="how often the sides take turns")
    add("--threads", type=int, default=os.cpu_count() or 1)
    add("--sentences", type=int, default=5_000, help="most of each data set")
    add("--tune", type=int, default=640, help="sentences that settings are tried on")
    add("--single", type=int, default=100, help="sentences translated one by one")
    add("--slow-rounds", type=int, default=1, help=f"rounds of {', '.join(SLOW)}")
    add("--slow-sentences", type=int, default=200, help="sentences of those")
    add("--quick", action="store_true", help="a trial: few sentences, one round")
    add("--results", type=Path, help="folder to write results to")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.sentences, options.tune = 1, 60, 16
        options.single, options.slow_sentences = 5, 16
    return options


if __name__ == "__main__":
    main()
