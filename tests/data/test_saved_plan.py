"""Plans of batches on disk: the same batches as in memory, and found again when damaged."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.data import saved_plan as module
from dragoman.data.cells import KnownLengths
from dragoman.data.planning import BatchPlan
from dragoman.data.saved_plan import saved_plan

RNG = np.random.default_rng(1)
LENGTHS = KnownLengths(RNG.integers(1, 7, 500), RNG.integers(1, 7, 500))
BUDGET = 400
FILES = ("plan-stored-400.npz", "plan-stored-400.order")


def batches(plan: BatchPlan) -> list[list[int]]:
    return [batch.tolist() for batch in plan.deal(np.random.default_rng(5))]


def plan(folder: Path | None, lengths: KnownLengths = LENGTHS) -> list[list[int]]:
    return batches(saved_plan(lengths, budget=BUDGET, folder=folder, name="stored"))


EXPECTED = plan(None)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count how often a plan is looked for."""
    found: list[int] = []
    find = module.find_plan

    def counted(lengths: KnownLengths, *, budget: int) -> object:
        found.append(budget)
        return find(lengths, budget=budget)

    monkeypatch.setattr(module, "find_plan", counted)
    return found


def test_a_saved_plan_gives_the_batches_of_one_in_memory_and_is_found_once(
    searches: list[int], tmp_path: Path
) -> None:
    assert sorted(pair for batch in EXPECTED for pair in batch) == [*range(500)]
    assert plan(tmp_path) == EXPECTED
    assert plan(tmp_path) == EXPECTED
    assert searches == [BUDGET]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


def test_another_budget_or_name_is_another_plan(searches: list[int], tmp_path: Path) -> None:
    for name, budget in (("stored", 400), ("stored", 500), ("redrawn-1", 400)):
        saved_plan(LENGTHS, budget=budget, folder=tmp_path, name=name)
    assert searches == [400, 500, 400]


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_short_is_replaced(name: str, searches: list[int], tmp_path: Path) -> None:
    plan(tmp_path)
    good = (tmp_path / name).read_bytes()
    sizes = [0, 1, 2, 3, 4, 8, len(good) // 2, len(good) - 4, len(good) - 1]
    for size in sizes:
        (tmp_path / name).write_bytes(good[:size])
        assert plan(tmp_path) == EXPECTED
        assert (tmp_path / name).stat().st_size == len(good)
    (tmp_path / name).unlink()
    assert plan(tmp_path) == EXPECTED
    assert len(searches) == len(sizes) + 2


def test_no_changed_byte_of_the_table_is_an_error(tmp_path: Path) -> None:
    plan(tmp_path)
    path = tmp_path / FILES[0]
    good = path.read_bytes()
    places = [*range(60), *range(len(good) - 120, len(good)), *range(60, len(good) - 120, 29)]
    for place in places:  # the first and the last hold what a zip file knows of itself
        path.write_bytes(good[:place] + bytes([good[place] ^ 255]) + good[place + 1 :])
        assert plan(tmp_path) == EXPECTED


@pytest.mark.parametrize("rubbish", [b"nothing", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"\x80\x04."])
def test_what_is_no_plan_is_replaced(rubbish: bytes, searches: list[int], tmp_path: Path) -> None:
    (tmp_path / FILES[0]).write_bytes(rubbish)
    assert plan(tmp_path) == EXPECTED
    assert plan(tmp_path) == EXPECTED
    assert searches == [BUDGET]


def test_a_plan_of_another_version_is_replaced(
    searches: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(module, "FORMAT", 0)
        plan(tmp_path)
    assert plan(tmp_path) == EXPECTED
    assert len(searches) == 2


def test_a_plan_for_another_number_of_pairs_is_replaced(tmp_path: Path) -> None:
    plan(tmp_path)
    fewer = KnownLengths(np.arange(1, 50), np.arange(1, 50))
    assert plan(tmp_path, fewer) == plan(None, fewer)


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert plan(tmp_path / "file") == EXPECTED
    assert plan(tmp_path / "none") == EXPECTED
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_nothing_to_plan_for_is_an_error(tmp_path: Path) -> None:
    nothing = KnownLengths(np.arange(0), np.arange(0))
    for folder in (None, tmp_path):
        with pytest.raises(ValueError, match="make no batches"):
            plan(folder, nothing)
