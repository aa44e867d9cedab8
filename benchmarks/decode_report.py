"""Figures of ``decode.py`` and their table."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from report import Table, machine_line, spread

PEERS = ("ctranslate2 - float32", "ctranslate2 - int8", "transformers - float32")
AGREE = 0.99  # of the translations of a side in float32 have to be CTranslate2's


def add_figures(results: Table) -> None:
    """Add speeds, and in each round the ratios to CTranslate2; those that do not agree get none."""
    for side in results["sides"].values():
        for each in _measured(side).values():
            for done in each["rounds"].values():
                done["sentences_per_second"] = done["sentences"] / done["seconds"]
    for name, side in results["sides"].items():
        for key, each in _measured(side).items():
            whole = each["sentences"]
            each["agrees"] = not name.endswith("float32") or (each.get("equal", 0) >= AGREE * whole)
            each["ratios"] = {
                peer: list(_ratios(each, results["sides"].get(peer, {}).get(key)))
                for peer in PEERS
                if each["agrees"]
            }


def _ratios(own: Table, peer: Table | None) -> Iterator[float]:
    """Compare in each round; with the first round of a peer that runs in fewer."""
    rounds = (peer or {}).get("rounds", {})
    for number, done in own["rounds"].items():
        other = rounds.get(number) or rounds.get("0")
        if other:
            yield done["sentences_per_second"] / other["sentences_per_second"]


def _measured(side: Table) -> Table:
    return {key: each for key, each in side.items() if isinstance(each, dict)}


def markdown(results: Table) -> str:
    """Write the results for a reader."""
    choices = results["model"]["choices"]
    lines = [
        f"# Translating, {results['date']}",
        machine_line(results),
        f"`{results['command']}`",
        f"{choices['layers']}+{choices.get('decoder_layers') or choices['layers']} layers, width "
        f"{choices['d_model']}, inner width {choices['d_ff']}, {choices['heads']} heads, "
        f"{choices['vocabulary']:,} pieces, {results['model']['parameters'] / 1e6:.1f} million "
        "weights. Greedy, or a beam of 4 that ends with 4 ended hypotheses and takes the best by "
        "log-probability a piece; at most 100 pieces.",
    ]
    keys = dict.fromkeys(key for side in results["sides"].values() for key in _measured(side))
    for key in keys:
        lines += [f"## {key}, {_about(results['data'][key.split()[0]])}", _table(results, key)]
    lines.append(
        "Speeds are medians over rounds, in brackets the least and the most; ratios are of the "
        "same round (to transformers: of its first). *Equal*: translations that are those of "
        "CTranslate2 in float32. A side in float32 of which less than "
        f"{AGREE:.0%} are gets no ratio. *Memory*: the most a side's process ever held, libraries "
        "included. *Others*: the most of the machine that other processes took in a round. "
        "*Setting*: the fastest of those tried: tokens in a batch (Dragoman), sentences "
        "(CTranslate2), sentences and threads (transformers). Slow sides translate every so many "
        "sentences only; their BLEU is of those."
    )
    errors = [
        f"- {name}: {side['error']}" for name, side in results["sides"].items() if "error" in side
    ]
    if errors:
        lines.append("Did not run:\n\n" + "\n".join(errors))
    return "\n\n".join(lines) + "\n"


def _about(data: Table) -> str:
    return f"{data['sentences']:,} sentences of {data['pieces'] / data['sentences']:.1f} pieces"


def _table(results: Table, key: str) -> str:
    head = (
        "side", "sentences/s", "tokens/s", "to CTranslate2 float32", "to its int8",
        "to transformers", "equal", "BLEU",
        "one sentence p50 / p95", "memory", "others", "setting",
    )  # fmt: skip
    rows = [
        _row(name, side, side[key])
        for name, side in results["sides"].items()
        if key in side and side[key]["rounds"]
    ]
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows])


def _row(name: str, side: Table, found: Table) -> str:
    speeds = [done["sentences_per_second"] for done in found["rounds"].values()]
    tokens = [speed * found["pieces"] / found["sentences"] for speed in speeds]
    others = [done["others"] or 0.0 for done in found["rounds"].values()]
    one = found.get("latency")
    cells: Sequence[Any] = (
        name.replace(" - ", " "),
        spread(speeds, ",.0f"),
        f"{statistics.median(tokens):,.0f}",
        *(_ratio(found, peer, own=name == peer) for peer in PEERS),
        f"{found['equal']:,} of {found['sentences']:,}" if "equal" in found else "",
        f"{found['bleu']:.2f}",
        f"{one['p50_ms']:.1f} / {one['p95_ms']:.1f} ms" if one else "",
        f"{side['peak_bytes'] / 2**20:,.0f} MiB",
        f"{max(others):.0%}",
        found["setting"],
    )
    return f"| {' | '.join(map(str, cells))} |"


def _ratio(found: Table, peer: str, *, own: bool) -> str:
    if own:
        return ""
    if not found["agrees"]:
        return "does not agree"
    ratios = found["ratios"].get(peer)
    return f"**{spread(ratios)}**" if ratios else ""
