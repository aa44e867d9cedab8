"""``dragoman inspect attention``: who looked at whom, as arrays, text, picture and page."""

import io
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

import dragoman
from dragoman.atomic import write_bytes, write_text
from dragoman.cli.lines import lines_out, say
from dragoman.cli.options import Beam, Device, ModelFolder, TargetLanguage
from dragoman.errors import ConfigError, DataError

Pair = tuple[str, str | None]
_MOST = 1_000  # pairs held at once
_MOST_ON_A_PAGE = 100


def inspect_attention(
    model: ModelFolder,
    source: Annotated[str | None, typer.Option(help="Text.", metavar="TEXT")] = None,
    target: Annotated[
        str | None,
        typer.Option(help="Its translation; the model's own unless given.", metavar="TEXT"),
    ] = None,
    input: Annotated[
        list[Path] | None,
        typer.Option(
            "--input",
            help="Instead: a file of pairs (TSV) or of sources, a line each; twice for two files.",
        ),
    ] = None,
    lines: Annotated[int | None, typer.Option(min=1, help="Only so many lines of --input.")] = None,
    kind: Annotated[
        str, typer.Option(help="Shown as text and picture: encoder, decoder, cross.")
    ] = "cross",
    layer: Annotated[
        int | None, typer.Option(min=1, help="Shown, from 1; the last unless given.")
    ] = None,
    head: Annotated[
        int | None, typer.Option(min=1, help="Shown, from 1; the mean of all unless given.")
    ] = None,
    npz: Annotated[Path | None, typer.Option(help="Write all weights here, NumPy .npz.")] = None,
    png: Annotated[
        Path | None, typer.Option(help="Draw a picture; of several pairs one each, numbered.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with all layers and heads; needs no network.")
    ] = None,
    beam: Beam = 4,
    target_language: TargetLanguage = None,
    device: Device = "auto",
) -> None:
    """Show who attends to whom when a text is translated (figures 3 to 5).

    A map is printed as text, darker is more. Rows of decoder and cross are named after the piece
    that was being written.
    """
    for option, path, suffix in (("npz", npz, ".npz"), ("png", png, ".png"), ("html", html, "")):
        if path is not None and suffix and path.suffix.lower() != suffix:
            raise ConfigError(f"--{option}", f"{path} is not named {suffix}", "name it so")
    if kind not in ("encoder", "decoder", "cross"):
        raise ConfigError("--kind", f"{kind!r} is no kind", "choose encoder, decoder or cross")
    pairs = _pairs(source, target, input, lines)
    if html is not None and len(pairs) > _MOST_ON_A_PAGE:
        hint = f"give --lines {_MOST_ON_A_PAGE}"
        raise ConfigError("--html", f"{len(pairs)} pairs are too many for a page", hint)
    translator = dragoman.Translator.load(model, device=device, engine="torch")
    _check_choice(translator, kind, layer, head)
    maps = _all_maps(translator, pairs, beam, target_language)
    show = _Choice(cast("Any", kind), layer, head)
    if npz is not None:
        write_bytes(npz, _arrays(maps))
        say(f"{npz} holds the weights")
    if html is not None:
        from dragoman.inspection import attention_page  # loads torch

        write_text(html, attention_page(maps, f"Attention of {model.resolve().name}"))
        say(f"{html} holds the page")
    if png is not None:
        show.pictures(maps, png)
    with lines_out(None) as write:  # last, as nobody may read it to its end
        for number, each in enumerate(maps, start=1):
            show.text(each, number if len(maps) > 1 else 0, write)


