"""The two trainings of the paper, as it tells them (sections 5.2, 6.1 and table 2)."""

from dataclasses import dataclass, replace

from dragoman.models import AnyConfig, ModelConfig

PAPER_SUSTAINED = 9.5e12  # FLOP/s of a P100, footnote 5 of the paper


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRun:
    """One of them; both ran on 8 P100.

    Args:
        name: of the model.
        update_seconds: of one update (section 5.2).
        steps: updates.
        seconds: of all, as the paper rounds them.
        operations: of the training, table 2: time x devices x 9.5 TFLOP/s.
    """

    name: str
    update_seconds: float
    steps: int
    seconds: float
    operations: float


BASE = PaperRun(
    name="base", update_seconds=0.4, steps=100_000, seconds=12 * 3_600, operations=3.3e18
)
BIG = PaperRun(
    name="big", update_seconds=1.0, steps=300_000, seconds=3.5 * 86_400, operations=2.3e19
)


def paper_run(config: AnyConfig) -> PaperRun | None:
    """Say which training of the paper a model is that of, whatever its vocabulary and dropout.

    Base is the default of ``ModelConfig``; big has twice its widths and heads (table 3).
    """
    if not isinstance(config, ModelConfig):
        return None
    base = replace(ModelConfig(), vocabulary=config.vocabulary, dropout=config.dropout)
    big = replace(base, d_model=1_024, d_ff=4_096, heads=16)
    return BASE if config == base else BIG if config == big else None
