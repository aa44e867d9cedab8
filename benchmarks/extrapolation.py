"""Language models with different positions, on longer text than they learned from.

    python recipes/prepare.py shakespeare input.txt.gz data/shakespeare
    python benchmarks/extrapolation.py recipes/shakespeare.toml --results extrapolation.json

Trains a small model of the recipe for each way, all else being equal, in windows of ``--context``
characters, one after the other; then reads windows that are ``LONGER`` times as long, and notes the
loss at every position. No model sees what comes later, so the mean over the first N positions is
the loss in windows of N. The same command leaves finished models alone.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from report import Table, commit, machine, today, versions
from torch import Tensor

import dragoman
from dragoman.bundle import load_bundle
from dragoman.data import Text
from dragoman.evaluation import target_log_probs
from dragoman.nn import CausalLM
from dragoman.recipe import Recipe, read_recipe
from dragoman.training import Notice

ROOT = Path(__file__).resolve().parent.parent
LONGER = 4
SHARES = (1.0, 1.5, 2.0, 4.0)  # of the trained length, in the table
SCHEMES = {
    "sinusoidal": '"sinusoidal"',
    "learned": '{{ kind = "learned", max_length = {length} }}',
    "Shaw": '"shaw"',
    "T5 bias": '"t5"',
    "rotary": '"rotary"',
    "ALiBi": '"alibi"',
    "none": '"none"',
}
SMALL = (  # of the recipe's model, so that seven are trained in minutes
    *("model.layers=2", "model.d_model=64", "model.d_ff=128", "model.dropout=0.0"),
    *("training.batch_tokens=1024", "training.checkpoint_every=10000", "validation.every=10000"),
)


def positions_of(name: str, longest: int) -> str:
    """Write the choice of positions of one model, with room for ``longest`` and a start symbol."""
    return "model.positions=" + SCHEMES[name].format(length=longest + 1)


def windows(ids: Sequence[int], length: int, most: int) -> Tensor:
    """Cut ids into at most so many windows of ``length`` and a piece more, (W, length + 1)."""
    count = min(most, (len(ids) - 1) // length)
    starts = torch.arange(count)[:, None] * length
    return torch.tensor(ids)[starts + torch.arange(length + 1)]


@torch.inference_mode()
def losses(model: CausalLM, cut: Tensor) -> NDArray[np.float64]:
    """Say how surprising each position of windows (W, N + 1) is, in nats, (N,)."""
    model.eval()
    parts = [target_log_probs(model(part[:, :-1]), part[:, 1:]) for part in cut.split(16)]
    return -torch.cat(parts).double().mean(0).numpy()


def by_length(found: NDArray[np.float64], context: int) -> Table:
    """Give the loss in windows of some lengths from the loss at each position."""
    lengths = [round(share * context) for share in SHARES]
    return {str(length): float(found[:length].mean()) for length in lengths}


def recipe_of(name: str, options: argparse.Namespace) -> Recipe:
    """Say what one model is and how it learns."""
    longest = LONGER * options.context
    size = [f"data.context={options.context}", f"training.steps={options.steps}"]
    return read_recipe(options.recipe, [*SMALL, *size, positions_of(name, longest)])


def measure(name: str, options: argparse.Namespace) -> Table:
    """Train one model and read longer text with it."""
    recipe, folder = recipe_of(name, options), options.runs / name.replace(" ", "-").lower()
    for event in dragoman.train(recipe, folder, device="cpu"):
        if isinstance(event, Notice) and event.text.startswith("validation"):
            print(name, event.text, flush=True)
    bundle = load_bundle(folder)
    held_out = recipe.data.validation
    assert isinstance(held_out, Text)
    text = held_out.text.read_text(encoding="utf-8")
    ids = bundle.source_tokenizer.encode(text)
    cut = windows(ids, LONGER * options.context, options.windows)
    found = losses(cast("CausalLM", bundle.model), cut)
    weights = sum(weight.numel() for weight in bundle.model.parameters())
    told = by_length(found, options.context)
    print(name, *(f"{length}: {loss:.3f}" for length, loss in told.items()), flush=True)
    return {"name": name, "parameters": weights, "by_length": told, "nats": found.tolist()}


def main() -> None:
    """Measure all ways and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("recipe", type=Path, help="of a language model")
    add("--context", type=int, default=64, help="characters of a window in training")
    add("--steps", type=int, default=500, help="updates")
    add("--windows", type=int, default=150, help="read, each four times as long, at most")
    add("--schemes", nargs="+", choices=SCHEMES, default=list(SCHEMES), help="ways to try")
    add("--runs", type=Path, default=Path("runs") / "extrapolation", help="folder of the models")
    add("--results", type=Path, required=True, help="file to write")
    options = parser.parse_args()
    rows = [measure(name, options) for name in options.schemes]
    results = {
        **{"date": today(), "commit": commit(ROOT), "machine": machine(), "versions": versions([])},
        **{"context": options.context, "updates": options.steps, "windows": options.windows},
        "variants": rows,
    }
    options.results.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
