import argparse
import random
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SEQUENCES: dict[str, Any] = runpy.run_path(
    str(Path(__file__).parents[2] / "benchmarks" / "sequences.py")
)
RULES = SEQUENCES["RULES"]


class Drawn:
    """Chance that always falls on what comes first, or leaves the order as it is."""

    def choices(self, population: Any, *, k: int) -> Any:
        return [population[number % len(population)] for number in range(k)]

    def sample(self, population: Any, k: int) -> Any:
        return list(population[:k])


def test_each_rule_does_what_its_name_says() -> None:
    rng = Drawn()
    assert RULES["copy"](4, rng) == ("abcd", "abcd")
    assert RULES["reverse"](4, rng) == ("abcd", "dcba")
    assert RULES["recall"](3, rng) == ("a0b1c2?abc", "012")
    assert RULES["form"](3, rng) == ("a?b?c?:a0b1c2", "a0b1c2")


@pytest.mark.parametrize("n", [1, 2, 16, 26])
def test_what_is_recalled_stands_behind_the_letter_asked_for(n: int) -> None:
    source, target = RULES["recall"](n, random.Random(n))
    told, _, asked = source.partition("?")
    assert (len(told), len(asked), len(target)) == (2 * n, n, n)
    assert Counter(told[::2]) == Counter(asked)  # every letter once, and asked for once
    assert max(Counter(asked).values()) == 1
    assert [told[told.index(letter) + 1] for letter in asked] == list(target)
    if n == 26:
        assert told[::2] != asked  # in another order


@pytest.mark.parametrize("n", [1, 8, 26])
def test_a_form_is_filled_in_at_the_places_of_its_blanks(n: int) -> None:
    source, target = RULES["form"](n, random.Random(n))
    blanks, _, told = source.partition(":")
    assert len(blanks) == len(target) == len(told) == 2 * n
    digits = dict(zip(told[::2], told[1::2], strict=True))
    assert blanks.replace("?", "") == target[::2]
    assert list(target[1::2]) == [digits[letter] for letter in target[::2]]


def test_more_pairs_than_letters_are_refused() -> None:
    with pytest.raises(ValueError, match="27 pairs need more letters than 26"):
        RULES["recall"](27, random.Random(1))


def test_nothing_tested_is_trained_on_and_lengths_are_as_asked(tmp_path: Path) -> None:
    options = argparse.Namespace(shortest=2, longest=3, tested=[2, 5], train=2_000, test=30, seed=1)
    SEQUENCES["write"](tmp_path, RULES["copy"], options)
    parts = {
        file.stem: [line.split("\t") for line in file.read_text("utf-8").splitlines()]
        for file in tmp_path.iterdir()
    }
    assert set(parts) == {"train", "validation", "test-2", "test-5"}
    assert {len(source) for source, _ in parts["train"]} == {2, 3}
    assert {len(source) for source, _ in parts["test-5"]} == {5}
    held_out = {source for name in parts if name != "train" for source, _ in parts[name]}
    assert not held_out & {source for source, _ in parts["train"]}
    assert len({source for source, _ in parts["train"]}) == len(parts["train"])
