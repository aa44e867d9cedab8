"""``dragoman get``: a public corpus, fetched because a user asks for it by name."""

import json
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.lines import say
from dragoman.cli.options import Json
from dragoman.errors import ConfigError


def get(
    name: Annotated[
        str | None, typer.Argument(help="Which corpus; --list shows all.", metavar="NAME")
    ] = None,
    to: Annotated[
        Path | None, typer.Option(help="Folder for it; named like the corpus unless given.")
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="Show what can be had, and stop.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="You agree to the licence.")] = False,
    json_output: Json = False,
) -> None:
    """Fetch a public corpus: licence first, digests checked, resumed where it stopped."""
    from dragoman.cli.download import agree, show, show_catalogue, summary  # loads what speaks HTTP
    from dragoman.downloads import complete_files, data_table, find_corpus, get_corpus

    if list_all:
        show_catalogue(json_output)
        return
    if name is None:
        raise ConfigError("", "give NAME", "dragoman get --list shows what can be had")
    corpus = find_corpus(name)
    folder = to or Path(corpus.name)
    if not complete_files(corpus, folder):
        agree(corpus, folder, yes)
    try:
        ready = show(get_corpus(corpus, folder))
    except KeyboardInterrupt:
        say(f"what has come stays in {folder / 'downloads'}; the same command goes on from there")
        raise
    if json_output:
        print(json.dumps(summary(corpus, ready), ensure_ascii=False))
    else:
        print(data_table(corpus, folder), end="")
