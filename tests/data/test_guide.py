"""The examples of guides about data are recipes."""

import re
import tomllib
from pathlib import Path

import pytest

from dragoman.data import ParallelCorpus, Several
from dragoman.recipe import Recipe, parse_recipe

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
SOMETHING = {"source": "a.de", "target": "a.en"}


def examples(name: str) -> list[str]:
    return re.findall(r"```toml\n(.*?)```", (GUIDES / name).read_text("utf-8"), re.DOTALL)


def read(example: str) -> Recipe:
    """Read an example, which may leave out what is learned from."""
    table = tomllib.loads(example)
    table["data"] = {"train": SOMETHING} | table.get("data", {})
    return parse_recipe(table)


@pytest.mark.parametrize("example", examples("data.md"))
def test_each_example_of_the_guide_is_a_corpus(example: str) -> None:
    assert isinstance(parse_recipe(tomllib.loads(example)).data.train, ParallelCorpus | Several)


def test_the_guide_shows_every_kind_of_corpus_but_the_compiled_one() -> None:
    shown = {read(example).data.train.kind for example in examples("data.md")}
    every = {"files", "csv", "jsonl", "parquet", "dataset", "tmx", "po", "xliff", "qt", "several"}
    assert shown == every


@pytest.mark.parametrize("example", examples("many-languages.md"))
def test_each_example_with_many_languages_has_them(example: str) -> None:
    assert len(parse_recipe(tomllib.loads(example)).data.target_languages) >= 2


@pytest.mark.parametrize("example", examples("check.md"))
def test_each_example_of_filters_is_part_of_a_recipe(example: str) -> None:
    assert read(example).data.filters is not None
