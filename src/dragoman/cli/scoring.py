"""The command that says how probable given text is, and keeps the better part of a corpus."""

import json
import math
from array import array
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import dragoman
from dragoman.cli.drawing import ensemble_options
from dragoman.cli.lines import lines_out, say
from dragoman.cli.measuring import PairsFile, SourceFile, TargetFile, TextFile, corpus_of, refuse
from dragoman.cli.options import (
    Alpha,
    BatchTokens,
    Columns,
    Device,
    Ensemble,
    EnsembleMean,
    Json,
    ModelFolder,
    TargetLanguage,
)
from dragoman.errors import ConfigError, DataError


def score(
    model: ModelFolder,
    source: SourceFile = None,
    target: TargetFile = None,
    file: PairsFile = None,
    columns: Columns = None,
    text: TextFile = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="Print loss and perplexity of the whole alone.")
    ] = False,
    per_piece: Annotated[
        bool, typer.Option("--per-piece", help="Print the mean over pieces, not the sum.")
    ] = False,
    kept: Annotated[
        list[Path] | None,
        typer.Option(help="Write good pairs here: a TSV, or twice for source and target."),
    ] = None,
    min_score: Annotated[
        float | None, typer.Option(help="Good is a mean log-probability per piece from here.")
    ] = None,
    keep: Annotated[
        float | None, typer.Option(help="Or good is the best share by that mean, such as 0.9.")
    ] = None,
    alpha: Alpha = 0.6,
    target_language: TargetLanguage = None,
    ensemble: Ensemble = None,
    ensemble_mean: EnsembleMean = "linear",
    batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    json_lines: Json = False,
) -> None:
    """Print the log-probability of each target given its source, or of each line of --text.

    Pairs are for translators, text is for language models; one line out per pair or line, blank
    for a pair with a blank side.
    """
    corpus = corpus_of(source, target, file, text, columns=columns)
    _check_filter(kept, min_score, keep)
    how = _Printing(json_lines, per_piece, alpha, quiet=summary or kept is not None)
    if text is not None:
        for_pairs = {"--target-language": target_language is not None, "--kept": kept is not None}
        for_pairs["--ensemble"] = ensemble is not None
        refuse(for_pairs, "is for pairs, not for --text")
        loaded = dragoman.LanguageModel.load(model, device=device)
        with lines_out(None) as write:
            _score_text(loaded, dragoman.read_lines(text), how, write, batch_tokens)
    else:
        load = partial(dragoman.Translator.load, model, device=device)
        load = partial(load, **ensemble_options(ensemble, ensemble_mean))
        translator = load()
        pairs = dragoman.score_pairs(
            translator,
            dragoman.open_corpus(corpus),
            batch_tokens=batch_tokens,
            target_language=target_language,
        )
        if kept is not None:
            with _pairs_out(kept) as write_pair:
                _filter(pairs, corpus, how, write_pair, min_score, keep)
        else:
            with lines_out(None) as write:
                for scored in pairs:
                    how.pair(scored, write)
        if not how.sums.scored and not how.sums.left_out:
            raise DataError(dragoman.corpus_name(corpus), "no lines", "give at least one pair")
    if summary:
        print(json.dumps(how.total()) if json_lines else how.told())
    if how.sums.left_out["too long"] and kept is None:
        raise typer.Exit(2)


