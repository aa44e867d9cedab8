"""What defines a run; reads and writes recipes, and starts nothing."""

from dragoman.recipe.needs import TrainingNeeds, training_needs
from dragoman.recipe.record import (
    SITTING_KEYS,
    DataConfig,
    Recipe,
    differences,
    parse_recipe,
    read_recipe,
    recipe_toml,
)
from dragoman.recipe.tables import CORPORA

__all__ = [
    "CORPORA",
    "SITTING_KEYS",
    "DataConfig",
    "Recipe",
    "TrainingNeeds",
    "differences",
    "parse_recipe",
    "read_recipe",
    "recipe_toml",
    "training_needs",
]
