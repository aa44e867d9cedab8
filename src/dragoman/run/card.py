"""The model card: what a model was made from, and what it reached."""

from collections.abc import Mapping, Sequence

from dragoman.bundle import library_versions
from dragoman.recipe import Recipe, recipe_toml
from dragoman.run.prepare import Prepared, Side
from dragoman.training import Progress


def measured(
    title: str, loss_nats: float, values: Mapping[str, float], signatures: Mapping[str, str]
) -> list[str]:
    """Say a result in lines: the loss, then each metric with its signature."""
    lines = [f"{title}: loss {loss_nats:.3f} nats per target piece"]
    for metric, value in values.items():
        lines.append(f"{title}: {metric} {value:.2f} [{signatures[metric]}]")
    return lines


def model_card(
    recipe: Recipe,
    prepared: Prepared,
    progress: Progress,
    weights: str,
    results: Sequence[str],
) -> str:
    """Write the card as Markdown.

    Args:
        recipe: all choices.
        prepared: the text, with hashes and counts.
        progress: how long the training took.
        weights: which weights these are.
        results: lines of measurements.
    """
    versions = ", ".join(f"{name} {version}" for name, version in library_versions().items())
    minutes = progress.seconds / 60
    lines = [
        "# Translation model",
        "",
        f"Encoder-decoder Transformer trained with Dragoman; the {weights}.",
        "",
        f"- updates: {progress.step:,}, target pieces seen: {progress.target_tokens:,}, "
        f"minutes: {minutes:.1f}",
        f"- vocabulary: {prepared.source_tokenizer.size:,} pieces"
        + ("" if prepared.joint else f" (source), {prepared.target_tokenizer.size:,} (target)"),
        f"- versions: {versions}",
        "",
        "## Results",
        "",
        *([f"- {line}" for line in results] or ["- none measured yet"]),
        "",
        "## Data",
        "",
        *_data("training", prepared.train),
        *(_data("validation", prepared.validation) if prepared.validation is not None else []),
        "",
        "## Recipe",
        "",
        "```toml",
        recipe_toml(recipe).rstrip(),
        "```",
        "",
        "Use it with `dragoman translate FOLDER < text` or "
        '`dragoman.Translator.load("FOLDER").translate([...])`.',
    ]
    return "\n".join(lines) + "\n"


def _data(title: str, side: Side) -> list[str]:
    counts = f"- {title}: {len(side.sources):,} pairs of {side.report.lines:,} lines"
    counts += f" ({side.report.blank:,} blank on a side, {side.lengths.dropped:,} too long)"
    return [counts, *(f"  - sha256 {digest} {name}" for name, digest in side.report.sha256.items())]