@dataclass
class _Printing:
    """What is printed for each pair or text, and what they come to."""

    json_lines: bool
    per_piece: bool
    alpha: float
    quiet: bool
    sums: Any = field(default_factory=lambda: dragoman.CorpusScore())  # Any: its type loads torch

    def pair(self, scored: Any, write: Callable[[str], None]) -> None:
        """Count a pair and print its line."""
        if scored.score is not None:
            self.line(scored.pair.number, scored.score, write)
            return
        long = scored.problem != "blank"
        self.sums.left_out["too long" if long else "blank"] += 1
        if long and not self.quiet:
            say(f"{_numbered(scored)}")
        if not self.quiet and self.json_lines:
            said = {"line": scored.pair.number, "log_prob": None, "problem": scored.problem}
            write(json.dumps(said, ensure_ascii=False))
        elif not self.quiet:
            write("")

    def line(self, number: int, score: Any, write: Callable[[str], None]) -> None:
        """Count what was scored and print its line."""
        self.sums.add(score)
        if self.quiet:
            return
        mean, total = dragoman.mean_log_prob(score), score.log_prob
        if not self.json_lines:
            write(f"{mean if self.per_piece else total:.6f}")
            return
        pieces = len(score.log_probs)
        found = {"line": number, "log_prob": total, "per_piece": mean, "pieces": pieces}
        found["score"] = total / dragoman.length_penalty(pieces, self.alpha)
        found["log_probs"] = score.log_probs
        for name in ("tokens", "bits_per_character"):
            if hasattr(score, name):
                found[name] = getattr(score, name)
        write(json.dumps(found, ensure_ascii=False))

    def total(self) -> dict[str, Any]:  # Any: values of JSON
        """Say what they come to, for programs."""
        loss, perplexity = self.sums.loss_nats, self.sums.perplexity
        return {
            "scored": self.sums.scored,
            "blank": self.sums.left_out["blank"],
            "too_long": self.sums.left_out["too long"],
            "pieces": self.sums.pieces,
            "log_prob": self.sums.log_prob,
            "loss_nats": loss if math.isfinite(loss) else None,
            "perplexity": perplexity if math.isfinite(perplexity) else None,
        }

    def told(self) -> str:
        """Say what they come to, for people."""
        left = "".join(f"  {what} {n:,}" for what, n in sorted(self.sums.left_out.items()) if n)
        return (
            f"loss {self.sums.loss_nats:.4f} nats per piece  perplexity "
            f"{self.sums.perplexity:.2f}  scored {self.sums.scored:,}  pieces "
            f"{self.sums.pieces:,}{left}"
        )


def _numbered(scored: Any) -> str:
    side, _, rest = scored.problem.partition(": ")
    return f"{side} {scored.pair.number}: {rest}"


def _score_text(
    loaded: Any, lines: Iterator[str], how: _Printing, write: Callable[[str], None], tokens: int
) -> None:
    """Score lines of text, some thousand at a time."""
    number = 0
    for window in dragoman.windows(lines, 2_000, size=len):
        for score in loaded.score(window, batch_tokens=tokens, before=number):
            number += 1
            how.line(number, score, write)


def _check_filter(kept: list[Path] | None, min_score: float | None, keep: float | None) -> None:
    """See that a filter has one rule and one or two files."""
    rules = (min_score is not None) + (keep is not None)
    if kept is None and rules:
        raise ConfigError("--kept", "is missing", "name the file of the pairs to be kept")
    if kept is not None and (rules != 1 or len(kept) > 2):
        hint = "give --kept once or twice, and one of --min-score and --keep"
        raise ConfigError("--kept", "files and a rule are needed", hint)
    if keep is not None and not 0 < keep <= 1:
        raise ConfigError("--keep", f"{keep:g} is not a share", "give more than 0 and at most 1")


@contextmanager
def _pairs_out(paths: list[Path]) -> Generator[Callable[[str, str], None]]:
    """Give a function that writes a pair: to the rows of one file, or the lines of two."""
    with ExitStack() as stack:
        writes = [stack.enter_context(lines_out(path)) for path in paths]
        flat = partial(dragoman.one_line, tabs=len(paths) > 1)

        def write(source: str, target: str) -> None:
            if len(writes) == 1:
                writes[0](f"{flat(source)}\t{flat(target)}")
            else:
                writes[0](flat(source))
                writes[1](flat(target))

        yield write


def _filter(
    pairs: Iterator[Any],
    corpus: Any,
    how: _Printing,
    write: Callable[[str, str], None],
    min_score: float | None,
    keep: float | None,
) -> None:
    """Write the good pairs; for a share the corpus is read a second time."""
    means = array("d")
    count = 0
    for scored in pairs:
        how.pair(scored, _nowhere)
        known = scored.score is not None
        mean = dragoman.mean_log_prob(scored.score) if known else -math.inf
        if keep is not None:
            means.append(mean)
        elif known and min_score is not None and mean >= min_score:
            write(scored.pair.source, scored.pair.target)
            count += 1
    if keep is not None:
        best = dragoman.best_share(means, keep)
        again = dragoman.open_corpus(corpus)
        for good, pair in zip(best, again, strict=True):
            if good:
                write(pair.source, pair.target)
                count += 1
    sums = how.sums
    left = "".join(f", {what} {n:,}" for what, n in sorted(sums.left_out.items()) if n)
    total = sums.scored + sum(sums.left_out.values())
    say(f"kept {count:,} of {total:,} pairs; below {sums.scored - count:,}{left}")


def _nowhere(line: str) -> None:
    """Write nothing."""
