"""Commands for models that read one text: continue it, classify it, fill its gaps."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

import dragoman
from dragoman.cli.lines import lines_in, lines_out, say
from dragoman.cli.options import BatchTokens, Device, Dtype, Input, Json, ModelFolder
from dragoman.errors import ConfigError, DataError

_AT_ONCE = 2_000  # lines classified together


def generate(
    model: ModelFolder,
    prompt: Annotated[
        list[str] | None, typer.Option(help="Text to continue; may be repeated.")
    ] = None,
    input: Input = None,
    samples: Annotated[int, typer.Option(min=1, help="Of each prompt, tab between.")] = 1,
    temperature: Annotated[float, typer.Option(help="0 is greedy, 1 the model's own.")] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="Draw from so many likeliest.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw from this much probability.")] = None,
    min_p: Annotated[
        float | None, typer.Option(help="Draw from what has this share of the likeliest.")
    ] = None,
    max_length: Annotated[int, typer.Option(help="Most pieces drawn.")] = 256,
    seed: Annotated[int, typer.Option(help="The same seed draws the same text.")] = 1,
    batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    dtype: Dtype = "auto",
    json_lines: Json = False,
) -> None:
    """Continue prompts with a language model: one line out for each prompt, prompt included.

    Prompts are those given, or else lines of a file or of standard input; a blank line begins a
    text of its own. Line breaks in what is written become spaces; --json keeps them.
    """
    if any("\udc80" <= sign <= "\udcff" for text in prompt or () for sign in text):
        raise ConfigError("--prompt", "is not UTF-8", "write it in UTF-8, or give it by --input")
    if prompt is not None and input is not None:
        raise ConfigError("--prompt", "--input is given too", "leave one of them out")
    sampling = dragoman.Sampling(
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        max_length=max_length,
        seed=seed,
    )
    loaded = dragoman.LanguageModel.load(model, device=device, dtype=dtype)
    typed = prompt is None and input is None and sys.stdin.isatty()
    with lines_in(input) as lines, lines_out(None) as write:
        found = loaded.stream(
            lines if prompt is None else prompt,
            sampling,
            samples=samples,
            at_once=1 if typed else 256,
            batch_tokens=batch_tokens,
        )
        for number, continuations in enumerate(found, start=1):
            if json_lines:
                every = [{**asdict(each), "log_prob": each.log_prob} for each in continuations]
                for each in every:
                    del each["prompt"]
                given = continuations[0].prompt
                write(_json({"line": number, "prompt": given, "continuations": every}))
            else:
                texts = [each.prompt + each.text for each in continuations]
                write("\t".join(dragoman.one_line(text, tabs=samples == 1) for text in texts))


def classify(
    model: ModelFolder,
    input: Input = None,
    images: Annotated[
        Path | None, typer.Option(help="Instead of text: .npz with an array images.")
    ] = None,
    batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    dtype: Dtype = "auto",
    json_lines: Json = False,
) -> None:
    """Say what each line is: label, tab, probability; of a tagger, each word/label.

    One line out for each line in; blank lines stay blank.
    """
    loaded = dragoman.Classifier.load(model, device=device, dtype=dtype)
    unfinished: list[str] = []
    with lines_out(None) as write:
        if images is not None:
            if input is not None:
                raise ConfigError("--images", "--input is given too", "leave one of them out")
            for number, found in enumerate(_of_images(loaded, images), start=1):
                write(_classified(number, found, json_lines))
            return
        if loaded.config.images is not None:
            raise ConfigError("", f"{model} reads images", "give --images FILE.npz")
        typed = input is None and sys.stdin.isatty()
        with lines_in(input) as lines:
            answers = _classify_lines(loaded, lines, 1 if typed else _AT_ONCE, batch_tokens)
            for number, found in enumerate(answers, start=1):
                if found is not None and found.shortened:
                    unfinished.append(f"line {number}: longer than the model takes; cut")
                write(_classified(number, found, json_lines))
    for line in unfinished:
        say(f"{input or 'standard input'}: {line}")
    if unfinished:
        raise typer.Exit(2)


def fill(
    model: ModelFolder,
    input: Input = None,
    gap: Annotated[str, typer.Option(help="What stands for a gap in a line.")] = "___",
    n_best: Annotated[int, typer.Option(min=1, help="Guesses per line, tab between.")] = 5,
    device: Device = "auto",
    dtype: Dtype = "auto",
    json_lines: Json = False,
) -> None:
    """Guess the piece in the one gap of each line, likeliest first, each with its probability.

    One line out for each line in; blank lines stay blank.
    """
    if not gap.strip():
        raise ConfigError("--gap", "is blank", "give something that your text does not hold")
    loaded = dragoman.Classifier.load(model, device=device, dtype=dtype)
    name = str(input or "standard input")
    with lines_in(input) as lines, lines_out(None) as write:
        for number, line in enumerate(lines, start=1):
            found: list[Any] = []  # Any: naming the type loads torch
            if not dragoman.is_blank(line):
                parts = line.split(gap)
                if len(parts) != 2:
                    problem = f"has {len(parts) - 1} gaps, where one is filled"
                    raise DataError(
                        name, problem, f"mark it by {gap}, or choose --gap", line=number
                    )
                found = loaded.fill(*parts, n_best=n_best)
            if json_lines:
                guesses = [guess._asdict() for guess in found]
                write(_json({"line": number, "source": line, "fillings": guesses}))
            else:
                guesses = [f"{guess.text} {guess.probability:.4f}" for guess in found]
                write("\t".join(dragoman.one_line(text, tabs=False) for text in guesses))


def _of_images(classifier: Any, path: Path) -> list[Any]:  # Any: naming the types loads torch
    pixels = dragoman.read_pixels(path)
    try:
        return classifier.classify(pixels)
    except (ValueError, TypeError) as error:  # of another size, or a model of text
        raise DataError(path, str(error)) from None


def _classify_lines(
    classifier: Any, lines: Iterable[str], at_once: int, batch_tokens: int
) -> Iterator[Any]:
    """Classify or tag lines; None stands for a blank one. Any: naming the types loads torch."""
    run = classifier.tag if classifier.config.head == "tags" else classifier.classify
    supply = iter(lines)
    while group := list(islice(supply, at_once)):
        told = [line for line in group if not dragoman.is_blank(line)]
        found = iter(run(told, batch_tokens=batch_tokens))
        yield from (None if dragoman.is_blank(line) else next(found) for line in group)


def _classified(number: int, found: Any, json_lines: bool) -> str:  # Any: as above
    """Write what was found of a line; nothing of a blank one."""
    words = getattr(found, "words", None)
    if not json_lines:
        if found is None:
            return ""
        if words is None:
            return f"{dragoman.one_line(found.label, tabs=False)}\t{found.probability:.6f}"
        return " ".join(f"{word.word}/{word.label}" for word in words)
    if found is None:
        return _json({"line": number, "label": None, "words": []})
    if words is None:
        return _json({"line": number, **asdict(found)})
    tagged = [word._asdict() for word in words]
    return _json({"line": number, "words": tagged, "shortened": found.shortened})


def _json(table: dict[str, Any]) -> str:  # Any: as JSON holds it
    return json.dumps(table, ensure_ascii=False)
