"""Options that several commands have in common."""

from pathlib import Path
from typing import Annotated

import typer

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
Dtype = Annotated[str, typer.Option(help="auto, float32, bfloat16, float16.")]
Beam = Annotated[int, typer.Option(min=1, help="Hypotheses kept; 1 is greedy.")]
Alpha = Annotated[
    float, typer.Option(help="Length penalty ((5 + length) / 6) ** alpha; more favours longer.")
]
LengthPenalty = Annotated[
    str,
    typer.Option(
        help="Divisor of log P: paper, ((5 + length) / 6) ** alpha; average, length ** alpha; none."
    ),
]
WordReward = Annotated[float, typer.Option(help="Added to the score for each piece.")]
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
    typer.Option(min=1, help="Diverse beam: groups of the beam, each avoids pieces of the others."),
]
Diversity = Annotated[
    float,
    typer.Option(
        help="With groups: off log P for each earlier group's hypothesis with the same next piece."
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
BatchTokens = Annotated[int, typer.Option(min=1, help="Most slots in a batch.")]
