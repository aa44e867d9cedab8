import importlib
import math
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from tests.fixtures import tiny_folder

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a script as its own folder would."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    return load


def run_with(every: int) -> Any:
    training = SimpleNamespace(checkpoint_every=every)
    return cast("Any", SimpleNamespace(recipe=SimpleNamespace(training=training)))


def test_equal_times_end_when_the_fastest_has_made_all_its_updates(script: Any) -> None:
    # By hand: 4 updates a second make 1,200 in 300 seconds.
    assert script("architectures").budgets([2.0, 4.0], 1200, 3) == [100.0, 200.0, 300.0]


def test_points_are_checkpoints_at_or_before_the_time_and_the_end(script: Any) -> None:
    # By hand: 2.6 updates a second make 260 in 100 seconds and 26 in 10.
    found = script("architectures").points_of(run_with(25), 2.6, [1.0, 10.0, 100.0], 1200)
    assert [(point["seconds"], point["updates"]) for point in found] == [
        (1.0, 25),  # the first there is
        (10.0, 25),
        (100.0, 250),
        (None, 1200),
    ]


def test_a_whole_number_of_updates_is_not_rounded_away(script: Any) -> None:
    # 0.1 · 3 is more than 0.3 for a computer, and 0.7 · 10 / 0.07 less than 100.
    (seconds,) = script("architectures").budgets([0.07], 100, 1)
    (point, _) = script("architectures").points_of(run_with(25), 0.07, [seconds], 100)
    assert point["updates"] == 100


def test_products_inside_of_recurrent_layers_are_counted(script: Any) -> None:
    # By hand: at each of 3 positions 2 rows are multiplied with 4 x 20 and 5 x 20 weights; twice.
    layer = torch.nn.LSTM(4, 5, batch_first=True)
    with torch.no_grad():
        count = script("architecture_side").operations(lambda: layer(torch.zeros(2, 3, 4)))
    assert count == 2 * 3 * 2 * (4 * 20 + 5 * 20)


def test_a_chain_is_the_longest_way_through_what_waits(script: Any) -> None:
    chain = script("architecture_side").longest_chain
    x = torch.ones(2, requires_grad=True)
    # By hand: the sum waits for the product, that for two exponentials one after the other.
    assert chain((x.exp().exp() * x.exp()).sum()) == 4
    # A product shared by both sides of a sum counts once on each way, however many ways there are.
    y = x
    for _ in range(60):
        y = y + y
    assert chain(y.sum()) == 61


def test_products_added_in_place_are_counted(script: Any) -> None:
    # By hand: (2, 3) with (3, 5): 2 · 2 · 3 · 5 operations.
    into = torch.zeros(2, 5)

    def work() -> torch.Tensor:
        return into.addmm_(torch.ones(2, 3), torch.ones(3, 5))

    assert script("architecture_side").operations(work) == 60


def test_symbols_count_at_their_place_alone(script: Any) -> None:
    # By hand: all 3 right; 1 of 3, what is too much not counted; 0 of 2, as all moved by one.
    answers, targets = ["abc", "axxc", "b"], ["abc", "abc", "ab"]
    assert script("lengths").accuracy(answers, targets) == (4 / 8, 1 / 3)


def test_tests_are_read_by_length_and_a_folder_without_any_is_refused(
    script: Any, tmp_path: Path
) -> None:
    (tmp_path / "test-16.tsv").write_text("ab\tba\n", encoding="utf-8")
    (tmp_path / "test-8.tsv").write_text("a\ta\nb\tb\n", encoding="utf-8")
    (tmp_path / "test-old.tsv").write_text("x\ty\n", encoding="utf-8")
    found = script("lengths").tests(tmp_path)
    assert list(found.items()) == [(8, [("a", "a"), ("b", "b")]), (16, [("ab", "ba")])]
    with pytest.raises(SystemExit, match=r"there is no test-N\.tsv"):
        script("lengths").tests(tmp_path / "other")


def test_the_table_says_what_equal_updates_and_equal_minutes_cost(script: Any) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: the extra plot")
    report = script("table2_report")
    fast = {"pieces_per_busy_second": 9_000.0, "busy_range": [8_000.0, 9_500.0]}
    speed = {
        "variants": [{"name": "a", "parameters": 1_000, "updates_per_busy_second": 2.0} | fast]
    }
    points = [
        {"seconds": 30.0, "updates": 50, "bleu": 9.0},
        {"seconds": 60.0, "updates": 100, "bleu": 10.0},
        {"seconds": None, "updates": 120, "bleu": 12.0},
    ]
    cost = {"operations_per_update": 1e9, "operations_per_piece": 5e6}
    rows = report.joined(speed, {"variants": [{"name": "a", "points": points} | cost]})
    (_, _, line) = report.translation_table(rows)
    # By hand: 120 updates at 2 a second take a minute, and 120 · 10⁹ operations.
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == [
        *("a", "1,000", "9,000 (8,000 to 9,500)", "5.0 M"),
        *("120", "1.0", "1.20e+11", "**12.00**"),
        *("1.0", "100", "1.00e+11", "**10.00**"),
    ]


def test_each_length_is_translated_and_counted(script: Any, tmp_path: Path) -> None:
    model = tiny_folder(tmp_path / "model")
    never = "\u2603" * 5  # what no weights of the tiny model say five times
    asked = {5: [("ein hund", never), ("eine katze", never)], 9: [("ein hund", never)]}
    assert script("lengths").measure(model, asked) == [
        {"length": 5, "pairs": 2, "symbols": 0.0, "whole": 0.0},
        {"length": 9, "pairs": 1, "symbols": 0.0, "whole": 0.0},
    ]


def test_windows_lie_one_after_the_other_and_end_in_what_follows(script: Any) -> None:
    # By hand: of 8 ids, windows of 3 and the next; the third would lack one.
    found = script("extrapolation").windows([5, 6, 7, 8, 9, 10, 11, 12], 3, 9)
    assert found.tolist() == [[5, 6, 7, 8], [8, 9, 10, 11]]
    assert script("extrapolation").windows([5, 6, 7, 8, 9, 10, 11, 12], 3, 1).tolist() == [
        [5, 6, 7, 8]
    ]


def test_a_loss_is_said_for_each_position(script: Any) -> None:
    class Sure(torch.nn.Module):
        """Says that each id comes again, ten times as likely as each of the other three."""

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.one_hot(ids, 4) * torch.log(torch.tensor(10.0))

    cut = torch.tensor([[1, 1, 2], [3, 3, 3]])
    # By hand: right 10 / 13, wrong 1 / 13; the second position is right in one of two windows.
    right, wrong = math.log(13 / 10), math.log(13)
    found = script("extrapolation").losses(Sure(), cut)
    assert found.tolist() == pytest.approx([right, (right + wrong) / 2], abs=1e-6)
    # By hand: a trained length of 2; the means of the first 2, 3, 4 and 8 positions.
    told = script("extrapolation").by_length(np.array([1.0, 1, 4, 2, 2, 2, 2, 2]), 2)
    assert told == {"2": 1.0, "3": 2.0, "4": 2.0, "8": 2.0}
