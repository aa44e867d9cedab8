import pytest

from dragoman.inspection import PaperRun, paper_run
from dragoman.models import AnyConfig, ModelConfig, RecurrentConfig

SUSTAINED = 8 * 9.5e12  # section 6.1, footnote 5


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (ModelConfig(vocabulary=37_000), "base"),
        (ModelConfig(vocabulary=32_000, dropout=0.3), "base"),
        (ModelConfig(d_model=1_024, heads=16, d_ff=4_096, dropout=0.3, vocabulary=37_000), "big"),
        (ModelConfig(d_model=1_024, heads=8, d_ff=4_096, vocabulary=37_000), None),
        (ModelConfig(layers=5), None),
        (RecurrentConfig(), None),
    ],
)
def test_the_papers_models_are_known_by_their_sizes(config: AnyConfig, name: str | None) -> None:
    found = paper_run(config)
    assert (None if found is None else found.name) == name


@pytest.mark.parametrize(
    "config", [ModelConfig(), ModelConfig(d_model=1_024, heads=16, d_ff=4_096)]
)
def test_the_papers_figures_agree_with_each_other(config: ModelConfig) -> None:
    # 100,000 updates of 0.4 s are 11.1 hours, which it calls 12; 300,000 of 1.0 s are 3.5 days.
    # Table 2: 12 hours x 8 x 9.5 TFLOP/s are 3.3e18, 3.5 days 2.3e19.
    run = paper_run(config)
    assert isinstance(run, PaperRun)
    assert run.steps * run.update_seconds == pytest.approx(run.seconds, rel=0.08)
    assert run.seconds * SUSTAINED == pytest.approx(run.operations, rel=0.01)
