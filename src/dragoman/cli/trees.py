"""``dragoman trees``: constituency trees for and from translators, and how good they are."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

import dragoman
from dragoman.cli.lines import lines_in, lines_out, say
from dragoman.cli.options import (
    Alpha,
    BatchTokens,
    Beam,
    Device,
    Engine,
    Input,
    Json,
    MaxExtra,
    ModelFolder,
    TranslatorDtype,
)
from dragoman.errors import ConfigError, DataError
from dragoman.trees import (
    BracketScore,
    LeafForm,
    Parsed,
    Tree,
    add_scores,
    clean,
    linearize,
    read_tree_lines,
    read_trees,
    restore,
    right_branching,
    score_brackets,
    with_tags_of,
    write_tree,
)

trees = typer.Typer(
    name="trees",
    help="Constituency trees: parse, prepare a treebank, compare.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Gold = Annotated[Path, typer.Argument(help="Right trees, bracketed, one a line; may be .gz.")]


@trees.command("parse")
def parse_lines(
    model: ModelFolder,
    input: Input = None,
    beam: Beam = 21,
    alpha: Alpha = 0.3,
    max_extra: MaxExtra = 300,
    valid: Annotated[
        bool, typer.Option("--valid", help="Let the model write valid trees only.")
    ] = False,
    batch_tokens: BatchTokens = 4096,
    device: Device = "auto",
    dtype: TranslatorDtype = "auto",
    engine: Engine = "auto",
) -> None:
    """Write the tree of each line, a sentence cut into words as the model's treebank does.

    Whatever the model writes becomes a tree over all words; how often that took a repair is said
    on standard error.
    """
    search = dragoman.BeamSearch(beam=beam, alpha=alpha, max_extra=max_extra)
    loaded = dragoman.Translator.load(model, device=device, dtype=dtype, engine=engine, say=say)
    with lines_in(input) as lines, lines_out(None) as write:
        found = dragoman.parse(loaded, lines, search=search, batch_tokens=batch_tokens, valid=valid)
        _write_parsed(found, write)


@trees.command("restore")
def restore_lines(
    tokens: Annotated[Path, typer.Argument(help="What a model wrote, line by line.")],
    words: Annotated[Path, typer.Option(help="The sentences, line by line.")],
) -> None:
    """Make trees of tokens and words, as ``parse`` does with what the model writes."""
    written, sentences = dragoman.read_lines(tokens), dragoman.read_lines(words)
    with lines_out(None) as write:
        pairs = _together(sentences, written, (words, tokens))
        _write_parsed((restore(sentence, line) for sentence, line in pairs), write)


@trees.command("linearize")
def linearize_trees(
    treebank: Annotated[Path, typer.Argument(help="Bracketed trees; may be .gz.")],
    words: Annotated[Path, typer.Option(help="Write the sentences here.")],
    tokens: Annotated[Path, typer.Option(help="Write the trees here, without words.")],
    leaves: Annotated[
        str,
        typer.Option(help="What stands for words but punctuation: same (XX), tags, numbers."),
    ] = "same",
) -> None:
    """Write a treebank as parallel text that a translator learns from.

    Traces, functions of labels and the root go; sentences of traces alone are left out.
    """
    if leaves not in get_args(LeafForm):
        hint = f"choose from {', '.join(get_args(LeafForm))}"
        raise ConfigError("--leaves", f"{leaves!r} is not a form", hint)
    form = cast("LeafForm", leaves)
    with lines_out(words) as write_words, lines_out(tokens) as write_tokens:
        for tree in read_trees(dragoman.read_lines(treebank), str(treebank)):
            if (found := clean(tree)) is not None:
                write_words(" ".join(found.words))
                write_tokens(linearize(found, form))


@trees.command("score")
def score_trees(
    gold: Gold,
    found: Annotated[
        Path | None, typer.Argument(help="Trees to be judged, one a line; may be .gz.")
    ] = None,
    right: Annotated[
        bool, typer.Option("--right-branching", help="Judge what needs no model instead.")
    ] = False,
    gold_tags: Annotated[
        bool,
        typer.Option("--gold-tags", help="Let the right trees say which words are punctuation."),
    ] = False,
    sentences: Annotated[
        bool, typer.Option("--sentences", help="First a row for each sentence, tab between.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Compare brackets as EVALB does with COLLINS.prm: recall, precision, F1 and what it adds.

    A sentence whose words differ is an error, a blank one skipped; neither counts.
    """
    if (found is None) != right:
        raise ConfigError("FOUND", "give it, or else --right-branching")
    scores: list[BracketScore] = []
    for number, (tree, other) in enumerate(_pairs(gold, found), start=1):
        if other is not None and gold_tags:
            other = with_tags_of(other, tree)
        scores.append(score_brackets(tree, other))
        if sentences:
            print(_row(number, scores[-1]))
    total = add_scores(scores)
    print(json.dumps(_summary(total))) if json_output else print("\n".join(_lines(total)))


