"""The model card: what a model was made from, and what it reached."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dragoman.bundle import library_versions
from dragoman.recipe import Recipe, recipe_toml
from dragoman.training import Progress

_TRANSLATOR = (
    "Use it with `dragoman translate FOLDER < text` or "
    '`dragoman.Translator.load("FOLDER").translate([...])`.'
)
USES = {
    "encoder-decoder": _TRANSLATOR,
    "recurrent": _TRANSLATOR,
    "convolutional": _TRANSLATOR,
    "decoder-only": "Use it with `dragoman generate FOLDER < prompts` or "
    '`dragoman.LanguageModel.load("FOLDER").generate([...])`.',
    "encoder-only": "Use it with `dragoman classify FOLDER < text` or "
    '`dragoman.Classifier.load("FOLDER").classify([...])`; with masked pieces, '
    "`fill([...])`.",
}
TITLES = {
    "encoder-decoder": "Translation model",
    "recurrent": "Translation model",
    "convolutional": "Translation model",
    "decoder-only": "Language model",
    "encoder-only": "Encoder",
}


def measured(
    title: str, loss_nats: float, values: Mapping[str, float], signatures: Mapping[str, str]
) -> list[str]:
    """Say a result in lines: the loss, then each metric with its signature."""
    lines = [f"{title}: loss {loss_nats:.3f} nats"]
    for metric, value in values.items():
        lines.append(f"{title}: {metric} {value:.2f} [{signatures[metric]}]")
    return lines


def model_card(
    recipe: Recipe,
    data: Sequence[str],
    progress: Progress,
    weights: str,
    results: Sequence[str],
    *,
    model: str,
) -> str:
    """Write the card as Markdown.

    Args:
        recipe: all choices.
        data: lines about the data, with hashes and counts.
        progress: how long the training took.
        weights: which weights these are.
        results: lines of measurements.
        model: its size and how it was computed, in words.
    """
    versions = ", ".join(f"{name} {version}" for name, version in library_versions().items())
    minutes = progress.seconds / 60
    lines = [
        f"# {TITLES[recipe.model.architecture]}",
        "",
        f"A model of the kind {recipe.model.architecture}, trained with Dragoman; the {weights}.",
        "",
        f"- {model}",
        f"- updates: {progress.step:,}, target pieces seen: {progress.target_tokens:,}, "
        f"minutes: {minutes:.1f}",
        f"- versions: {versions}",
        "",
        "## Results",
        "",
        *([f"- {line}" for line in results] or ["- none measured yet"]),
        "",
        "## Data",
        "",
        *data,
        "",
        "## Recipe",
        "",
        "```toml",
        recipe_toml(recipe).rstrip(),
        "```",
        "",
        USES[recipe.model.architecture],
    ]
    return "\n".join(lines) + "\n"


def data_lines(title: str, counts: str, sha256: Mapping[str, str]) -> list[str]:
    """Say what a set of examples was: counts, then a line for the digest of each file."""
    return [
        f"- {title}: {counts}",
        *(f"  - sha256 {digest} {Path(name).name}" for name, digest in sha256.items()),
    ]
