"""``dragoman check``: what is wrong with parallel text, before it hurts."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman.errors import ConfigError


def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="source<TAB>target files, or one RECIPE.toml.", metavar="[FILE]..."),
    ] = None,
    source: Annotated[Path | None, typer.Option(help="Instead of FILE: source text.")] = None,
    target: Annotated[Path | None, typer.Option(help="Its translations, line by line.")] = None,
    validation_source: Annotated[
        Path | None, typer.Option(help="Compared with the rest for overlap.")
    ] = None,
    validation_target: Annotated[Path | None, typer.Option(help="Its translations.")] = None,
    test_source: Annotated[Path | None, typer.Option(help="As --validation-source.")] = None,
    test_target: Annotated[Path | None, typer.Option(help="Its translations.")] = None,
    model: Annotated[
        Path | None, typer.Option(help="Folder whose tokenizer is tried on the text.")
    ] = None,
    samples: Annotated[int, typer.Option(min=0, help="Pairs shown of each kind of fault.")] = 3,
    fix: Annotated[
        Path | None,
        typer.Option(help="New folder for a cleaned copy and a log.", metavar="OUT"),
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Find faults in parallel text. Exit status 2 if training on it would be wrong."""
    from dragoman.data.check import Report  # loads torch
    from dragoman.data.check import check as check_corpus
    from dragoman.data.check import fix as fix_corpus

    given = files or []
    pair = _two_files(source, target, "source", "target")
    if (pair is None) == (not given):
        raise ConfigError("", "give FILE, or both --source and --target")
    validation = _two_files(
        validation_source, validation_target, "validation-source", "validation-target"
    )
    test = _two_files(test_source, test_target, "test-source", "test-target")
    named = [("train", pair)] if pair is not None else _named(given)
    if pair is None and given[0].suffix == ".toml":
        named, validation, test = _of_recipe(given, validation, test)
    if len(named) > 1 and (validation or test or fix):
        raise ConfigError("", "several files are checked one by one", "give a single one")
    tokenizers = _tokenizers(model)
    found: list[Any] = []  # Any: naming the type loads torch
    for name, corpus in named:
        report = check_corpus(
            corpus,
            validation=validation,
            test=test,
            tokenizers=tokenizers,
            samples=samples,
            name=name,
        )
        found += report.sets
    together = Report(sets=tuple(found))
    fixed = fix_corpus(named[0][1], found[0], fix) if fix is not None else None
    _print(together, fixed, json_output)
    if together.wrong:
        raise typer.Exit(2)


def _print(report: Any, fixed: Any, as_json: bool) -> None:  # Any: naming the types loads torch
    if as_json:
        print(json.dumps(report.summary(), ensure_ascii=False))
    else:
        for line in report.lines():
            print(line)
    if fixed is not None:
        print(
            f"{fixed.folder} holds {fixed.kept:,} pairs, {fixed.changed:,} of them changed; "
            f"{fixed.dropped:,} were dropped; log.tsv lists both",
            file=sys.stderr,
        )


def _two_files(source: Path | None, target: Path | None, left: str, right: str) -> Any:
    """Make a corpus of two files, or of none."""
    from dragoman.data import Files  # loads torch

    if (source is None) != (target is None):
        raise ConfigError("", f"give both --{left} and --{right}")
    return None if source is None or target is None else Files(source=source, target=target)


def _named(files: Sequence[Path]) -> list[tuple[str, Any]]:  # Any: naming the type loads torch
    """Make a corpus of each file."""
    from dragoman.data import TsvFile  # loads torch

    if len(files) == 1:
        return [("train", TsvFile(file=files[0]))]
    return [(file.name, TsvFile(file=file)) for file in files]


def _of_recipe(
    files: Sequence[Path], validation: Any, test: Any
) -> tuple[list[tuple[str, Any]], Any, Any]:
    """Take the corpora of a recipe; its own validation and test sets yield to those given."""
    from dragoman.data import Files, TsvFile  # loads torch
    from dragoman.recipe import read_recipe

    if len(files) > 1:
        raise ConfigError("", "a recipe is checked alone", "give no other file")
    data = read_recipe(files[0]).data
    if not isinstance(data.train, Files | TsvFile):
        raise ConfigError("data.train", "is no parallel text", "check works on pairs")
    return [("train", data.train)], validation or data.validation, test or data.test


def _tokenizers(model: Path | None) -> tuple[Any, ...]:  # Any: naming the type loads torch
    """Read the tokenizers of a model folder."""
    from dragoman.errors import ModelError
    from dragoman.tokenization import Tokenizer

    if model is None:
        return ()
    files = [model / "source.tokenizer.json", model / "target.tokenizer.json"]
    if not files[0].is_file():
        files = [model / "tokenizer.json"]
    if not files[0].is_file():
        raise ModelError(f"{model}: no tokenizer.json; give a model or run folder")
    return tuple(Tokenizer.load(file) for file in files)
