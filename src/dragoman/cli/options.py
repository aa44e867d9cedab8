"""Options that several commands have in common."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dragoman.errors import ConfigError

ModelFolder = Annotated[Path, typer.Argument(help="Model or run folder.", metavar="MODEL")]
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a recipe key; may be repeated."),
]
Input = Annotated[
    Path | None, typer.Option("--input", help="Text, may be .gz; standard input unless given.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")]
Engine = Annotated[
    str,
    typer.Option(
        help="auto: the faster one, measured once for a machine and model; torch: any model and "
        "device; fused: Transformers on a CPU, extra fast; ctranslate2: its model in the folder."
    ),
]
TranslatorDtype = Annotated[
    str,
    typer.Option(help="Precision: auto (float32), float32, bfloat16, float16; int8 with fused."),
]
Dtype = Annotated[str, typer.Option(help="auto, float32, bfloat16, float16.")]
Beam = Annotated[int, typer.Option(min=1, help="Hypotheses kept; 1 is greedy.")]
Alpha = Annotated[
    float, typer.Option(help="Length penalty ((5 + length) / 6) ** alpha; more favours longer.")
]
MaxLength = Annotated[
    int | None,
    typer.Option(
        min=1, help="Most pieces, the end symbol included; source + MAX_EXTRA unless given."
    ),
]
MaxExtra = Annotated[
    int, typer.Option(min=0, help="Most pieces beyond those of the source, without --max-length.")
]
LengthPenalty = Annotated[
    str,
    typer.Option(
        help="Divisor of log P: paper, ((5 + length) / 6) ** alpha; average, length ** alpha; none."
    ),
]
WordReward = Annotated[
    float, typer.Option(help="Adds WORD_REWARD * pieces, the end symbol included, to the score.")
]
Coverage = Annotated[
    float,
    typer.Option(
        help="Adds COVERAGE * sum over source pieces of log min(attention to it, 1) to the score."
    ),
]
Patience = Annotated[
    float | None,
    typer.Option(
        help="Stop once PATIENCE * beam hypotheses have ended; unset, once no open one can win."
    ),
]
Groups = Annotated[
    int,
    typer.Option(
        min=1,
        help="Diverse beam: so many groups of beam / GROUPS hypotheses, each shunning the next "
        "pieces of those before it.",
    ),
]
Diversity = Annotated[
    float,
    typer.Option(
        help="With groups, in the choice alone: log P - DIVERSITY * hypotheses of earlier groups "
        "with the same next piece."
    ),
]
MinLength = Annotated[
    int, typer.Option(min=0, help="Fewest pieces: the end symbol, which counts, comes no earlier.")
]
NoRepeatNgram = Annotated[
    int, typer.Option(min=0, help="No N pieces in a row come twice in a translation; 0 allows it.")
]
RepetitionPenalty = Annotated[
    float,
    typer.Option(help="log P of a piece that has come before counts this many times; 1 is off."),
]
Ban = Annotated[
    list[str] | None,
    typer.Option(
        "--ban",
        metavar="WORDS",
        help="No translation holds this word or phrase, upper and lower case told apart; may be "
        "repeated.",
    ),
]
Prefix = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Every translation begins with this text.")
]
Ensemble = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="MODEL",
        help="Another model of the same vocabulary that translates along; may be repeated.",
    ),
]
EnsembleMean = Annotated[
    str,
    typer.Option(
        help="linear: P = (P1 + ... + PM) / M; geometric: P ~ (P1 * ... * PM) ** (1 / M)."
    ),
]
Sample = Annotated[
    bool,
    typer.Option(
        "--sample", help="Draw --n-best translations at random, by seed and number of the line."
    ),
]
Temperature = Annotated[
    float,
    typer.Option(help="Draws by P ** (1 / TEMPERATURE); 0 is greedy, 1 the model's own."),
]
TopK = Annotated[int | None, typer.Option(help="Draw from so many likeliest pieces.")]
TopP = Annotated[
    float | None,
    typer.Option(help="Draw from the fewest likeliest pieces that together have this P."),
]
MinP = Annotated[
    float | None,
    typer.Option(help="Draw from pieces with at least this share of P of the likeliest."),
]
Seed = Annotated[int, typer.Option(help="The same seed draws the same text.")]
Mbr = Annotated[
    int,
    typer.Option(
        "--mbr",
        metavar="N",
        help="Of N samples, give that with the highest mean chrF against the others; 0 is off.",
    ),
]
MbrOver = Annotated[
    str, typer.Option(help="What --mbr chooses from: samples, or the N best of the beam.")
]
Alignment = Annotated[
    Path | None,
    typer.Option(
        help="Write here, a line for each, of each target word the source word most looked at: "
        "SOURCE-TARGET, counted from 0."
    ),
]
Align = Annotated[bool, typer.Option("--align", help="With --json, add the word links.")]
AlignmentHeads = Annotated[
    str | None,
    typer.Option(
        metavar="LAYER:HEAD,...",
        help="Link by the mean attention of these, from 0; the sharpest layer unless given.",
    ),
]
DraftModel = Annotated[
    str | None,
    typer.Option(
        "--draft",
        metavar="MODEL",
        help="With --beam 1: this small model, or copy, proposes pieces of a line; the large one "
        "reads them in one pass and keeps those up to the first that it would not have written.",
    ),
]
DraftLength = Annotated[
    int, typer.Option(min=1, max=1000, help="With --draft: most pieces proposed at once.")
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="WORDS",
        help="Every translation holds this word or phrase, or one of several with | between; may "
        "be repeated.",
    ),
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary",
        metavar="FILE.tsv",
        help="Source and target term a line: where a line holds the first as whole words, its "
        "translation holds the second.",
    ),
]
Alternatives = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Write as many translations, tab between: with the most probable words at word --at, "
        "each completed.",
    ),
]
At = Annotated[
    int | None,
    typer.Option(min=1, help="Number of the word of --alternatives, from 1, which is the default."),
]
TargetLanguage = Annotated[
    str | None, typer.Option(help="What to translate into, for a model of several languages.")
]
Columns = Annotated[
    str | None,
    typer.Option(help="Source and target in a file: columns from 0, paths or languages, as en,de."),
]
BatchTokens = Annotated[int, typer.Option(min=1, help="Most slots in a batch.")]


@contextmanager
def as_options() -> Generator[None]:
    """Name options where the library names keys of a corpus.

    Raises:
        ConfigError: the library has raised one.
    """
    try:
        yield
    except ConfigError as error:
        raise ConfigError.together(
            replace(
                mistake, place="--columns" if "language" in mistake.place else f"--{mistake.place}"
            )
            for mistake in error.mistakes
        ) from None
