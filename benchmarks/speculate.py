"""Speculative decoding: one sentence at a time on one thread, with a draft and without.

    python benchmarks/speculate.py MODEL DRAFT --input test.de --sentences 200 --passes 3
    python benchmarks/speculate.py MODEL DRAFT --input test.de --dtype int8 --draft-dtype int8

Every sentence is decoded greedily by all sides, one after the other, in an order that turns from
sentence to sentence; a side is a draft length, or no draft. All must write the same pieces. Ratios
are of the sums of a pass, by the clock on the wall and by the time that the processor worked, which
says more on a machine that others use. What could be expected is the bound of Leviathan et al.
(arXiv 2211.17192, theorem 3.8), with what passes were measured to cost:

    (1 - a^(G + 1)) / ((1 - a) (v + G c))

a is the share of accepted pieces when one is proposed at a time, c the cost of a pass of the draft
and v that of the large model over G + 1 pieces, both in passes of the large model over one piece;
the theorem has v = 1. DRAFT may be ``copy``; c is then 0.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import torch

from dragoman import Draft, Translator, read_lines
from dragoman.decoding import (
    BeamSearch,
    DraftCounts,
    Hypothesis,
    decode,
    expected_tokens,
    reader_of,
)

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.report import commit, machine, versions  # noqa: E402  # after the path

Table = dict[str, Any]  # Any: as JSON holds it
GREEDY = BeamSearch(beam=1)
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
PLAIN = 0  # the draft length of no draft


def main() -> None:
    """Measure, print, write the results."""
    options = _options()
    torch.set_num_threads(1)
    how = {"device": "cpu", "engine": options.engine}
    translator = Translator.load(options.model, dtype=options.dtype, **how)
    drafts = {
        length: Draft.load(options.draft, length=length, dtype=options.draft_dtype, **how)
        for length in options.lengths
    }
    for draft in drafts.values():
        draft.check(translator.bundle)
    lines = [line for line in read_lines(options.input) if line.strip()][: options.sentences]
    sources = translator.bundle.source_tokenizer.encode_many(lines)
    _pass(translator, drafts, sources[:5])  # warm up
    results: Table = {
        "date": date.today().isoformat(),
        "commit": commit(ROOT),
        "machine": machine(),
        "versions": versions([]),
        "engine": options.engine,
        "dtype": options.dtype,
        "draft": "copy" if options.draft == "copy" else f"model in {options.draft_dtype}",
        "sentences": len(sources),
        "source_pieces": sum(map(len, sources)),
        "costs": costs(translator, drafts),
        "passes": [],
    }
    for number in range(options.passes):
        results["passes"].append(_pass(translator, drafts, sources))
        print(f"pass {number + 1} of {options.passes}", file=sys.stderr)
    text = markdown(results)
    print(text)
    if options.results:
        stem = options.results / f"speculate-{results['date']}"
        stem.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
        stem.with_suffix(".md").write_text(text + "\n")


def _pass(translator: Translator, drafts: dict[int, Draft], sources: Sequence[list[int]]) -> Table:
    """Decode every source by every side; give seconds of each sentence, and counts."""
    sides = [PLAIN, *drafts]
    seconds: dict[int, dict[str, list[float]]] = {
        side: {clock: [] for clock in CLOCKS} for side in sides
    }
    before = {length: draft.counts for length, draft in drafts.items()}
    pieces = 0
    for number, source in enumerate(sources):
        turn = number % len(sides)
        found: dict[int, list[Hypothesis]] = {}
        for side in [*sides[turn:], *sides[:turn]]:
            run = decode if side == PLAIN else drafts[side].decode
            starts = {clock: read() for clock, read in CLOCKS.items()}
            answer = run(translator.engine, [source], GREEDY, translator.special)[0]
            for clock, read in CLOCKS.items():
                seconds[side][clock].append(read() - starts[clock])
            assert isinstance(answer, list)
            found[side] = answer
        pieces += len(found[PLAIN][0].log_probs)
        for side, answer in found.items():
            if answer[0].ids != found[PLAIN][0].ids:
                raise SystemExit(f"sentence {number}: a draft of {side} changes the translation")
    counts = {length: _since(before[length], draft.counts) for length, draft in drafts.items()}
    return {"seconds": seconds, "counts": counts, "pieces": pieces}


def _since(before: DraftCounts, after: DraftCounts) -> Table:
    names = ("drafted", "accepted", "passes", "pieces", "repeated")
    return {name: getattr(after, name) - getattr(before, name) for name in names}


@torch.inference_mode()
def costs(translator: Translator, drafts: dict[int, Draft]) -> Table:
    """Say what passes cost, in milliseconds of the processor, 15 pieces into a text."""
    small = next(iter(drafts.values()))
    engines = {"model": translator.engine} | ({"draft": small.engine} if small.engine else {})
    start, end = translator.special.start, translator.special.end
    found: Table = {}
    for name, engine in engines.items():
        widths = [1] if name == "draft" else sorted({1, *(length + 1 for length in drafts)})
        reading = reader_of(engine).begin([*range(300, 320), end], [start, *range(300, 315)])

        def read(width: int, reading: Any = reading) -> None:  # Any: some are changed, some not
            reading.cut(15).read([*range(320, 320 + width)])

        found[name] = {width: 1000 * _fastest(lambda: read(width)) for width in widths}  # noqa: B023  # called at once
    return found


def _fastest(run: Callable[[], object]) -> float:
    """Give the median of the seconds that a call takes."""
    seconds: list[float] = []
    for _ in range(100):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def markdown(results: Table) -> str:
    """Write the results for a reader."""
    passes, cost = results["passes"], results["costs"]
    lengths = list(passes[0]["counts"])
    c = cost["draft"][1] / cost["model"][1] if "draft" in cost else 0.0
    lines = [
        f"# Speculative decoding, one sentence at a time, one thread, {results['date']}",
        f"{results['machine']['processor']}, commit {results['commit']}, "
        + ", ".join(f"{name} {version}" for name, version in results["versions"].items())
        + f". Engine {results['engine']}, {results['dtype']}; draft: {results['draft']}. "
        f"{results['sentences']} sentences of {results['source_pieces']:,} pieces, "
        f"{passes[0]['pieces']:,} written, greedy; {len(passes)} passes; all sides write the same.",
        f"Without a draft {_median(passes, PLAIN):.1f} ms a sentence (p50). A pass of the large "
        f"model over one piece {cost['model'][1]:.2f} ms, of the draft {c:.3f} of that.",
        "| draft length | ms (p50) | ratio, wall | ratio, processor | accepted | pieces a pass "
        "| pass of G + 1 | expected | decoded again |\n|---|---|---|---|---|---|---|---|---|",
    ]
    first = _total(passes, 1 if 1 in lengths else lengths[0])
    a = first["accepted"] / first["drafted"] if first["drafted"] else 0.0
    for length in lengths:
        total, v = _total(passes, length), cost["model"][length + 1] / cost["model"][1]
        expected = expected_tokens(a, length) / (v + length * c)
        lines[-1] += (
            f"\n| {length} | {_median(passes, length):.1f} | {_spread(passes, length, 'wall')} "
            f"| {_spread(passes, length, 'cpu')} "
            f"| {total['accepted'] / max(total['drafted'], 1):.0%} "
            f"| {total['pieces'] / total['passes']:.2f} | {v:.2f} "
            f"| {f'{expected:.2f}' if results['draft'] != 'copy' else '-'} "
            f"| {total['repeated']} |"
        )
    return "\n\n".join(lines)


def _median(passes: Sequence[Table], side: int) -> float:
    return 1000 * statistics.median(t for each in passes for t in each["seconds"][side]["wall"])


def _spread(passes: Sequence[Table], side: int, clock: str) -> str:
    """Give how many times as fast a side is: the median of the passes, and the range."""
    ratios = [
        sum(each["seconds"][PLAIN][clock]) / sum(each["seconds"][side][clock]) for each in passes
    ]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


def _total(passes: Sequence[Table], length: int) -> Table:
    names = passes[0]["counts"][length]
    return {name: sum(each["counts"][length][name] for each in passes) for name in names}


def _options() -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", type=Path, help="the large model")
    parser.add_argument("draft", help="a small model, or copy")
    parser.add_argument("--input", type=Path, required=True, help="source text, may be .gz")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--lengths", type=int, nargs="+", default=[1, 2, 3, 4, 5, 6])
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--engine", default="fused", help="torch or fused")
    parser.add_argument("--dtype", default="float32", help="of the large model")
    parser.add_argument("--draft-dtype", default="float32", help="of the small one")
    parser.add_argument("--results", type=Path, help="folder for speculate-DATE.json and .md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
