"""``dragoman translate``: text line by line, or the targets of a document."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import dragoman
from dragoman.cli.aligning import Links
from dragoman.cli.alternatives import check_alternatives, finder
from dragoman.cli.documents import Files, check_format, translate_document
from dragoman.cli.drafting import Drafting
from dragoman.cli.drawing import drawing_options, ensemble_options
from dragoman.cli.idle import refuse_idle
from dragoman.cli.lines import lines_in, lines_out, say
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
    MaxExtra,
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
from dragoman.cli.segments import Segments
from dragoman.errors import ConfigError


def translate(
    model: ModelFolder,
    input: Input = None,
    output: Annotated[Path | None, typer.Option(help="Standard output unless given.")] = None,
    beam: Beam = 4,
    alpha: Alpha = 0.6,
    n_best: Annotated[int, typer.Option(min=1, help="Translations per line, tab between.")] = 1,
    max_length: MaxLength = None,
    max_extra: MaxExtra = 50,
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
        "max_extra": max_extra,
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