class _Choice:
    """Which map is shown; layer and head from 1, None for the last and for the mean."""

    def __init__(
        self, kind: Literal["encoder", "decoder", "cross"], layer: int | None, head: int | None
    ) -> None:
        self.kind: Literal["encoder", "decoder", "cross"] = kind
        self.layer, self.head = layer, head

    def text(self, maps: Any, number: int, write: Callable[[str], None]) -> None:
        """Write a map as text, with a heading."""
        from dragoman.inspection import heat_map, piece_labels  # loads torch

        view = maps.view(self.kind)
        layer, head = self._places(view)
        shown = "mean of all heads" if head is None else f"head {head + 1}"
        before = f"pair {number}, " if number else ""
        if number > 1:
            write("")
        write(f"{before}{self.kind}, layer {layer + 1}, {shown}; each row looks, darker is more")
        rows, columns = piece_labels(view.rows), piece_labels(view.columns)
        for line in heat_map(view.chosen(layer, head), rows, columns).split("\n"):
            write(line)

    def pictures(self, maps: Sequence[Any], path: Path) -> None:
        """Draw each pair."""
        from dragoman.inspection import draw_attention  # loads torch

        notes: list[str] = []
        for number, each in enumerate(maps, start=1):
            place = path.with_stem(f"{path.stem}-{number}") if len(maps) > 1 else path
            layer, head = self._places(each.view(self.kind))
            notes += draw_attention(each, place, kind=self.kind, layer=layer, head=head)
            say(f"{place} holds the picture")
        for note in dict.fromkeys(notes):
            say(f"note: {note}")

    def _places(self, view: Any) -> tuple[int, int | None]:
        layer = view.weights.shape[0] if self.layer is None else self.layer
        return layer - 1, None if self.head is None else self.head - 1


def _pairs(
    source: str | None, target: str | None, files: list[Path] | None, lines: int | None
) -> list[Pair]:
    """Read what is to be shown."""
    if (source is None) == (files is None):
        raise ConfigError("--source", "one of --source and --input is needed", "give --source TEXT")
    if files is None:
        if lines is not None:
            raise ConfigError("--lines", "is for --input", "leave it out")
        return [(cast("str", source), target)]
    if target is not None or len(files) > 2:
        problem = "goes with --source" if target is not None else "names more than two files"
        place = "--target" if target is not None else "--input"
        raise ConfigError(place, problem, "give --input once, or twice for source and target")
    most = lines or _MOST
    if len(files) == 2:
        found = dragoman.open_corpus(dragoman.Files(source=files[0], target=files[1]))
        pairs: list[Pair] = [(each.source, each.target) for each in islice(found, most + 1)]
    else:
        pairs = [
            _columns(files[0], n, line)
            for n, line in enumerate(islice(dragoman.read_lines(files[0]), most + 1), 1)
        ]
    if not pairs:
        raise DataError(files[0], "no lines", "give at least one")
    if lines is None and len(pairs) > most:
        raise ConfigError("--input", f"has more than {most:,} lines", f"give --lines {most}")
    return pairs[:most]


def _columns(file: Path, number: int, line: str) -> Pair:
    """Cut a line at its tab."""
    parts = line.split("\t")
    if len(parts) > 2:
        problem = f"{len(parts)} columns"
        raise DataError(file, problem, "give source and target, one tab between", line=number)
    return parts[0], parts[1] if len(parts) == 2 else None


def _check_choice(translator: Any, kind: str, layer: int | None, head: int | None) -> None:
    """See that layer and head exist, before anything is translated."""
    config = translator.bundle.config
    heads = getattr(config, "heads", None)
    if heads is None:
        return  # no Transformer; what is asked of it says so
    layers = config.layers
    if kind != "encoder" and config.decoder_layers is not None:
        layers = config.decoder_layers
    for option, given, most in (("--layer", layer, layers), ("--head", head, heads)):
        if given is not None and given > most:
            raise ConfigError(option, f"{given} of {most}", f"choose from 1 to {most}")


def _all_maps(translator: Any, pairs: Sequence[Pair], beam: int, language: str | None) -> list[Any]:
    search = dragoman.BeamSearch(beam=beam)
    maps: list[Any] = []
    for number, (source, target) in enumerate(pairs, start=1):
        try:
            maps += translator.attention(
                [source], [target], search=search, target_language=language
            )
        except ConfigError:
            raise
        except ValueError as error:
            raise DataError("source", str(error), "shorten it", line=number) from None
    return maps


def _arrays(maps: Sequence[Any]) -> bytes:
    """Pack the weights and names of all pairs; of several, each name begins with its number."""
    import numpy as np

    arrays: dict[str, Any] = {}
    for number, each in enumerate(maps, start=1):
        before = f"{number}." if len(maps) > 1 else ""
        for name in ("encoder", "decoder", "cross"):
            arrays[f"{before}{name}"] = getattr(each, name)
        for name in ("source_pieces", "target_pieces", "written_pieces"):
            arrays[f"{before}{name}"] = np.array(getattr(each, name), dtype=np.str_)
    held = io.BytesIO()
    np.savez_compressed(held, **arrays)
    return held.getvalue()
