"""Commands that measure a model on text it has not seen."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

import dragoman
from dragoman.cli.drawing import ensemble_options
from dragoman.cli.lines import lines_out, say
from dragoman.cli.options import (
    Alpha,
    Ban,
    BatchTokens,
    Beam,
    Columns,
    Coverage,
    Device,
    Diversity,
    Engine,
    Ensemble,
    EnsembleMean,
    Groups,
    Json,
    LengthPenalty,
    MaxExtra,
    MaxLength,
    MinLength,
    ModelFolder,
    NoRepeatNgram,
    Patience,
    RepetitionPenalty,
    TargetLanguage,
    TranslatorDtype,
    WordReward,
    as_options,
)
from dragoman.errors import ConfigError, ModelError

SourceFile = Annotated[
    Path | None, typer.Option("--source", help="One sentence a line; may be .gz.")
]
TargetFile = Annotated[
    Path | None, typer.Option("--target", help="Its translations or labels, line by line.")
]
PairsFile = Annotated[
    Path | None,
    typer.Option("--file", help="Instead of both: one file of pairs; its name says its format."),
]
TextFile = Annotated[Path | None, typer.Option("--text", help="Plain text; may be .gz.")]


def evaluate(
    model: ModelFolder,
    source: SourceFile = None,
    target: TargetFile = None,
    file: PairsFile = None,
    columns: Columns = None,
    text: TextFile = None,
    images: Annotated[Path | None, typer.Option(help=".npz with arrays images and labels.")] = None,
    documents: Annotated[
        str, typer.Option(help="What of --text is one document: line, blank-lines, file.")
    ] = "line",
    context: Annotated[
        int, typer.Option(min=1, help="Pieces of --text seen at once, as in training.")
    ] = 256,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Of bleu, chrf, ter, exact, wer, brackets, and the paper's paper-bleu-de, "
            "paper-bleu-fr; comma between. bleu,chrf unless given."
        ),
    ] = None,
    alternatives: Annotated[
        bool, typer.Option(help="Lines of the same source are one item; exact,wer.")
    ] = False,
    hypotheses: Annotated[Path | None, typer.Option(help="Keep the translations here.")] = None,
    tokenize: Annotated[str, typer.Option(help="sacreBLEU tokenizer, such as zh or char.")] = "",
    target_language: TargetLanguage = None,
    beam: Beam = 4,
    alpha: Alpha = 0.6,
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
    ban: Ban = None,
    ensemble: Ensemble = None,
    ensemble_mean: EnsembleMean = "linear",
    batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    dtype: TranslatorDtype = "auto",
    engine: Engine = "auto",
    json_output: Json = False,
) -> None:
    """Measure a model on a test set of its kind.

    Translators translate --source and are compared with --target, by metrics with their signatures.
    Language models are measured on --text, encoders on --text with gaps, on --source with labels in
    --target, or on --images. --file has source and target, or text and label, in two columns.
    """
    corpus = corpus_of(
        source, target, file, text, images=images, documents=documents, columns=columns
    )
    controls: dict[str, Any] = {  # Any: as the library has them
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
    }
    search = dragoman.BeamSearch(**controls)
    loading: dict[str, Any] = {"device": device, "dtype": dtype, "engine": engine, "say": say}
    if joined := ensemble_options(ensemble, ensemble_mean):
        loaded: Any = dragoman.Translator.load(model, **loading, **joined)
    else:
        loaded = dragoman.load_model(model, **loading)
    if isinstance(loaded, dragoman.Translator):
        if not isinstance(corpus, dragoman.ParallelCorpus):
            problem = "a translator is measured on --source and --target, or --file"
            raise ModelError(f"{model}: {problem}")
        options: dict[str, Any] = {
            "corpus": corpus,
            "search": search,
            "banned_words": ban or (),
            "batch_tokens": batch_tokens,
            "target_language": target_language,
        }  # Any: of each
        if metrics is not None:
            options["metrics"] = metrics.split(",")
        if alternatives:
            if tokenize:
                raise ConfigError("--tokenize", "is for BLEU, and --alternatives has none")
            found = dragoman.evaluate_alternatives(loaded, **options)
        else:
            found = dragoman.evaluate(loaded, tokenize=tokenize, **options)
        if hypotheses is not None:
            with lines_out(hypotheses) as write:
                for line in found.hypotheses:
                    write(dragoman.one_line(line))
    else:
        for_translators = {
            "--metrics": metrics is not None,
            "--hypotheses": hypotheses is not None,
            "--alternatives": alternatives,
            "--target-language": target_language is not None,
            "--ban": ban is not None,
            "--engine": engine != "auto",
            **_changed(search),
        }
        refuse(for_translators, f"is for translators, and {model} is none")
        try:
            found = dragoman.measure(loaded, corpus, context=context, batch_tokens=batch_tokens)
        except ModelError as error:
            raise ModelError(f"{model}: {error}") from None
    for line in [json.dumps(found.summary())] if json_output else found.lines():
        print(line)


def corpus_of(
    source: Path | None,
    target: Path | None,
    file: Path | None,
    text: Path | None,
    *,
    images: Path | None = None,
    documents: str = "line",
    columns: str | None = None,
) -> Any:  # Any: naming the types loads torch
    """Make the one corpus of the options."""
    given = [path for path in (source or target, file, text, images) if path is not None]
    if len(given) != 1 or (source is None) != (target is None):
        raise ConfigError("", "give --source and --target, or --file, or --text, or --images")
    if documents not in ("line", "blank-lines", "file"):
        hint = "choose from line, blank-lines, file"
        raise ConfigError("--documents", f"{documents!r} is not a choice", hint)
    if columns is not None and file is None:
        raise ConfigError("--columns", "is for --file", "leave it out")
    if text is not None:
        return dragoman.Text(text=text, documents=documents)
    if images is not None:
        return dragoman.ImageFile(images=images)
    if file is not None:
        with as_options():
            return dragoman.corpus_of_file(file, columns.split(",") if columns is not None else ())
    assert source is not None
    assert target is not None
    return dragoman.Files(source=source, target=target)


def _changed(search: Any) -> dict[str, bool]:  # Any: naming the type loads torch
    """Say of each option of the search whether it was given another value than it has."""
    usual = dragoman.BeamSearch()
    return {
        f"--{each.name.replace('_', '-')}": getattr(search, each.name) != getattr(usual, each.name)
        for each in fields(usual)
    }


def refuse(options: dict[str, bool], problem: str) -> None:
    """Refuse options that were given and have no meaning here."""
    for option, given in options.items():
        if given:
            raise ConfigError(option, problem, "leave it out")
