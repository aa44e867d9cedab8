"""Where the recipes of the project lie, and which of them are the paper's."""

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "recipes"
PAPER = ("en-de-base", "en-de-big", "en-fr-base", "en-fr-big")
COMPARISONS = sorted(FOLDER.glob("compare-*.toml"))  # variants of a recipe, for dragoman compare
RECIPES = sorted(set(FOLDER.glob("*.toml")) - set(COMPARISONS))


def paper_recipe(name: str) -> Path:
    """Find one of the four."""
    return FOLDER / f"wmt14-{name}.toml"
