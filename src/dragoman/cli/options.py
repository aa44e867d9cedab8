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
Alpha = Annotated[float, typer.Option(help="Length penalty ((5 + length) / 6) ** alpha.")]
TargetLanguage = Annotated[
    str | None, typer.Option(help="What to translate into, for a model of several languages.")
]
BatchTokens = Annotated[int, typer.Option(min=1, help="Most slots in a batch.")]
