"""``dragoman inspect heads``: what each head is worth."""

import json
from itertools import islice
from typing import Annotated, Any, cast

import typer

import dragoman
from dragoman.cli.inspecting import Png, check_png, print_lines
from dragoman.cli.lines import say
from dragoman.cli.measuring import PairsFile, SourceFile, TargetFile, corpus_of
from dragoman.cli.options import Columns, Device, Json, ModelFolder, TargetLanguage
from dragoman.errors import ConfigError, DataError

_UNITS = {"loss": "loss (nats per piece)", "bleu": "BLEU"}


def inspect_heads(
    model: ModelFolder,
    source: SourceFile = None,
    target: TargetFile = None,
    file: PairsFile = None,
    columns: Columns = None,
    lines: Annotated[int | None, typer.Option(min=1, help="Only so many pairs.")] = None,
    metric: Annotated[str, typer.Option(help="loss, or bleu of new translations.")] = "loss",
    beam: Annotated[int, typer.Option(min=1, help="Of the search, for bleu.")] = 1,
    target_language: TargetLanguage = None,
    device: Device = "auto",
    json_output: Json = False,
    png: Png = None,
) -> None:
    """Say how much worse a translator gets without each of its heads, one at a time.

    The test set is read once for every head. Michel et al. 2019, arXiv 1905.10650.
    """
    check_png("--png", png)
    if metric not in _UNITS:
        raise ConfigError("--metric", f"{metric!r} is not a choice", "choose loss or bleu")
    if (file is None) == (source is None) or (source is None) != (target is None):
        raise ConfigError("", "give --source and --target, or --file")
    corpus = corpus_of(source, target, file, None, columns=columns)
    pairs = list(islice(dragoman.open_corpus(corpus), lines))
    if not pairs:
        raise DataError(dragoman.corpus_name(corpus), "no lines", "give at least one pair")
    from dragoman.inspection import draw_heads, effect_lines  # loads torch
    from dragoman.translator import measure_heads

    whole, count, effects = measure_heads(
        dragoman.Translator.load(model, device=device, engine="torch"),
        [pair.source for pair in pairs],
        [pair.target for pair in pairs],
        metric=cast("Any", metric),
        beam=beam,
        target_language=target_language,
    )
    found: list[Any] = []
    for number, effect in enumerate(effects, start=1):
        found.append(effect)
        if number % max(1, count // 10) == 0 or number == count:
            say(f"{number} of {count} heads left out")
    if png is not None:
        draw_heads(found, png, _UNITS[metric])
        say(f"{png} holds the picture")
    if json_output:
        print_lines([json.dumps(_summary(metric, whole, len(pairs), found))])
    else:
        print_lines(effect_lines(found, whole, _UNITS[metric]))


def _summary(metric: str, whole: float, pairs: int, effects: list[Any]) -> dict[str, Any]:
    heads = [
        {
            "kind": each.head.kind,
            "layer": each.head.layer + 1,
            "head": each.head.head + 1,
            "value": each.value,
            "worse": each.worse,
        }
        for each in effects
    ]
    return {"metric": metric, "pairs": pairs, "whole": whole, "heads": heads}
