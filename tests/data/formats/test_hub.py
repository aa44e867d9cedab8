import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from dragoman.data.formats.hub import read_dataset
from dragoman.data.formats.segment import Segment
from dragoman.errors import DataError, MissingExtraError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A data set of two rows that stands in for one on the hub."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # while importing, of what others deprecate
    rows = [{"translation": {"en": "a", "de": "x"}}, {"translation": {"en": "b", "de": None}}]
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return str(tmp_path / "set")


def test_a_folder_is_read_row_by_row(folder: str) -> None:
    assert list(read_dataset(folder)) == [Segment(1, "a", "x"), Segment(2, "b", "")]


def test_reading_begins_with_the_first_row_asked_for(folder: str) -> None:
    rows = read_dataset(folder, source="translation.de", target="translation.en")
    assert next(rows) == Segment(1, "x", "a")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"split": "tset"}, r"split 'tset' cannot be read \(.*train.*\)"),
        ({"source": "translation.fr"}, r"line 1: no translation.fr: no key 'fr'"),
        ({"configuration": "nothing"}, r"split 'train' cannot be read"),
    ],
)
def test_what_a_set_does_not_hold_is_located(
    folder: str, settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(DataError, match=rf"{folder}: {problem}"):
        list(read_dataset(folder, **settings))


def test_a_set_that_is_not_there_is_located(folder: str) -> None:
    with pytest.raises(DataError, match=r"nowhere: split 'train' cannot be read"):
        list(read_dataset(f"{folder}/nowhere"))


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"data sets needs .*dragoman\[datasets\]"):
        list(read_dataset("any/thing"))
