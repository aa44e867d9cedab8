"""The sides of ``decode.py``: ids in, ids out, with the same weights and the same search.

The search: greedy, or a beam of 4 that stops when 4 hypotheses have ended and takes the best by
log-probability a piece. Every side is given sources without and gives translations without the end
symbol. All that the benchmark knows of a library's decoding is in this file.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Ids = list[int]
Run = Callable[[Sequence[Ids], int, Any], list[Ids]]  # sources, beam, setting
LONGEST = 100  # pieces of a translation, the end symbol included


@dataclass(frozen=True, slots=True)
class Side:
    """A loaded model.

    Args:
        run: translates sources with a beam and a setting.
        settings: those to choose the fastest of.
    """

    run: Run
    settings: Sequence[Any]


def write(job: dict[str, Any]) -> dict[str, Any]:
    """Write the weights for CTranslate2, in each number format."""
    from dragoman.bundle import load_bundle
    from dragoman.interop import write_ctranslate2

    bundle, folder = load_bundle(Path(job["model"])), Path(job["folder"])
    for quantization in ("float32", "int8"):
        write_ctranslate2(folder / quantization, bundle, quantization=quantization)
    return {
        "choices": json.loads((Path(job["model"]) / "config.json").read_text())["model"],
        "parameters": sum(weight.numel() for weight in bundle.model.parameters()),
    }


def dragoman(job: dict[str, Any]) -> Side:
    """Run Dragoman with the engine and number format of the job; a setting is ``batch_tokens``."""
    import torch

    from dragoman.decoding import BeamSearch, PrefixTooLong, decode
    from dragoman.translator import Translator

    torch.set_num_threads(1)
    translator = Translator.load(
        job["model"], device="cpu", engine=job["engine"], dtype=job["precision"]
    )
    engine: Any = translator.engine
    engine.batch_tokens = None  # those of the setting
    if job["engine"] == "fused":
        engine.workers = job["threads"]  # batches at a time, one thread each

    def run(sources: Sequence[Ids], beam: int, setting: Any) -> list[Ids]:
        config = BeamSearch(
            beam=beam,
            alpha=1.0,
            length_penalty="average",
            patience=1.0 if beam > 1 else None,
            max_length=LONGEST,
        )
        found = decode(engine, sources, config, translator.special, batch_tokens=setting)
        return [[] if isinstance(each, PrefixTooLong) else list(each[0].ids) for each in found]

    return Side(run, (512, 1024, 2048))


def ctranslate2(job: dict[str, Any]) -> Side:
    """Run CTranslate2, one thread a worker; a setting is the number of sentences in a batch."""
    import ctranslate2 as library

    folder = Path(job["folder"]) / job["precision"]
    names: list[str] = json.loads((folder / "shared_vocabulary.json").read_text())
    ids = {name: number for number, name in enumerate(names)}
    translator = library.Translator(
        str(folder),
        inter_threads=job["threads"],
        intra_threads=1,
        compute_type=job["precision"],
    )

    def run(sources: Sequence[Ids], beam: int, setting: Any) -> list[Ids]:
        results = translator.translate_batch(
            [[names[piece] for piece in source] for source in sources],
            max_batch_size=setting,
            beam_size=beam,
            length_penalty=1.0,
            max_decoding_length=LONGEST,
            min_decoding_length=0,
            max_input_length=0,
        )
        return [[ids[name] for name in result.hypotheses[0]] for result in results]

    return Side(run, (32, 64))


def transformers(job: dict[str, Any]) -> Side:
    """Run ``generate``; a setting is the number of sentences in a batch, and of threads."""
    import torch

    from dragoman.bundle import load_bundle
    from dragoman.interop import to_marian

    bundle = load_bundle(Path(job["model"]))
    model, special = to_marian(bundle), bundle.target_tokenizer.special

    def batch(rows: Sequence[Ids], beam: int) -> list[Ids]:
        width = max(map(len, rows)) + 1
        padded = [[*row, special.end, *[special.padding] * (width - 1 - len(row))] for row in rows]
        source = torch.tensor(padded)
        found = model.generate(
            source,
            attention_mask=(source != special.padding).long(),
            num_beams=beam,
            length_penalty=1.0,
            early_stopping=beam > 1,
            do_sample=False,
            max_new_tokens=LONGEST,
        )
        return [_between(row, special.end) for row in found[:, 1:].tolist()]

    def run(sources: Sequence[Ids], beam: int, setting: Any) -> list[Ids]:
        size, threads = setting
        torch.set_num_threads(threads)
        order = sorted(range(len(sources)), key=lambda number: len(sources[number]))
        found: list[Ids] = [[] for _ in sources]
        with torch.inference_mode():
            for start in range(0, len(order), size):
                group = order[start : start + size]
                for number, ids in zip(
                    group, batch([sources[n] for n in group], beam), strict=True
                ):
                    found[number] = ids
        return found

    return Side(run, ((32, 1), (64, 1), (64, job["threads"])))


def _between(row: Ids, end: int) -> Ids:
    """Take what comes before the end symbol."""
    return row[: row.index(end)] if end in row else row


LOADERS: dict[str, Callable[[dict[str, Any]], Side]] = {
    "dragoman": dragoman,
    "ctranslate2": ctranslate2,
    "transformers": transformers,
}
