"""What defines a run; reads and writes recipes, and starts nothing."""

from dragoman.recipe.record import (
    SITTING_KEYS,
    DataConfig,
    Recipe,
    differences,
    parse_recipe,
    read_recipe,
    recipe_toml,
)

__all__ = [
    "SITTING_KEYS",
    "DataConfig",
    "Recipe",
    "differences",
    "parse_recipe",
    "read_recipe",
    "recipe_toml",
]
