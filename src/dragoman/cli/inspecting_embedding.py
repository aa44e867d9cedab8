"""``dragoman inspect embedding``: pieces that are alike to a model."""

import json
from dataclasses import astuple
from typing import Annotated

import typer

from dragoman.cli.inspecting import print_lines
from dragoman.cli.lines import say
from dragoman.cli.options import Json, ModelFolder
from dragoman.errors import ConfigError, ModelError


def inspect_embedding(
    model: ModelFolder,
    word: Annotated[str, typer.Argument(help="A word, or any text.", metavar="WORD")],
    side: Annotated[str, typer.Option(help="Whose table: source or target.")] = "source",
    count: Annotated[int, typer.Option(min=1, help="Neighbours.")] = 10,
    json_output: Json = False,
) -> None:
    """Print the pieces whose vectors are nearest to that of a word, by cosine.

    A word of several pieces stands where the mean of their vectors does. A piece that begins a word
    is printed with its space.
    """
    if side not in ("source", "target"):
        raise ConfigError("--side", f"{side!r} is not a choice", "choose source or target")
    from dragoman.bundle import load_bundle  # loads torch
    from dragoman.inspection import nearest_pieces, piece_table

    bundle = load_bundle(model)
    if not bundle.tokenizers:
        raise ModelError(f"{model}: reads images, so it has no vectors of pieces")
    target = side == "target"
    tokenizer = bundle.target_tokenizer if target else bundle.source_tokenizer
    ids = tokenizer.encode(word)
    if not ids:
        raise ConfigError("WORD", f"{word!r} has no pieces", "give a word")
    special = [each for each in astuple(tokenizer.special) if isinstance(each, int)]
    found = nearest_pieces(piece_table(bundle.model, target=target), ids, count, without=special)
    pieces = tokenizer.pieces(ids)
    named = list(zip(tokenizer.pieces([each.id for each in found]), found, strict=True))
    if len(ids) > 1:
        say(f"{word!r} is {len(ids)} pieces: {pieces}; this is the mean of their vectors")
    if json_output:
        rows = [{"piece": name, "id": each.id, "cosine": each.cosine} for name, each in named]
        print_lines([json.dumps({"pieces": pieces, "neighbours": rows}, ensure_ascii=False)])
        return
    print_lines(f"{each.cosine:+.4f}  {name!r}" for name, each in named)
