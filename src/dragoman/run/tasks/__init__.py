"""What a run can learn from: each kind of data and model is a task of its own."""

from pathlib import Path

from dragoman.models import ModelConfig
from dragoman.recipe import Recipe
from dragoman.run.tasks.classes import Classes
from dragoman.run.tasks.images import ImageClasses
from dragoman.run.tasks.language import Language
from dragoman.run.tasks.masked import MaskedPieces
from dragoman.run.tasks.prepared import Report
from dragoman.run.tasks.task import Task
from dragoman.run.tasks.translation import Translation
from dragoman.run.tasks.vocabulary import Given

__all__ = ["Given", "Task", "prepare_task"]


def prepare_task(
    recipe: Recipe,
    folder: Path,
    *,
    reuse: bool = False,
    given: Given | None = None,
    report: Report = lambda _: None,
) -> Task:
    """Read what the model of a recipe learns from.

    Args:
        recipe: all choices.
        folder: of the run; gets the tokenizers.
        reuse: take the tokenizers in ``folder``, to go on with its run.
        given: tokenizers and classes of a model to start from, instead of new ones.
        report: is told in words how far preparing the text is, when it takes long.

    Raises:
        ConfigError: the data is of another kind than the model learns from.
        DataError: a file cannot be read, or holds nothing to train on.
    """
    model = recipe.model
    if not isinstance(model, ModelConfig) or model.architecture == "encoder-decoder":
        return Translation(recipe, folder, reuse=reuse, given=given, report=report)
    if model.architecture == "decoder-only":
        return Language(recipe, folder, reuse=reuse, given=given)
    if model.images is not None:
        return ImageClasses(recipe, given=given)
    if model.head == "pieces":
        return MaskedPieces(recipe, folder, reuse=reuse, given=given)
    return Classes(recipe, folder, reuse=reuse, given=given)
