"""How far the variants of a comparison get on sequences of each length.

    python benchmarks/lengths.py runs/long-range-copy data/copy --results benchmarks/results

Translates every ``test-N.tsv`` of the data greedily with each model of a finished ``dragoman
compare``. *symbols*: the share of the symbols asked for that stand at their place in the answer.
*whole*: the share of answers without a mistake. Writes ``lengths-NAME.json``, NAME being that of
the folder of the run.
"""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path

from report import Table, commit, today, versions

ROOT = Path(__file__).resolve().parent.parent
MORE = 8  # pieces that an answer may be longer than the right one


def accuracy(answers: Sequence[str], targets: Sequence[str]) -> tuple[float, float]:
    """Give the share of symbols at their place, and the share of answers that are right.

    Args:
        answers: what was said, one for each target; it may be too short or too long.
        targets: what was asked for; not all are empty.
    """
    pairs = list(zip(answers, targets, strict=True))
    places = sum(len(target) for target in targets)
    right = sum(a == b for answer, target in pairs for a, b in zip(answer, target, strict=False))
    return right / places, sum(answer == target for answer, target in pairs) / len(pairs)


def tests(data: Path) -> dict[int, list[tuple[str, str]]]:
    """Read source and target of every test file by its length, from the shortest.

    Raises:
        SystemExit: there is none.
    """
    found: dict[int, list[tuple[str, str]]] = {}
    for file in data.glob("test-*.tsv"):
        if name := re.fullmatch(r"test-(\d+)", file.stem):
            lines = file.read_text(encoding="utf-8").splitlines()
            rows = [line.partition("\t") for line in lines]
            found[int(name[1])] = [(source, target) for source, _, target in rows]
    if not found:
        raise SystemExit(f"{data}: there is no test-N.tsv")
    return dict(sorted(found.items()))


def measure(model: Path, asked: dict[int, list[tuple[str, str]]]) -> list[Table]:
    """Translate each length with one model."""
    from dragoman import Translator

    translator = Translator.load(model, engine="torch")
    rows: list[Table] = []
    for length, pairs in asked.items():
        targets = [target for _, target in pairs]
        longest = max(map(len, targets)) + MORE
        sources = [source for source, _ in pairs]
        found = translator.translate(sources, beam=1, max_length=longest, too_long="cut")
        symbols, whole = accuracy([each.text for each in found], targets)
        rows.append({"length": length, "pairs": len(pairs), "symbols": symbols, "whole": whole})
    return rows


def main() -> None:
    """Measure all variants, print them and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a finished comparison")
    parser.add_argument("data", type=Path, help="folder of test-N.tsv")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    from dragoman.run.comparison.file import folder_name

    compared = json.loads((options.run / "comparison.json").read_text(encoding="utf-8"))
    asked, variants = tests(options.data), list[Table]()
    for row in compared["rows"]:
        measured = measure(options.run / folder_name(row["name"]), asked)
        shown = "  ".join(f"{one['length']}: {one['symbols']:.1%}" for one in measured)
        print(f"{row['name']:<24} {shown}", flush=True)
        kept = {key: row[key] for key in ("name", "settings", "parameters", "updates")}
        seconds = row["runs"][0]["training_seconds"]
        variants.append({**kept, "training_seconds": seconds, "lengths": measured})
    results = {
        "date": today(),
        "commit": commit(ROOT),
        "versions": versions([]),
        "budget": compared["budget"],
        "seeds": compared["seeds"],
        "variants": variants,
    }
    file = options.results / f"lengths-{options.run.resolve().name}.json"
    file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
