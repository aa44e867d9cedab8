"""Every file of a folder as a program, or cut, or changed: told with its name, and never run."""

import io
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.errors import ModelError
from dragoman.interop import import_ctranslate2, write_ctranslate2
from tests.interop.ctranslate2.binaries import PRETRAINED, forget
from tests.interop.models import random_bundle

pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")


class Program:
    """Leaves a mark where it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


def archived(program: Program) -> bytes:
    stream = io.BytesIO()
    torch.save({"weights": program}, stream)
    return stream.getvalue()


PROGRAMS: dict[str, Callable[[Program], bytes]] = {
    "in-letters": lambda program: pickle.dumps(program, protocol=0),
    "old": lambda program: pickle.dumps(program, protocol=2),
    "new": lambda program: pickle.dumps(program, protocol=5),
    "archive": archived,
}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that we write, for two vocabularies."""
    folder = tmp_path_factory.mktemp("ours") / "model"
    write_ctranslate2(folder, random_bundle({"layers": 1}, joint=False))
    return folder


@pytest.fixture(scope="module")
def theirs(ours: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as another program would have written it."""
    folder = tmp_path_factory.mktemp("theirs") / "model"
    shutil.copytree(ours, folder)
    forget(folder)
    return folder


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_a_program_in_place_of_a_file_is_refused_and_not_run(
    program: str, whose: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder: Path = request.getfixturevalue(whose)
    mark = tmp_path / "mark"
    poison = PROGRAMS[program](Program(mark))
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == (6 if whose == "ours" else 4)
    for name in names:
        poisoned = tmp_path / name
        shutil.copytree(folder, poisoned)
        (poisoned / name).write_bytes(poison)
        with pytest.raises(ModelError, match=rf"{name.split('.')[0]}"):
            import_ctranslate2(poisoned)
        assert not mark.exists()
    pickle.loads(pickle.dumps(Program(mark)))  # which it would have left
    assert mark.exists()


@pytest.mark.skipif(not PRETRAINED.is_dir(), reason="needs ../shared/data/pretrained")
@pytest.mark.parametrize("program", PROGRAMS)
def test_published_folders_with_a_program_in_them_are_refused(program: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    poison = PROGRAMS[program](Program(mark))
    for original in (PRETRAINED / "ct2-aren-transliteration" / "v1-aren-transliteration-i16",):
        for name in ("model.bin", "source_vocabulary.txt", "target_vocabulary.txt"):
            poisoned = tmp_path / name
            poisoned.mkdir()
            for path in original.iterdir():
                (poisoned / path.name).write_bytes(path.read_bytes())
            (poisoned / name).write_bytes(poison)
            with pytest.raises(ModelError, match=f"{poisoned}"):
                import_ctranslate2(poisoned)
    assert not mark.exists()


def test_files_that_are_not_read_may_be_anything(theirs: Path, tmp_path: Path) -> None:
    folder, mark = tmp_path / "model", tmp_path / "mark"
    shutil.copytree(theirs, folder)
    for name in ("tokenizer.json", "vmap.txt", "optimizer.pt", "README.md"):
        (folder / name).write_bytes(pickle.dumps(Program(mark)))
    import_ctranslate2(folder)
    assert not mark.exists()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), own=st.booleans())
def test_whatever_is_cut_or_flipped_is_read_or_told(
    data: st.DataObject, own: bool, ours: Path, theirs: Path
) -> None:
    folder = ours if own else theirs
    path = data.draw(st.sampled_from(sorted(folder.iterdir())))
    before = path.read_bytes()
    damaged = bytearray(before)
    for place in data.draw(st.lists(st.integers(0, len(before) - 1), max_size=4)):
        damaged[place] ^= data.draw(st.integers(1, 255))
    end = data.draw(st.none() | st.integers(0, len(before)))
    path.write_bytes(damaged[:end])
    try:
        import_ctranslate2(folder)
    except ModelError:
        pass
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_every_missing_file_is_named(
    whose: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder: Path = request.getfixturevalue(whose)
    for path in folder.iterdir():
        if path.name == "source.tokenizer.json":
            continue  # then one for both is looked for
        rest = tmp_path / path.name
        shutil.copytree(folder, rest)
        (rest / path.name).unlink()
        with pytest.raises(ModelError, match=path.name.split(".")[0]):
            import_ctranslate2(rest)


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nothing: no such model folder"):
        import_ctranslate2(tmp_path / "nothing")
