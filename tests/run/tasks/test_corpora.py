from pathlib import Path

from dragoman.recipe import parse_recipe
from dragoman.run.tasks.corpora import longest_allowed
from tests.fixtures import write_corpus


def test_the_limit_is_the_smallest_of_budget_choice_and_positions(tmp_path: Path) -> None:
    source, target = write_corpus(tmp_path)
    table = {
        "data": {"train": {"source": str(source), "target": str(target)}, "max_length": 50},
        "model": {"positions": {"kind": "learned", "max_length": 40}},
        "training": {"batch_tokens": 30},
    }
    assert longest_allowed(parse_recipe(table)) == 30
    assert longest_allowed(parse_recipe(table, ["training.batch_tokens=90"])) == 40
    assert longest_allowed(parse_recipe({**table, "model": {}}, ["training.batch_tokens=90"])) == 50
