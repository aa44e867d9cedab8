"""The ids of a run on disk: taken again as long as nothing they depend on has changed."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from dragoman.data import Files, TrainingText, preparing
from dragoman.errors import CheckpointError, DataError
from dragoman.recipe import Recipe, parse_recipe
from dragoman.run.tasks import prepared as module
from dragoman.run.tasks.pair_sets import Pairs
from dragoman.run.tasks.pairs import read_all_pairs
from dragoman.run.tasks.prepared import PreparedFolder
from tests.fixtures import write_corpus


def table(folder: Path, **data: Any) -> dict[str, Any]:
    train = {"source": str(folder / "train.de"), "target": str(folder / "train.en")}
    return {"data": {"train": train, **data}, "tokenizer": {"size": 300}}


def recipe(folder: Path, **data: Any) -> Recipe:
    return parse_recipe(table(folder, **data))


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many pairs are encoded each time that a store is made."""
    counts: list[int] = []
    parts = preparing._parts

    def counted(pairs: Iterator[Any]) -> Iterator[Any]:
        for numbers, texts in parts(pairs):
            counts.append(len(numbers))
            yield numbers, texts

    monkeypatch.setattr(preparing, "_parts", counted)
    return counts


def stores(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("pairs-*"))


def test_nothing_is_encoded_again_when_nothing_changed(encoded: list[int], tmp_path: Path) -> None:
    write_corpus(tmp_path)
    first = read_all_pairs(recipe(tmp_path, hold_out=4), tmp_path / "run")
    assert encoded == [36]
    for reuse in (False, True):
        again = read_all_pairs(recipe(tmp_path, hold_out=4), tmp_path / "run", reuse=reuse)
        assert again.fingerprint == first.fingerprint
        assert again.validation is not None
        assert first.validation is not None
        assert again.validation.pairs == first.validation.pairs
    assert encoded == [36]


def rewritten(folder: Path) -> Recipe:
    path = folder / "train.de"
    text = path.read_text(encoding="utf-8").replace("hund", "hemd")  # as long as before
    path.write_text(text, encoding="utf-8")
    return recipe(folder)


CHANGES: dict[str, Callable[[Path], Recipe]] = {
    "file": rewritten,
    "filter": lambda folder: recipe(folder, filters={"min_characters": 9}),
    "limit": lambda folder: recipe(folder, max_length=30),
    "rule": lambda folder: recipe(folder, too_long="truncate"),
    "vocabulary": lambda folder: parse_recipe(table(folder) | {"tokenizer": {"size": 280}}),
    "hold-out": lambda folder: recipe(folder, hold_out=3),
}


@pytest.mark.parametrize("what", CHANGES)
def test_it_is_prepared_again_when_something_changes(
    what: str, encoded: list[int], tmp_path: Path
) -> None:
    write_corpus(tmp_path)
    read_all_pairs(recipe(tmp_path), tmp_path / "run")
    (before,) = stores(tmp_path / "run/data")
    read_all_pairs(CHANGES[what](tmp_path), tmp_path / "run")
    assert len(encoded) == 2
    (after,) = stores(tmp_path / "run/data")  # the old one is of no use
    assert before != after


def test_another_seed_without_a_hold_out_changes_nothing(
    encoded: list[int], tmp_path: Path
) -> None:
    write_corpus(tmp_path)
    for seed in (1, 2):
        made = parse_recipe(table(tmp_path) | {"training": {"seed": seed}})
        read_all_pairs(made, tmp_path / "run")
    assert encoded == [40]


def test_two_runs_share_a_folder(encoded: list[int], tmp_path: Path) -> None:
    write_corpus(tmp_path)
    shared = tmp_path / "shared"
    found: list[Pairs] = []
    for run in ("one", "two"):
        found.append(read_all_pairs(recipe(tmp_path, prepared=str(shared)), tmp_path / run))
        assert not (tmp_path / run / "data").exists()
    assert encoded == [40]
    assert found[0].fingerprint == found[1].fingerprint
    read_all_pairs(recipe(tmp_path, prepared=str(shared), max_length=30), tmp_path / "three")
    assert len(stores(shared)) == 2  # what others use stays


