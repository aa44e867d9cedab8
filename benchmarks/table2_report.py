r"""Tables and pictures of docs/table2.md, from the files that the measurements wrote.

    python benchmarks/table2_report.py --results benchmarks/results --pictures docs/pictures

Reads ``table2-speed.json``, ``table2-curve.json``, ``lengths-*.json`` and ``extrapolation.json``;
what is missing is left out. Prints Markdown and draws PNG. Colours are those of Okabe and Ito
(2008), which people who see few colours can tell apart; every line has a marker and a dash of its
own as well.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

Table = dict[str, Any]  # Any: as JSON holds it
STYLES = (
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#CC79A7", ":", "D"),
    ("#E69F00", "-", "v"),
    ("#56B4E9", "--", "P"),
    ("#000000", ":", "X"),
)
FAMILIES = ("Transformer", "LSTM with attention", "convolutions", "LSTM without attention")
TASKS = ("copy", "reverse", "recall")
TRAINED = {"copy": 32, "reverse": 32, "recall": 8}  # longest in training
BIN = 16  # positions whose loss is one point of a line


def style(name: str, names: Sequence[str]) -> Table:
    """Give a line its colour, dash and marker by its place among the names."""
    colour, dash, marker = STYLES[names.index(name) % len(STYLES)]
    return {"color": colour, "linestyle": dash, "marker": marker, "label": name, "markersize": 5}


def at(points: Sequence[Table], seconds: float | None) -> Table:
    """Find the point of a curve that stands for a time; None is the end of the run."""
    return next(point for point in points if point["seconds"] == seconds)


def joined(speed: Table, curve: Table) -> list[Table]:
    """Put speed and curve of each variant together."""
    known = {row["name"]: row for row in speed["variants"]}
    return [{**known[row["name"]], **row} for row in curve["variants"]]


def translation_table(rows: Sequence[Table]) -> list[str]:
    """Write BLEU at equal updates and at equal minutes, with what both cost."""
    lines = [
        "| | weights | target pieces/s (range) | operations a piece | equal updates: updates | "
        "minutes | operations | BLEU | equal minutes: minutes | updates | operations | BLEU |",
        "|---|" + "---:|" * 11,
    ]
    for row in rows:
        points = row["points"]
        last = max(point["seconds"] for point in points if point["seconds"] is not None)
        cells = [
            f"{row['parameters']:,}",
            ranged(row),
            f"{row['operations_per_piece'] / 1e6:.1f} M",
        ]
        for point in (at(points, None), at(points, last)):
            minutes = point["updates"] / row["updates_per_busy_second"] / 60
            total = point["updates"] * row["operations_per_update"]
            if point["seconds"] is None:
                cells += [f"{point['updates']:,}", f"{minutes:.1f}"]
            else:
                cells += [f"{point['seconds'] / 60:.1f}", f"{point['updates']:,}"]
            cells += [f"{total:.2e}", f"**{point['bleu']:.2f}**"]
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    return lines


def ranged(row: Table) -> str:
    """Write a speed with its spread."""
    low, high = row["busy_range"]
    return f"{row['pieces_per_busy_second']:,.0f} ({low:,.0f} to {high:,.0f})"


def length_tables(found: dict[str, Table]) -> list[str]:
    """Write accuracy by length, a table for each file."""
    lines: list[str] = []
    for name, results in found.items():
        lengths = [one["length"] for one in results["variants"][0]["lengths"]]
        lines += ["", f"{name}:", "", "| | " + " | ".join(map(str, lengths)) + " |"]
        lines.append("|---|" + "---:|" * len(lengths))
        for row in results["variants"]:
            cells = [f"{one['symbols']:.1%} ({one['whole']:.0%})" for one in row["lengths"]]
            lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    return lines


def draw_translation(rows: Sequence[Table], path: Path) -> None:
    """Draw BLEU over minutes, updates and operations."""
    figure: Any = Figure(figsize=(13, 4.2), layout="constrained")  # Any: half of it has no types
    panels = figure.subplots(1, 3, sharey=True)
    for row in rows:
        points = sorted(row["points"], key=lambda point: point["updates"])
        updates = [point["updates"] for point in points]
        minutes = [count / row["updates_per_busy_second"] / 60 for count in updates]
        each = row["operations_per_update"] / 1e12
        bleu = [point["bleu"] for point in points]
        costs = (minutes, updates, [count * each for count in updates])
        for axes, cost in zip(panels, costs, strict=True):
            axes.plot(cost, bleu, **style(row["name"], FAMILIES))
    names = ("minutes of one core", "updates", "training operations, 10¹²")
    for axes, name in zip(panels, names, strict=True):
        axes.set_xlabel(name)
        axes.set_xlim(left=0)
        axes.grid(alpha=0.25)
    panels[0].set_ylabel("BLEU, test 2016")
    panels[0].legend(loc="lower right")
    figure.savefig(path, dpi=150, metadata={"Software": None})


def draw_parallel(rows: Sequence[Table], slots: int, path: Path) -> None:
    """Draw over the length of sentences: a chain of operations, and speed in equal batches."""
    figure: Any = Figure(figsize=(10.5, 4.2), layout="constrained")
    chain, rate = figure.subplots(1, 2)
    for row in rows:
        lengths = [one["length"] for one in row["by_length"]]
        look = style(row["name"], FAMILIES)
        chain.plot(lengths, [one["operations"] for one in row["chains"]], **look)
        rate.plot(lengths, [one["pieces_per_second"] for one in row["by_length"]], **look)
    for axes in (chain, rate):
        axes.set_xscale("log", base=2)
        axes.set_xticks(lengths, map(str, lengths))
        axes.grid(alpha=0.25)
    chain.set_yscale("log")
    chain.set_xlabel("pieces a sentence")
    chain.set_ylabel("operations that wait for one another, forward")
    chain.legend()
    rate.set_ylim(bottom=0)
    rate.set_xlabel(f"pieces a sentence, in batches of {slots:,}")
    rate.set_ylabel("target pieces a second of one core")
    figure.savefig(path, dpi=150, metadata={"Software": None})


def draw_positions(results: Table, path: Path) -> None:
    """Draw the loss over the position in a window, in means of 16; grey: not trained on."""
    figure: Any = Figure(figsize=(7.6, 4.6), layout="constrained")
    axes = figure.subplots()
    names = [row["name"] for row in results["variants"]]
    for row in results["variants"]:
        nats = row["nats"]
        firsts = range(0, len(nats), BIN)
        means = [sum(nats[first : first + BIN]) / BIN for first in firsts]
        axes.plot([first + BIN / 2 for first in firsts], means, **style(row["name"], names))
    axes.axvspan(results["context"], len(nats), color="#000000", alpha=0.07, linewidth=0)
    axes.set_xlim(0, len(nats))
    axes.set_xlabel("position in the window; grey: further than in training")
    axes.set_ylabel("loss, nats a character")
    axes.grid(alpha=0.25)
    axes.legend(fontsize=9)
    figure.savefig(path, dpi=150, metadata={"Software": None})


def position_table(results: Table) -> list[str]:
    """Write the loss in windows of several lengths."""
    lengths = list(results["variants"][0]["by_length"])
    lines = ["| | weights | " + " | ".join(lengths) + " |", "|---|" + "---:|" * (len(lengths) + 1)]
    for row in results["variants"]:
        cells = [f"{row['parameters']:,}", *(f"{loss:.3f}" for loss in row["by_length"].values())]
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    return lines


def draw_lengths(found: dict[str, Table], path: Path) -> None:
    """Draw the share of right symbols over length, a panel for each file; grey: not trained on."""
    figure: Any = Figure(figsize=(max(6.8, 4.4 * len(found)), 4.2), layout="constrained")
    panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for axes, (name, results) in zip(panels, found.items(), strict=True):
        for row in results["variants"]:
            lengths = [one["length"] for one in row["lengths"]]
            right = [100 * one["symbols"] for one in row["lengths"]]
            axes.plot(lengths, right, **style(row["name"], FAMILIES))
        axes.axvspan(TRAINED[name], lengths[-1] * 1.03, color="#000000", alpha=0.07, linewidth=0)
        axes.set_title(name)
        axes.set_xticks(lengths, map(str, lengths), fontsize=8)
        axes.set_xlabel("pairs to recall" if name == "recall" else "letters")
        axes.grid(alpha=0.25)
    panels[0].set_ylim(-3, 103)
    panels[0].set_ylabel("symbols right, %; grey: longer than in training")
    panels[-1].legend(fontsize=9)
    figure.savefig(path, dpi=150, metadata={"Software": None})


def main() -> None:
    """Print what is there, and draw it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, required=True, help="folder with what was measured")
    parser.add_argument("--pictures", type=Path, required=True, help="folder to draw into")
    options = parser.parse_args()

    def read(name: str) -> Table | None:
        file = options.results / f"{name}.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None

    speed, curve = read("table2-speed"), read("table2-curve")
    if speed is not None and curve is not None:
        rows = joined(speed, curve)
        draw_parallel(rows, speed["slots_by_length"], options.pictures / "table2-parallel.png")
        print(*translation_table(rows), sep="\n")
        draw_translation(rows, options.pictures / "table2-bleu.png")
    found = {task: read(f"lengths-long-range-{task}") for task in TASKS}
    known = {task: results for task, results in found.items() if results is not None}
    if known:
        print(*length_tables(known), sep="\n")
        draw_lengths(known, options.pictures / "long-range.png")
    positions = read("extrapolation")
    if positions is not None:
        print(*position_table(positions), sep="\n")
        draw_positions(positions, options.pictures / "extrapolation.png")


if __name__ == "__main__":
    main()
