"""Commands and options, each a few lines over the library.

Nothing here imports torch before a command needs it: ``dragoman.X`` loads on first use.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

import dragoman
from dragoman.cli.aligning import Links
from dragoman.cli.alternatives import check_alternatives, finder
from dragoman.cli.check import check
from dragoman.cli.compare import compare
from dragoman.cli.documents import Files, check_format, translate_document
from dragoman.cli.drafting import Drafting
from dragoman.cli.drawing import drawing_options, ensemble_options
from dragoman.cli.get import get
from dragoman.cli.idle import refuse_idle
from dragoman.cli.inspect import inspect
from dragoman.cli.lines import lines_in, lines_out, say
from dragoman.cli.measuring import evaluate
from dragoman.cli.one_sided import classify, fill, generate
from dragoman.cli.options import (
    Align,
    Alignment,
    AlignmentHeads,
    Alpha,
    Alternatives,
    At,
    Ban,
    BatchTokens,
    Beam,
    Coverage,
    Device,
    Diversity,
    DraftLength,
    DraftModel,
    Engine,
    Ensemble,
    EnsembleMean,
    GlossaryFile,
    Groups,
    Input,
    Json,
    LengthPenalty,
    MaxLength,
    Mbr,
    MbrOver,
    MinLength,
    MinP,
    ModelFolder,
    NoRepeatNgram,
    Patience,
    Prefix,
    RepetitionPenalty,
    Require,
    Sample,
    Seed,
    Temperature,
    TopK,
    TopP,
    TranslatorDtype,
    WordReward,
)
from dragoman.cli.scoring import score
from dragoman.cli.segments import Segments
from dragoman.cli.serving import serve
from dragoman.cli.training import quickstart, train
from dragoman.cli.verify import verify_resume
from dragoman.errors import ConfigError, DragomanError

app = typer.Typer(
    name="dragoman",
    help="Train and use the Transformer of 'Attention Is All You Need' on your own text.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(asked: bool) -> None:
    if asked:
        print(version("dragoman"))
        raise typer.Exit


@app.callback()
def every_command(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print it and stop."),
    ] = False,
) -> None:
    """Train and use the Transformer of 'Attention Is All You Need' on your own text."""


app.command()(quickstart)
app.command()(train)


@app.command()
def translate(
    model: ModelFolder,
    input: Input = None,
    output: Annotated[Path | None, typer.Option(help="Standard output unless given.")] = None,
    beam: Beam = 4,
    alpha: Alpha = 0.6,
    n_best: Annotated[int, typer.Option(min=1, help="Translations per line, tab between.")] = 1,
    max_length: MaxLength = None,
    length_penalty: LengthPenalty = "paper",
    word_reward: WordReward = 0.0,
    coverage: Coverage = 0.0,
    patience: Patience = None,
    groups: Groups = 1,
    diversity: Diversity = 0.5,
    min_length: MinLength = 0,
    no_repeat_ngram: NoRepeatNgram = 0,
    repetition_penalty: RepetitionPenalty = 1.0,
    prefix: Prefix = None,
    ban: Ban = None,
    require: Require = None,
    glossary: GlossaryFile = None,
    alternatives: Alternatives = None,
    at: At = None,
    ensemble: Ensemble = None,
    ensemble_mean: EnsembleMean = "linear",
    sample: Sample = False,
    temperature: Temperature = 1.0,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    seed: Seed = 1,
    mbr: Mbr = 0,
    mbr_over: MbrOver = "samples",
    alignment: Alignment = None,
    align: Align = False,
    alignment_heads: AlignmentHeads = None,
    draft: DraftModel = None,
    draft_length: DraftLength = 4,
    too_long: Annotated[
        str, typer.Option(help="Lines longer than the model takes: split, cut or blank.")
    ] = "split",
    sentences: Annotated[
        bool, typer.Option("--sentences", help="Translate each sentence of a line on its own.")
    ] = False,
    batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    dtype: TranslatorDtype = "auto",
    engine: Engine = "auto",
    format: Annotated[
        str, typer.Option(help="text: one segment a line; html, po, qt, tmx, xliff: a document.")
    ] = "text",
    target_language: Annotated[
        str | None,
        typer.Option(
            help="What to translate into, for a model of several languages; in a TMX file, the "
            "language to fill."
        ),
    ] = None,
    source_language: Annotated[
        str | None,
        typer.Option(help="In a TMX file, what to translate from; its srclang unless given."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="In a document, also what has a translation.")
    ] = False,
    review: Annotated[
        bool, typer.Option(help="In a document, mark what was filled for review.")
    ] = True,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Write what each score is made of, the runners-up, and every step."
        ),
    ] = False,
    flags: Annotated[
        bool, typer.Option(help="Name lines whose translation looks wrong on standard error.")
    ] = True,
    json_lines: Json = False,
) -> None:
    """Translate line by line, exactly one line out for each line in, or fill a document.

    Blank lines stay blank and lines without letters are copied. Of a document the targets are
    filled and nothing else changes.
    """
    check_format(format, input, n_best=n_best, json_lines=json_lines)
    text = format == "text"
    refuse_idle(
        {
            "--diversity": (diversity != 0.5 and groups == 1, "--groups"),
            "--draft-length": (draft_length != 4 and draft is None, "--draft MODEL"),
            "--overwrite": (overwrite and text, "--format"),
            "--no-review": (not review and text, "--format"),
            "--source-language": (source_language is not None and format != "tmx", "--format tmx"),
        }
    )
    if explain and format != "text":
        raise ConfigError("--explain", "is for lines of text, not for documents", "leave it out")
    how = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p, "seed": seed}
    if prefix is not None and format != "text":
        raise ConfigError("--prefix", "is for lines of text, not for documents", "leave it out")
    drawn = drawing_options(sample, mbr, mbr_over, how, explain=explain)
    document = format != "text"
    links = Links(alignment, align, alignment_heads, json_lines=json_lines, document=document)
    loading: dict[str, Any] = {"device": device, "dtype": dtype, "engine": engine, "say": say}
    joined = ensemble_options(ensemble, ensemble_mean)
    load = partial(dragoman.Translator.load, model, **loading, **joined)
    search: dict[str, Any] = {  # Any: as the library has them
        "beam": beam,
        "alpha": alpha,
        "max_length": max_length,
        "length_penalty": length_penalty,
        "word_reward": word_reward,
        "coverage": coverage,
        "patience": patience,
        "groups": groups,
        "diversity": diversity,
        "min_length": min_length,
        "no_repeat_ngram": no_repeat_ngram,
        "repetition_penalty": repetition_penalty,
        "prefix": prefix,
        "banned_words": ban or (),
        "required": require or (),
        "glossary": () if glossary is None else dragoman.read_glossary(glossary),
        "too_long": too_long,
        "sentences": sentences,
        "batch_tokens": batch_tokens,
        "target_language": target_language,
        **drawn,
    }
    drafting = Drafting.load(draft, draft_length, beam, loading)
    search |= drafting.options
    lines_only = format == "text" and not explain
    check_alternatives(alternatives, at, search, n_best=n_best, text=lines_only)
    if format != "text":
        filling = {"overwrite": overwrite, "review": review}
        if format == "tmx":
            filling |= {"source_language": source_language, "target_language": target_language}
        translate_document(Files(input, output, format), load, search, filling)
        drafting.sum_up()
        return
    translator = load()
    segments = Segments(
        name=str(input or "standard input"),
        too_long=too_long,
        sentences=sentences,
        tabs=n_best == 1,
        json_lines=json_lines,
        explain=explain,
        named=flags,
        beside=links.fields,
        alternatives=finder(translator, alternatives, at or 1, search) if alternatives else None,
    )
    at_once = 1 if input is None and sys.stdin.isatty() else 100 * explain
    with lines_in(input) as lines, lines_out(output) as write:
        translations = translator.stream(
            lines,
            **search,
            n_best=beam if explain and n_best == 1 else n_best,
            trace=explain,
            at_once=at_once,
        )
        with links.following(
            translator, translations, target_language=target_language, at_once=at_once
        ) as aligned:
            segments.write(aligned, write)
    segments.sum_up()
    drafting.sum_up()
    if segments.unfinished:
        raise typer.Exit(2)


for _command in (generate, classify, fill, score, evaluate):
    app.command()(_command)


@app.command()
def average(
    checkpoints: Annotated[
        list[Path], typer.Argument(help="Checkpoints of one run, or model folders.")
    ],
    to: Annotated[Path, typer.Option(help="Model folder to make.")],
) -> None:
    """Average the weights of checkpoints into a model folder (section 6.1)."""
    dragoman.average(checkpoints, to)
    say(f"{to} holds the average of {len(checkpoints)} checkpoints")


@app.command()
def doctor(json_output: Json = False) -> None:
    """Say what this machine has and what of Dragoman works on it."""
    found = dragoman.diagnose()
    if json_output:
        print(json.dumps(found))
        return
    for section, entries in found.items():
        print(section)
        for name, value in entries.items():
            print(f"  {name:<20} {value}")


app.command()(check)
app.command()(get)
app.command()(compare)
app.command()(serve)
app.command()(verify_resume)
app.add_typer(inspect)


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Returns:
        Exit status: 0 done, 2 something the user can mend, 1 a bug, 130 interrupted, 143
        terminated.
    """
    try:
        status = app(args=arguments, standalone_mode=False)  # what typer.Exit was raised with
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return 130
    except DragomanError as error:
        several = isinstance(error, ConfigError)  # a mistake a line; elsewhere one and its details
        if several and os.environ.get("RANK", "0") != "0":
            return 2  # of several processes the first says it for all
        for number, line in enumerate(str(error).splitlines()):
            say(f"error: {line}" if several or number == 0 else line)
        return 2
    except OSError as error:  # a file that cannot be written, a disk that is full
        say(f"error: {error.filename or 'output'}: {error.strerror or error}")
        return 2
    except Exception as error:
        wrong_usage: Callable[[], str] | None = getattr(error, "format_message", None)
        if wrong_usage is not None:  # typer does not make the class of these public
            bare = type(error).__name__ == "NoArgsIsHelpError"
            say(wrong_usage() if bare else f"error: {wrong_usage()}")
            return 2
        traceback.print_exc()
        say("this is a bug in dragoman; please report it with the lines above")
        return 1
    return status if isinstance(status, int) else 0


def entry() -> None:
    """Run the command line and end the process."""
    sys.exit(main())
