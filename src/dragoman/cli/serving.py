"""``dragoman serve``: models answer over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.lines import say
from dragoman.cli.options import Device, Engine, TranslatorDtype
from dragoman.errors import ConfigError, MissingExtraError

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Model folders, each FOLDER or NAME=FOLDER; de-en as a name tells the languages.",
        ),
    ],
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 5000,
    keys: Annotated[
        Path | None,
        typer.Option(help="File of keys, one a line, one of which every request must bring."),
    ] = None,
    requests_per_minute: Annotated[
        int | None, typer.Option(min=1, help="Of one client, told apart by key or address.")
    ] = None,
    text_characters: Annotated[
        int, typer.Option(min=1, help="Most characters of one text; longer ones get 413.")
    ] = 20_000,
    texts: Annotated[int, typer.Option(min=1, help="Most texts in one request.")] = 200,
    waiting_characters: Annotated[
        int, typer.Option(min=1, help="Most characters that wait; what comes then gets 429.")
    ] = 500_000,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Most seconds for an answer, waiting included.")
    ] = 60.0,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="A line for each request, never its text.")
    ] = False,
    device: Device = "auto",
    dtype: TranslatorDtype = "auto",
    engine: Engine = "auto",
) -> None:
    """Serve translation over HTTP: a page to try it, an API, and that of LibreTranslate.

    Requests of many clients share batches. Interrupted or terminated, it finishes what it has
    accepted.
    """
    known = _keys(keys)
    try:
        from dragoman.serving import Limits, load_served
        from dragoman.serving import serve as run
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "dragoman":
            raise
        raise MissingExtraError("dragoman serve", "serve") from None
    limits = Limits(
        text_characters=text_characters,
        texts=texts,
        waiting_characters=waiting_characters,
        seconds=seconds,
        requests_per_minute=requests_per_minute,
    )
    if host not in LOOPBACK and not known:
        say(f"note: anyone who reaches {host} may translate; --keys FILE asks for a key")
    served = load_served(models, limits, device=device, dtype=dtype, engine=engine, say=say)
    run(
        served,
        host=host,
        port=port,
        limits=limits,
        keys=known,
        log_requests=log_requests,
        say=say,
    )


def _keys(file: Path | None) -> list[str]:
    if file is None:
        return []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("--keys", f"{file}: cannot be read: {error}") from None
    keys = [line.strip() for line in lines if line.strip()]
    if not keys:
        raise ConfigError("--keys", f"{file} holds no key", "write one a line")
    return keys