def test_a_file_that_settled_is_not_digested_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpus(tmp_path)
    corpus = Files(source=tmp_path / "train.de", target=tmp_path / "train.en")
    monkeypatch.setattr(module, "_SETTLED", 0)
    time.sleep(0.02)
    digested: list[Path] = []
    digest = module.hash_file

    def counted(path: Path) -> str:
        digested.append(path)
        return digest(path)

    monkeypatch.setattr(module, "hash_file", counted)
    found: list[dict[str, str]] = []
    for _ in range(2):
        made = PreparedFolder(recipe(tmp_path), tmp_path / "run", lambda _: None)
        found.append(dict(made.sha256(TrainingText(corpus))))
    assert len(digested) == 2
    assert found[0] == found[1]
    rewritten(tmp_path)
    made = PreparedFolder(recipe(tmp_path), tmp_path / "run", lambda _: None)
    assert made.sha256(TrainingText(corpus)) != found[0]


@pytest.mark.parametrize("bad", ["", "[]", "[1, 2]", '{"train.de": 7}', "null"])
def test_damaged_notes_about_files_cost_time_only(bad: str, tmp_path: Path) -> None:
    write_corpus(tmp_path)
    read_all_pairs(recipe(tmp_path, hold_out=4), tmp_path / "run")
    data = tmp_path / "run/data"
    for path in (data / "files.json", *data.glob("held-out-*")):
        path.write_text(bad, encoding="utf-8")
    again = read_all_pairs(recipe(tmp_path, hold_out=4), tmp_path / "run", reuse=True)
    assert again.validation is not None
    assert len(again.validation.pairs) == 4


def test_a_folder_that_another_process_fills_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpus(tmp_path)
    monkeypatch.setattr(module, "only_one", lambda _: nullcontext(False))
    with pytest.raises(DataError, match="another process prepares the same text there; wait"):
        read_all_pairs(recipe(tmp_path), tmp_path / "run")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    made = recipe(tmp_path, prepared=str(tmp_path / "file/inside"), hold_out=4)
    problem = r"file/inside: cannot be written: Not a directory; .*another data\.prepared"
    with pytest.raises(CheckpointError, match=problem):
        read_all_pairs(made, tmp_path / "run")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_once_and_learned_from(tmp_path: Path) -> None:
    source, _ = write_corpus(tmp_path)
    straight = read_all_pairs(recipe(tmp_path), tmp_path / "straight")
    text = source.read_text(encoding="utf-8")
    source.unlink()
    os.mkfifo(source)
    writer = threading.Thread(target=source.write_text, args=(text,), kwargs={"encoding": "utf-8"})
    writer.start()
    found = read_all_pairs(recipe(tmp_path), tmp_path / "run")
    writer.join()
    assert found.fingerprint == straight.fingerprint
    assert [*found.train[0].sha256] == [str(tmp_path / "train.en")]


def test_a_full_disk_is_an_error_of_the_command_line_and_breaks_nothing(tmp_path: Path) -> None:
    write_corpus(tmp_path, repeat=4_000)
    path = tmp_path / "recipe.toml"
    path.write_text(
        f"[data.train]\nsource = {json.dumps(str(tmp_path / 'train.de'))}\n"
        f"target = {json.dumps(str(tmp_path / 'train.en'))}\n[tokenizer]\nsize = 300\n"
        "[model]\nlayers = 1\nd_model = 16\nheads = 2\nd_ff = 32\n"
        "[training]\nsteps = 1\nbatch_tokens = 400\nlog_every = 1\n",
        encoding="utf-8",
    )
    limited = (
        "import resource, sys; from dragoman.cli.main import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2); "
        "sys.exit(main(sys.argv[2:]))"
    )
    command = ["train", str(path), "--run", str(tmp_path / "run"), "--device", "cpu"]
    asked = [sys.executable, "-c", limited]
    full = subprocess.run([*asked, "60000", *command], capture_output=True, text=True, timeout=300)
    assert full.returncode == 2
    assert "run/data: cannot be written: File too large; make room or choose" in full.stderr
    assert "Traceback" not in full.stderr
    done = subprocess.run([*asked, "-1", *command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_file_changed_while_it_is_read_is_an_error_and_is_not_taken_for_the_old_one(
    encoded: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_corpus(tmp_path)
    parts = preparing._parts

    def meddled(pairs: Iterator[Any]) -> Iterator[Any]:
        yield from parts(pairs)
        with (tmp_path / "train.de").open("a", encoding="utf-8") as file:
            file.write("noch eine zeile\n")

    with monkeypatch.context() as patched:
        patched.setattr(preparing, "_parts", meddled)
        with pytest.raises(DataError, match="was changed while it was read; give the same"):
            read_all_pairs(recipe(tmp_path), tmp_path / "run")
    with (tmp_path / "train.en").open("a", encoding="utf-8") as file:
        file.write("one more line\n")
    found = read_all_pairs(recipe(tmp_path), tmp_path / "run")
    assert len(found.train[0]) == 41
