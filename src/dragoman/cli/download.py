"""What ``dragoman get`` says: the catalogue, the licence, the events of a download.

Importing this loads what speaks HTTP and draws bars, so ``get.py`` does it inside the command.
"""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from dragoman.cli.lines import say
from dragoman.downloads import (
    CATALOGUE,
    Event,
    Fetching,
    Joined,
    Joining,
    PublicCorpus,
    Ready,
    Received,
    Trouble,
    Verified,
)
from dragoman.errors import ConfigError


def show_catalogue(as_json: bool) -> None:
    """Print what can be had."""
    if as_json:
        print(json.dumps([_entry(corpus) for corpus in CATALOGUE], ensure_ascii=False))
        return
    for corpus in CATALOGUE:
        print(f"{corpus.name:<18} {_amount(corpus.download_bytes):>9}  {corpus.title}")
        print(f"{'':<18} {'':>9}  {corpus.licence}")


def agree(corpus: PublicCorpus, folder: Path, yes: bool) -> None:
    """Show the licence and what will come, and ask; nothing has been fetched yet.

    Raises:
        ConfigError: the user does not agree, or cannot be asked.
    """
    say(f"{corpus.name}: {corpus.title}")
    say(f"licence: {corpus.licence}")
    say(f"         {corpus.licence_url}")
    say(f"please cite: {corpus.citation}")
    say(
        f"to fetch: {_amount(corpus.download_bytes)} into {folder}, "
        f"about {_amount(corpus.text_bytes)} of text"
    )
    for archive in corpus.archives:
        copy = archive.copies[0]
        say(f"  {_amount(copy.size):>9}  {copy.urls[0]}")
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ConfigError("", "nobody can be asked about the licence here", "agree with --yes")
    if not typer.confirm("Fetch it under this licence?", default=False, err=True):
        raise ConfigError("", "nothing was fetched")


def show(events: Iterable[Event]) -> Ready:
    """Say what happens on standard error, with a bar on a terminal."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    ready: Ready | None = None
    tenths = _Tenths()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        bar = progress.add_task("", total=None, visible=False)
        for event in events:
            if isinstance(event, Fetching | Received):
                progress.update(
                    bar,
                    description=event.file,
                    completed=event.have_bytes,
                    total=event.total_bytes,
                    visible=True,
                )
            if isinstance(event, Ready):
                ready = event
            line = _describe(event)
            if isinstance(event, Received) and not console.is_terminal:
                line = tenths.line(event)
            if line:
                progress.console.print(line, markup=False)
    assert ready is not None
    return ready


class _Tenths:
    """A line for each tenth of a large file, for logs, where no bar can be drawn."""

    least_bytes = 10_000_000

    def __init__(self) -> None:
        self._said: dict[str, int] = {}

    def line(self, event: Received) -> str:
        """Say how far a file is, when that is news."""
        if event.total_bytes is None or event.total_bytes < self.least_bytes:
            return ""
        tenth = 10 * event.have_bytes // event.total_bytes
        if tenth <= self._said.get(event.file, 0):
            return ""
        self._said[event.file] = tenth
        return f"{event.file}: {tenth * 10} % of {_amount(event.total_bytes)}"


def _describe(event: Event) -> str:
    """Say an event in one line; nothing for one that only moves the bar."""
    match event:
        case Fetching():
            verb = f"going on at byte {event.have_bytes:,} of" if event.have_bytes else "fetching"
            return f"{verb} {event.file} ({_amount(event.total_bytes)}) from {event.url}"
        case Received():
            return ""
        case Trouble():
            return f"{event.url}: {event.problem}; {event.then}"
        case Verified():
            return f"{event.path.name}: {event.digest}{'' if event.url else ', already here'}"
        case Joining():
            return f"writing {event.name}"
        case Joined():
            return f"{event.name}: {event.pairs:,} pairs"
        case Ready():
            if event.was_there:
                return f"{event.folder} is complete; nothing was fetched"
            return f"{event.folder} is complete; {event.folder / 'downloads'} may be deleted"


def summary(corpus: PublicCorpus, ready: Ready) -> dict[str, Any]:  # Any: JSON
    """Say for programs what is there now."""
    files = [{**asdict(file), "path": str(file.path)} for file in ready.files]
    return {
        **_entry(corpus),
        "folder": str(ready.folder),
        "was_there": ready.was_there,
        "files": files,
    }


def _entry(corpus: PublicCorpus) -> dict[str, Any]:  # Any: JSON
    names = (
        "name title source_language target_language licence licence_url homepage citation "
        "download_bytes text_bytes"
    )
    return {name: getattr(corpus, name) for name in names.split()}


def _amount(size: int | None) -> str:
    if size is None:
        return "size unknown"
    amount, unit = float(size), "B"
    for larger in ("kB", "MB", "GB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:,.3g} {unit}" if amount < 1000 else f"{amount:,.0f} {unit}"
