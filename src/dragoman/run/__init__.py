"""One run, from a recipe to a model folder: the order of things, over parts that do not know it."""

from dragoman.run.average import average
from dragoman.run.choose import choose_recipe
from dragoman.run.diagnose import diagnose
from dragoman.run.evaluate import Evaluation, evaluate
from dragoman.run.quickstart import quickstart_recipe, quickstart_results
from dragoman.run.train import train

__all__ = [
    "Evaluation",
    "average",
    "choose_recipe",
    "diagnose",
    "evaluate",
    "quickstart_recipe",
    "quickstart_results",
    "train",
]
