"""``dragoman check``: what is wrong with parallel text, before it hurts."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman.cli.options import Columns, as_options
from dragoman.errors import ConfigError, DataError


@dataclass(frozen=True, slots=True)
class _Form:
    """How files are written, as far as their names do not say."""

    columns: str | None
    encoding: str | None

    def refuse(self, recipe: Path) -> None:
        """Refuse what stands in a recipe.

        Raises:
            ConfigError: it was given as an option.
        """
        for option, given in (("--columns", self.columns), ("--encoding", self.encoding)):
            if given is not None:
                raise ConfigError(option, f"{recipe} says this itself", "set it there")


def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Pairs in tsv, csv, jsonl, parquet, tmx, po, mo, xliff or ts; or a RECIPE.toml.",
            metavar="[FILE]...",
        ),
    ] = None,
    source: Annotated[Path | None, typer.Option(help="Instead of FILE: source text.")] = None,
    target: Annotated[Path | None, typer.Option(help="Its translations, line by line.")] = None,
    validation_source: Annotated[
        Path | None, typer.Option(help="Compared with the rest for overlap.")
    ] = None,
    validation_target: Annotated[Path | None, typer.Option(help="Its translations.")] = None,
    test_source: Annotated[Path | None, typer.Option(help="As --validation-source.")] = None,
    test_target: Annotated[Path | None, typer.Option(help="Its translations.")] = None,
    columns: Columns = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of text files, such as cp1252; found by itself if marked.")
    ] = None,
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
    from dragoman.data.check import Report, check_sets  # loads torch
    from dragoman.data.check import fix as fix_corpus

    given = files or []
    form = _Form(columns, encoding)
    pair = _two_files(source, target, "source", "target", encoding)
    if (pair is None) == (not given):
        raise ConfigError("", "give FILE, or both --source and --target")
    validation = _two_files(
        validation_source, validation_target, "validation-source", "validation-target", encoding
    )
    test = _two_files(test_source, test_target, "test-source", "test-target", encoding)
    held_out = [(name, c) for name, c in (("validation", validation), ("test", test)) if c]
    named = [("train", pair)] if pair is not None else []
    recipe = given[0] if pair is None and given[0].suffix == ".toml" else None
    if recipe is not None:
        form.refuse(recipe)
        named, held_out = _of_recipe(given, dict(held_out))
    elif pair is None:
        named = _named(given, form)
    if len(named) > 1 and (fix or (held_out and recipe is None)):
        raise ConfigError("", "several files are checked one by one", "give a single one")
    if fix is not None and fix.exists():  # said now, not after hours of reading
        raise DataError(fix, "exists already", "choose a new folder")
    tokenizers = _tokenizers(model)
    together = [named] if recipe is not None else [[each] for each in named]
    found: list[Any] = []  # Any: naming the type loads torch
    for sets in together:
        found += check_sets(sets, held_out, tokenizers=tokenizers, samples=samples).sets
    if recipe is not None:
        found[: len(named)] = _with_needs(found[: len(named)], recipe)
    report = Report(sets=tuple(found))
    fixed = fix_corpus(named[0][1], found[0], fix) if fix is not None else None
    _print(report, fixed, json_output)
    if report.wrong:
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


def _two_files(
    source: Path | None, target: Path | None, left: str, right: str, encoding: str | None
) -> Any:
    """Make a corpus of two files, or of none."""
    from dragoman.data import Files  # loads torch

    if (source is None) != (target is None):
        raise ConfigError("", f"give both --{left} and --{right}")
    if source is None or target is None:
        return None
    with as_options():
        return Files(source=source, target=target, encoding=encoding)


def _named(files: Sequence[Path], form: _Form) -> list[tuple[str, Any]]:  # Any: loads torch
    """Make a corpus of each file, by its name."""
    from dragoman.data import corpus_of_file  # loads torch

    columns = form.columns.split(",") if form.columns is not None else []
    with as_options():
        corpora = [corpus_of_file(file, columns, encoding=form.encoding) for file in files]
    names = ["train"] if len(files) == 1 else [file.name for file in files]
    return list(zip(names, corpora, strict=True))


def _of_recipe(
    files: Sequence[Path], given: dict[str, Any]
) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """Take the corpora of a recipe, those to learn from and those held out.

    Its own validation and test sets yield to those given.
    """
    from dragoman.data import ParallelCorpus, Several  # loads torch
    from dragoman.recipe import read_recipe

    if len(files) > 1:
        raise ConfigError("", "a recipe is checked alone", "give no other file")
    data = read_recipe(files[0]).data
    if not isinstance(data.train, ParallelCorpus | Several):
        raise ConfigError("data.train", "is no parallel text", "check works on pairs")
    held_out = {"validation": data.validation, "test": data.test} | given
    return _each("train", data.train), [
        named for name, corpus in held_out.items() if corpus for named in _each(name, corpus)
    ]


def _each(name: str, corpus: Any) -> list[tuple[str, Any]]:  # Any: naming the type loads torch
    """Name every corpus of a set; numbers are those that messages about a recipe have."""
    from dragoman.data import parts_of  # loads torch

    parts = parts_of(corpus)
    if len(parts) == 1:
        return [(name, parts[0])]
    return [(f"{name} {number}", part) for number, part in enumerate(parts, start=1)]


def _with_needs(reports: Sequence[Any], recipe: Path) -> list[Any]:  # Any: loads torch
    """Note at the first set what training by the recipe will need for all of them."""
    from dragoman.recipe import read_recipe, training_needs

    needs = training_needs(read_recipe(recipe))
    if needs is None:
        return [*reports]
    characters = sum(r.source.characters + r.target.characters for r in reports)
    lines = needs.lines(pairs=sum(r.pairs for r in reports), characters=characters)
    first = replace(reports[0], notes=(*reports[0].notes, *lines))
    return [first, *reports[1:]]


def _tokenizers(model: Path | None) -> tuple[Any, ...]:  # Any: naming the type loads torch
    """Read the tokenizers of a model folder."""
    from dragoman.errors import ModelError
    from dragoman.tokenization import load_tokenizer

    if model is None:
        return ()
    files = [model / "source.tokenizer.json", model / "target.tokenizer.json"]
    if not files[0].is_file():
        files = [model / "tokenizer.json"]
    if not files[0].is_file():
        raise ModelError(f"{model}: no tokenizer.json; give a model or run folder")
    return tuple(load_tokenizer(file) for file in files)
