"""Small runs on text and images of one side, and what the tests of the tasks have in common."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from dragoman.recipe import Recipe, parse_recipe
from dragoman.run import train
from dragoman.training import Finished, Stopped
from tests.fixtures import ENGLISH

STEPS = 12


def recipe_for(data: dict[str, Any], model: dict[str, Any], **changes: Any) -> Recipe:
    """Make a recipe of 12 updates with dropout, of two batches each."""
    training = {
        "steps": STEPS,
        "batch_tokens": 96,
        "accumulate": 2,
        "warmup": 2,
        "schedule": {"kind": "constant", "peak": 1e-2},
        "label_smoothing": 0.0,
        "checkpoint_every": 100,
        "log_every": 1,
        **changes.pop("training", {}),
    }
    small = {"layers": 1, "d_model": 16, "heads": 2, "d_ff": 32, "dropout": 0.1}
    return parse_recipe(
        {
            "data": data,
            "tokenizer": {"size": 300},
            "model": small | model,
            "training": training,
            "validation": {"every": 4},
            **changes,
        }
    )


def write_text(folder: Path, lines: list[str], name: str = "text") -> str:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def numbered(count: int) -> list[str]:
    """Write lines of English that are all different."""
    return [f"{number} {ENGLISH[number % 4]}" for number in range(count)]


def write_images(folder: Path, labels: list[str], name: str = "images.npz") -> str:
    """Draw an image of 4 x 4 pixels for each label; its first letter says where it is light."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 60, (len(labels), 4, 4), dtype=np.uint8)
    for number, label in enumerate(labels):
        pixels[number, ord(label[0]) % 4] += 180
    np.savez(folder / name, images=pixels, labels=np.array(labels))
    return str(folder / name)


def events_of(run: Path, name: str) -> list[dict[str, Any]]:
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == name]


def assert_the_loss_falls(run: Path) -> None:
    losses = [event["loss_nats"] for event in events_of(run, "StepDone")]
    assert len(losses) == STEPS
    assert np.mean(losses[-3:]) < np.mean(losses[:3]) - 0.1


def assert_stopping_changes_nothing(straight: Path, recipe: Recipe, stop: int) -> None:
    """Train with a stop beside the run ``straight`` of the same recipe; compare all bits."""
    run = straight.parent / f"stopped-{stop}"
    stopped = replace(recipe, training=replace(recipe.training, stop_after=stop))
    assert isinstance(list(train(stopped, run))[-1], Stopped)
    assert isinstance(list(train(recipe, run))[-1], Finished)
    one, two = (_tensors(folder) for folder in (straight, run))
    assert one.keys() == two.keys()
    assert not [name for name in one if not torch.equal(one[name], two[name])]
    told = [
        [(e["step"], e["loss_nats"], e.get("scores")) for e in events_of(folder, name)]
        for folder in (straight, run)
        for name in ("StepDone", "Validated")
    ]
    assert told[:2] == told[2:]


def _tensors(run: Path) -> dict[str, torch.Tensor]:
    checkpoint = run / f"checkpoints/step-{STEPS:08d}"
    weights = load_file(checkpoint / "model.safetensors")
    moments = load_file(checkpoint / "optimizer.safetensors")
    return {f"weights {name}": tensor for name, tensor in weights.items()} | moments
