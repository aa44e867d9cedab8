"""A model with other symbols around sources and before targets learns and translates with them."""

import math
from pathlib import Path

import pytest

from dragoman.bundle import load_bundle
from dragoman.run import train
from dragoman.training import StepDone, Validated
from dragoman.translator import Translator
from tests.fixtures import write_corpus
from tests.run.test_train import recipe_for

FRAME = {"source_before": [4], "source_after": [2, 5], "target_before": [2, 6]}


def test_a_run_trains_validates_and_translates_between_the_symbols_of_its_model(
    tmp_path: Path,
) -> None:
    source, target = write_corpus(tmp_path)
    recipe = recipe_for(
        tmp_path,
        data={"validation": {"source": str(source), "target": str(target)}},
        model={**FRAME, "positions": {"kind": "learned", "max_length": 40}},
        training={"steps": 60, "schedule": {"kind": "constant", "peak": 3e-3}},
        validation={"every": 60, "metrics": ["chrf"]},
    )
    events = list(train(recipe, tmp_path / "run"))
    losses = [event.loss_nats for event in events if isinstance(event, StepDone)]
    assert losses[-1] < 0.8 * losses[0]
    bundle = load_bundle(tmp_path / "run")
    assert (bundle.frame.source([7]), bundle.frame.target_before) == ([4, 7, 2, 5], (2, 6))
    texts = (source.read_text().splitlines(), target.read_text().splitlines())
    scores = Translator(bundle).score(*texts)
    pieces = sum(len(score.log_probs) for score in scores)
    mean = -math.fsum(score.log_prob for score in scores) / pieces
    validated = [event for event in events if isinstance(event, Validated)][-1]
    assert mean == pytest.approx(validated.loss_nats, rel=1e-4)
