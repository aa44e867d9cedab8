"""Figures of the passes as one table, and where they were measured."""

import os
import platform
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

Table = dict[str, Any]  # Any: as JSON holds it
NAMES = ("dragoman", "torch", "transformers", "joeynmt", "ctranslate2", "numba", "numpy")


def machine() -> Table:
    """Say on what was measured, without its name."""
    cpuinfo, meminfo = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    model = platform.processor() or platform.machine()
    if cpuinfo.exists():
        fields = dict(_fields(cpuinfo))
        model = f"{fields['model name']} (family {fields['cpu family']}, model {fields['model']})"
    memory = int(dict(_fields(meminfo))["MemTotal"].split()[0]) if meminfo.exists() else 0
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**20, 1),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions(packages: Sequence[str]) -> Table:
    """Say which versions took part; ``packages`` are folders searched last."""
    found = {"python": platform.python_version()}
    for name in NAMES:
        hits = [
            *metadata.distributions(name=name),
            *metadata.distributions(name=name, path=list(packages)),
        ]
        if hits:
            found[name] = hits[0].version
    return found


def commit(root: Path) -> str:
    """Say which state of the repository was measured."""
    try:
        revision = _git(root, "rev-parse", "--short=10", "HEAD")
        return revision + ("+changes" if _git(root, "status", "--porcelain", "src") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def add_figures(results: Table) -> None:
    """Add what follows from the passes: speed, share of the peak, memory, ratios."""
    best = {
        precision: max(each["peak"][precision] for each in results["passes"])
        for precision in ("fp32", "fp32 through oneDNN", "bf16")
    }
    results["peak_flop_per_second"] = best
    names = list(dict.fromkeys(name for each in results["passes"] for name in each["sides"]))
    for each in results["passes"]:
        for found in each["sides"].values():
            if "error" not in found:
                seconds = sum(found["seconds"])
                found["tokens_per_second"] = found["target_tokens"] / seconds
                found["flop_per_second"] = found["flop"] / seconds
    results["sides"] = {name: _figures(results["passes"], name, best) for name in names}


def markdown(results: Table) -> str:
    """Write the results for a reader."""
    lines = [
        f"# One training step, {results['date']}",
        machine_line(results),
        _what(results["setup"], results["text"]),
        _how(results),
        "\n".join(
            [
                "| side | target tok/s | of peak | memory | others | to the fastest peer | each |",
                "|---|---|---|---|---|---|---|",
                *_rows(results),
            ]
        ),
        "Speed is the median over passes, in brackets the least and the most; ratios are of the "
        "same pass. *Of peak*: useful work against the peaks of the side's number format, in fp32 "
        "that of PyTorch's own library and that through oneDNN. *Others*: "
        "the most of the machine that other processes took in a pass; above a few per cent the "
        "figures mean little.",
        *_kinds(results["kinds"]),
    ]
    return "\n\n".join(lines) + "\n"


def today() -> str:
    """Say the date."""
    return date.today().isoformat()


def machine_line(results: Table) -> str:
    """Say where and with what was measured."""
    machine = results["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']}; {results['threads']} threads. Commit {results['commit']}. "
        f"{packages}."
    )


def _what(setup: Table, text: Sequence[str]) -> str:
    return (
        f"{setup['layers']}+{setup['layers']} layers, width {setup['d_model']}, inner width "
        f"{setup['d_ff']}, {setup['heads']} heads, {setup['vocabulary']:,} pieces in one table; "
        f"dropout {setup['dropout']}, of attention weights {setup['attention_dropout']}; label "
        f"smoothing {setup['smoothing']}; Adam. Text: {', '.join(text)}."
    )


def _how(results: Table) -> str:
    measured, peak = results["batches"][results["warm_up"] :], results["peak_flop_per_second"]
    total = {name: sum(batch[name] for batch in measured) for name in measured[0]}
    padding = {
        side: 1 - total[f"{side}_tokens"] / total[f"{side}_slots"] for side in ("source", "target")
    }
    source, target = results["epoch_padding"]
    return (
        f"{len(results['passes'])} passes of {len(measured)} batches, after "
        f"{results['warm_up']} to warm up; at most {results['slots']:,} slots a side, "
        f"{total['target_tokens'] / len(measured):,.0f} real target pieces on average; padding "
        f"{padding['source']:.1%} of source and {padding['target']:.1%} of target "
        f"(in the whole epoch {source:.1%} and {target:.1%}). Useful work: "
        f"{_flop_a_token(results) / 1e6:.1f} MFLOP a real target piece. Peak of a 2048³ product: "
        f"{peak['fp32'] / 1e9:.0f} GFLOP/s fp32 as PyTorch multiplies unless told otherwise, "
        f"{peak['fp32 through oneDNN'] / 1e9:.0f} through oneDNN, {peak['bf16'] / 1e9:.0f} bf16."
    )


def _rows(results: Table) -> Iterator[str]:
    for name, side in results["sides"].items():
        if "error" in side:
            yield f"| {name} | did not run: {side['error']} | | | | | |"
            continue
        ratios = side["ratios"]
        peers = "; ".join(
            f"{peer} {spread(values)}" for peer, values in ratios.items() if peer != "fastest"
        )
        fastest = f"**{spread(ratios['fastest'])}**" if "fastest" in ratios else ""
        others = "" if side["others"] is None else format(side["others"], ".0%")
        yield (
            f"| {name} | {spread(side['tokens_per_second'], ',.0f')} | {_shares(side)} "
            f"| {side['peak_bytes'] / 2**30:.2f} GiB | {others} | {fastest} | {peers} |"
        )


def _figures(passes: Sequence[Table], name: str, best: Table) -> Table:
    """Gather one side over all passes."""
    runs = [each["sides"][name] for each in passes]
    errors = [run["error"] for run in runs if "error" in run]
    if errors:
        return {"error": errors[0]}
    precision = "bf16" if name.endswith("bf16") else "fp32"
    speeds = [run["tokens_per_second"] for run in runs]
    others = [run["others"] for run in runs]
    return {
        "tokens_per_second": speeds,
        "of_peak": {
            kind: statistics.median(run["flop_per_second"] for run in runs) / peak
            for kind, peak in best.items()
            if kind.startswith(precision)
        },
        "peak_bytes": max(run["peak_bytes"] for run in runs),
        "others": None if None in others else max(others),
        "first_loss_nats": runs[0]["losses_nats"][0],
        "last_loss_nats": runs[0]["losses_nats"][-1],
        "ratios": _ratios(passes, speeds) if name.startswith("dragoman") else {},
    }


def _ratios(passes: Sequence[Table], speeds: Sequence[float]) -> Table:
    """Compare with every peer that ran, and with the fastest, pass by pass."""
    ratios: dict[str, list[float]] = {}
    for each, speed in zip(passes, speeds, strict=True):
        peers = {
            name: run["tokens_per_second"]
            for name, run in each["sides"].items()
            if not name.startswith("dragoman") and "error" not in run
        }
        if peers:
            peers = {"fastest": max(peers.values()), **peers}
        for name, other in peers.items():
            ratios.setdefault(name, []).append(speed / other)
    return ratios


def _kinds(found: Table) -> Iterator[str]:
    """Say where the time of a step goes."""
    runs = {name: kinds for name, kinds in found.items() if "error" not in kinds}
    if not runs:
        return
    rows = [
        f"| {kind} | " + " | ".join(f"{kinds[kind]:.1%}" for kinds in runs.values()) + " |"
        for kind in next(iter(runs.values()))
    ]
    head = [
        "| share of a step (profiler) | " + " | ".join(runs) + " |",
        "|---" * (1 + len(runs)) + "|",
    ]
    yield "\n".join([*head, *rows])


def _shares(side: Table) -> str:
    """Say the share of each peak of the side's number format: PyTorch's own first."""
    return " / ".join(f"{share:.0%}" for share in side["of_peak"].values())


def _flop_a_token(results: Table) -> float:
    runs = [run for run in results["passes"][0]["sides"].values() if "error" not in run]
    return runs[0]["flop"] / runs[0]["target_tokens"] if runs else 0.0


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Say the median, and the least and most where there are several."""
    middle = format(statistics.median(values), form)
    if len(values) == 1:
        return middle
    return f"{middle} [{min(values):{form}}-{max(values):{form}}]"


def _fields(file: Path) -> Iterator[tuple[str, str]]:
    """Read ``name: value`` lines."""
    for line in file.read_text().splitlines():
        name, colon, value = line.partition(":")
        if colon:
            yield name.strip(), value.strip()


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()
