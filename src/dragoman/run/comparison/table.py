"""A finished comparison, and how it is written: text, Markdown, JSON."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from dragoman.evaluation import DRAWS
from dragoman.run.comparison.rows import Row

SURE = 0.05  # p-values below this get a star


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """All variants side by side.

    Args:
        name: of the file.
        budget: what each variant got, in words.
        seeds: each variant was trained once with each.
        versions: of the libraries.
        rows: the first is what the others are compared with.
    """

    name: str
    budget: str
    seeds: tuple[int, ...]
    versions: dict[str, str]
    rows: tuple[Row, ...]

    def lines(self) -> list[str]:
        """Write a table of aligned columns, and what stands in them, for people."""
        cells = [[*_HEAD], *(_cells(row) for row in self.rows)]
        indent = "  " if any(row.group for row in self.rows) else ""
        for row, line in zip(self.rows, cells[1:], strict=True):
            line[0] = (indent if row.group else "") + line[0]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        aligned = [_aligned(line, widths) for line in cells]
        found, group = [aligned[0]], ""
        for row, line in zip(self.rows, aligned[1:], strict=True):
            if row.group != group:
                found += ["", *([row.group] if row.group else [])]
                group = row.group
            found.append(line)
        return [*found, "", *self.notes()]

    def markdown(self) -> str:
        """Write the same as a page."""
        head = ["group", *_HEAD]
        lines = [f"# {self.name}", "", _piped(head)]
        lines.append(_piped(["---", "---", *["---:"] * (len(_HEAD) - 1)]))
        group = None
        for row in self.rows:
            lines.append(_piped([row.group if row.group != group else "", *_cells(row)]))
            group = row.group
        lines += ["", *(f"- {note}" for note in self.notes()), "", "Variants:", ""]
        for row in self.rows:
            settings = ", ".join(f"`{setting}`" for setting in row.settings)
            lines.append(f"- {row.name}: {settings or 'the recipe as it is'}")
        return "\n".join(lines) + "\n"

    def summary(self) -> dict[str, Any]:  # Any: as JSON holds it
        """Say it all for programs; a number that JSON cannot hold is null."""
        return cast("dict[str, Any]", _plain(asdict(self)))

    def notes(self) -> list[str]:
        """Say how the numbers came about."""
        run = self.rows[0].runs[0]
        threads = f", {run.threads} threads" if run.device == "cpu" else ""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        seeds = f"seeds {', '.join(map(str, self.seeds))}; means over them, ± is the standard "
        notes = [
            f"budget: {self.budget} for each variant, on {run.device}{threads}; {versions}",
            f"BLEU and chrF on {run.measured_on} [{run.signatures['bleu']}] "
            f"[{run.signatures['chrf']}]; perplexity on the validation set, per target piece",
            f"95 %: interval of BLEU over {DRAWS:,} resampled test sets; p: chance of so large a "
            f"difference from {self.rows[0].name} on them, paired, * below {SURE:g}",
            "tokens/s: target pieces in training, median; memory: peak in training",
        ]
        if len(self.seeds) > 1:
            notes.append(f"{seeds}deviation between runs")
        return notes


_HEAD = (
    "variant",
    "weights",
    "updates",
    "perplexity",
    "Δ",
    "BLEU",
    "95 %",
    "Δ",
    "p",
    "chrF",
    "tokens/s",
    "memory",
)


def _cells(row: Row) -> list[str]:
    spread = "" if row.bleu_spread is None else f" ±{row.bleu_spread:.2f}"
    sure = row.p_value is not None and row.p_value < SURE
    memory = row.peak_memory_bytes
    return [
        row.name,
        f"{row.parameters:,}",
        f"{row.updates:,.0f}",
        "" if row.perplexity is None else f"{row.perplexity:,.2f}",
        _difference(row.perplexity_difference),
        f"{row.bleu:.2f}{spread}",
        f"{row.bleu_low:.1f}–{row.bleu_high:.1f}",
        _difference(row.bleu_difference),
        "" if row.p_value is None else f"{row.p_value:.3f}{'*' if sure else ' '}",
        f"{row.chrf:.2f}",
        f"{row.target_tokens_per_second:,.0f}",
        "" if memory is None else f"{memory / 1e6:,.0f} MB",
    ]


def _difference(value: float | None) -> str:
    return "" if value is None else f"{value:+,.2f}"


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (cell for cell in cells)
    line = first.ljust(widths[0])
    for cell, width in zip(others, widths[1:], strict=True):
        line += "  " + cell.rjust(width)
    return line.rstrip()


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.strip().replace('|', chr(92) + '|') for cell in cells)} |"


def _plain(value: Any) -> Any:  # Any: as JSON holds it
    match value:
        case dict():
            return {key: _plain(item) for key, item in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_plain(item) for item in cast("list[Any]", value)]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value
