"""A recipe for someone who brings two files and no choices."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.configfile import Table
from dragoman.data import Files, TrainingText
from dragoman.recipe import Recipe, parse_recipe


def choose_recipe(
    source: Path, target: Path, settings: Sequence[str] = (), *, model: Table | None = None
) -> Recipe:
    """Choose sizes by the amount of text.

    Args:
        source: one sentence a line.
        target: its translations, line by line.
        settings: overrides such as ``training.steps=100``.
        model: the ``[model]`` table, instead of one chosen by the amount of text.

    Raises:
        DataError: the files cannot be read or do not fit each other.
        ConfigError: an override is wrong.
    """
    text = TrainingText(Files(source=source, target=target))
    table = sizes_for(sum(1 for _ in text.all_pairs()))  # counted as a stream
    table["data"] |= {"train": {"source": str(source), "target": str(target)}}
    if model is not None:
        table["model"] = {}
    return parse_recipe(table, settings, model=model)


def sizes_for(pairs: int) -> Table:
    """Choose model, vocabulary and length of a run for a number of sentence pairs.

    Little text wants a small vocabulary, a small model and much dropout (Sennrich and Zhang 2019,
    arXiv 1905.11901); with millions of pairs the paper's base model is right as it stands.
    """
    hold_out = min(500, pairs // 20) if pairs >= 100 else 0
    if pairs < 10_000:
        model, vocabulary, dropout, epochs, batch_tokens = "tiny", 2_000, 0.2, 60, 1_024
    elif pairs < 300_000:
        model, vocabulary, dropout, epochs, batch_tokens = "small", 6_000, 0.25, 25, 2_560
    elif pairs < 2_000_000:
        model, vocabulary, dropout, epochs, batch_tokens = "base", 16_000, 0.2, 15, 25_000
    else:
        model, vocabulary, dropout, epochs, batch_tokens = "base", 32_000, 0.1, 10, 25_000
    # A sentence has some 15 to 25 pieces a side, so a batch holds about budget / 20 of them.
    updates = max(1, round(epochs * pairs * 20 / batch_tokens))
    every = max(10, min(1_000, updates // 20))
    # Equation 3 has its peak at the end of warm-up, and a short warm-up would put it far too
    # high; the small models rise to the rate that served recipes/multi30k-de-en.toml.
    schedule = {"kind": "linear", "peak": 1e-3} if model != "base" else {"kind": "inverse_sqrt"}
    warmup = min(4_000, max(1, updates // 7)) if model != "base" else 4_000
    return {
        "data": {"hold_out": hold_out},
        "tokenizer": {"size": vocabulary},
        "model": {"preset": model, "dropout": dropout, "norm_order": "post"},
        "training": {
            "epochs": epochs,
            "batch_tokens": batch_tokens,
            "precision": "auto",
            "schedule": schedule,
            "warmup": warmup,
            "checkpoint_every": every,
            "log_every": min(50, every),
        },
        "validation": {"every": every},
    }