def _pairs(gold: Path, found: Path | None) -> Iterator[tuple[Tree, Tree | None]]:
    """Read what is compared line by line."""
    right = read_tree_lines(dragoman.read_lines(gold), str(gold))
    if found is None:
        pairs = ((tree, _right_branching(tree)) for tree in right)
    else:
        other = read_tree_lines(dragoman.read_lines(found), str(found))
        pairs = _together(right, other, (gold, found))
    for number, (tree, given) in enumerate(pairs, start=1):
        if tree is None:
            raise DataError(gold, "no tree", "take the line out of both files", line=number)
        yield tree, given


def _right_branching(tree: Tree | None) -> Tree | None:
    kept = clean(tree) if tree is not None else None
    return None if kept is None else right_branching(kept.leaves)


def _together(
    first: Iterable[Any], second: Iterable[Any], names: tuple[Path, Path]
) -> Iterator[tuple[Any, Any]]:  # Any: lines or trees
    """Go through two files side by side."""
    end = object()
    for number, (a, b) in enumerate(zip_longest(first, second, fillvalue=end), start=1):
        if a is end or b is end:
            short, long = names if a is end else names[::-1]
            problem = f"ends before line {number}, which {long} has"
            raise DataError(short, problem, "give files that go together line by line")
        yield a, b


def _write_parsed(found: Iterable[Parsed], write: Any) -> None:
    """Write trees, and say what had to be repaired."""
    faults: Counter[str] = Counter()
    repaired = count = 0
    for parsed in found:
        write("" if parsed.tree is None else write_tree(parsed.tree))
        count += parsed.tree is not None
        repaired += bool(parsed.faults)
        faults += parsed.faults
    kinds = "".join(f"; {name} {number:,}" for name, number in faults.most_common())
    say(f"{repaired:,} of {count:,} sequences were repaired{kinds}")


def _row(number: int, score: BracketScore) -> str:
    state = "error" if score.errors else "skipped" if score.skipped else "scored"
    shares = (f"{100 * share:.2f}" for share in (score.recall, score.precision, score.f1))
    counts = (score.matched, score.gold, score.found, score.crossing)
    return "\t".join([str(number), state, *shares, *map(str, counts)])


def _summary(total: BracketScore) -> dict[str, Any]:  # Any: as JSON holds it
    names = ("recall", "precision", "f1", "exact_match", "no_crossing")
    shares = {name: 100 * getattr(total, name) for name in names}
    return {**asdict(total), **shares, "mean_crossing": total.mean_crossing}


def _lines(total: BracketScore) -> list[str]:
    shares = {"recall": total.recall, "precision": total.precision, "F1": total.f1}
    more = {"exact match": total.exact_match, "no crossing": total.no_crossing}
    return [
        f"sentences {total.sentences:,}  errors {total.errors:,}  skipped {total.skipped:,}",
        "  ".join(f"{name} {100 * share:.2f}" for name, share in shares.items()),
        "  ".join(f"{name} {100 * share:.2f}" for name, share in more.items()),
        f"crossing {total.mean_crossing:.2f} a sentence",
    ]
