from pathlib import Path

from dragoman.run.choose import choose_recipe, sizes_for
from tests.fixtures import write_corpus


def test_sizes_grow_with_the_amount_of_text() -> None:
    vocabularies = [sizes_for(pairs)["tokenizer"]["size"] for pairs in (2, 50_000, 10**6, 10**7)]
    assert vocabularies == sorted(vocabularies)
    assert sizes_for(2)["data"]["hold_out"] == 0
    assert sizes_for(50_000)["data"]["hold_out"] == 500


def test_two_files_are_enough_for_a_recipe(tmp_path: Path) -> None:
    source, target = write_corpus(tmp_path)
    recipe = choose_recipe(source, target, ["training.seed=5"])
    assert recipe.training.seed == 5
    assert recipe.training.epochs
