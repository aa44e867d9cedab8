"""``dragoman export`` and ``import``: models in other formats, proven to be the same."""

import json
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

import dragoman
from dragoman.cli.lines import say
from dragoman.cli.options import Json, ModelFolder
from dragoman.errors import ConfigError

SourceLanguage = Annotated[
    str | None, typer.Option(help="Code of the language that is read, such as de.")
]
TargetLanguage = Annotated[str | None, typer.Option(help="Code of the language that is written.")]


def export(
    model: ModelFolder,
    folder: Annotated[
        Path | None,
        typer.Argument(help="What to make; FORMAT inside the model folder unless given."),
    ] = None,
    to: Annotated[
        str, typer.Option(metavar="FORMAT", help="ctranslate2, huggingface, onnx or argos.")
    ] = "",
    quantization: Annotated[
        str,
        typer.Option(
            help="How weights are kept: float32; ctranslate2 and argos have float16, bfloat16, "
            "int16 and int8 too, onnx int8."
        ),
    ] = "float32",
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    json_output: Json = False,
) -> None:
    """Write a model in another format, with proof that it is the same model.

    The program that the format is for is run on probe sentences: in float32 its log-probabilities
    and translations must be those of Dragoman, otherwise nothing is written. A choice that the
    format has no place for is refused by name.
    """
    if not to:
        formats = "ctranslate2, huggingface, onnx or argos"
        raise ConfigError("--to", "is missing", f"say which format: {formats}")
    with _whole_or_nothing():
        certificate = dragoman.export(
            model,
            to,
            folder,
            quantization=quantization,
            source_language=source_language,
            target_language=target_language,
        )
    _show(certificate, model / to if folder is None else folder, json_output=json_output)


def import_(
    source: Annotated[
        Path,
        typer.Argument(
            help="A folder of Hugging Face or CTranslate2, a package of Argos Translate, or a "
            "checkpoint of fairseq, JoeyNMT, OpenNMT-py or pytorch-seq2seq.",
            metavar="SOURCE",
        ),
    ],
    to: Annotated[Path, typer.Option(help="Model folder to make.")],
    kind: Annotated[
        str | None,
        typer.Option(
            help="huggingface, ctranslate2, argos, fairseq, joeynmt, opennmt-py or "
            "pytorch-seq2seq; found by looking unless given."
        ),
    ] = None,
    tokenizer: Annotated[
        list[Path] | None,
        typer.Option(
            help="File that says how text is cut: a SentencePiece model, or codes of subword-nmt "
            "or fastBPE; twice for source and target."
        ),
    ] = None,
    vocabulary: Annotated[
        list[Path] | None,
        typer.Option(help="File that lists the pieces; twice for source and target."),
    ] = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    heads: Annotated[
        int | None, typer.Option(min=1, help="Attention heads, where a checkpoint does not say.")
    ] = None,
    norm_order: Annotated[
        str | None, typer.Option(help="post or pre, where a checkpoint does not say.")
    ] = None,
    cut: Annotated[
        str | None,
        typer.Option(
            help="How text is cut where no file says it: pieces, between spaces; characters; "
            "longest, the longest pieces there are; or smiles."
        ),
    ] = None,
    json_output: Json = False,
) -> None:
    """Make a model folder of a model in another format, with proof that it is the same model.

    Nothing in the source is run. Weights that are left over or missing are refused by name, and so
    is a model that its own program runs otherwise on probe sentences.
    """
    _check("--norm-order", norm_order, ("post", "pre"))
    _check("--cut", cut, ("pieces", "characters", "longest", "smiles"))
    with _whole_or_nothing():
        certificate = dragoman.import_model(
            source,
            to,
            kind=kind,
            tokenizer=tuple(tokenizer or ()),
            vocabulary=tuple(vocabulary or ()),
            source_language=source_language,
            target_language=target_language,
            heads=heads,
            norm_order=norm_order,
            cut=cut,
        )
    _show(certificate, to, json_output=json_output)


@contextmanager
def _whole_or_nothing() -> Generator[None]:
    """Let Ctrl-C and SIGTERM end the work with nothing left of it, and say so."""
    usual = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    usual = usual and threading.current_thread() is threading.main_thread()
    if usual:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted; nothing was written")
        raise typer.Exit(130) from None
    except SystemExit as ended:
        say("terminated; nothing was written")
        raise typer.Exit(143) from ended
    finally:
        if usual:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(_: int, __: FrameType | None) -> None:
    raise SystemExit(143)  # which no library takes for an error of its own


def _check(option: str, given: str | None, choices: tuple[str, ...]) -> None:
    if given is not None and given not in choices:
        raise ConfigError(option, f"{given!r} is no choice", f"choose from {', '.join(choices)}")


def _show(certificate: Any, folder: Path, *, json_output: bool) -> None:
    """Print a certificate; Any, as naming its class would load torch."""
    if json_output:
        print(json.dumps(certificate.as_json(), ensure_ascii=False))
        return
    for line in certificate.lines():
        print(line)
    say(f"{folder} holds the model")
