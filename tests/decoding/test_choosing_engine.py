import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.decoding import BeamSearch, FusedEngine, TorchEngine, choose_engine, decode
from dragoman.errors import ConfigError
from tests.decoding.fused.test_session import made
from tests.fixtures import GERMAN, encoder_decoder, tiny_bundle


def test_auto_measures_once_and_remembers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    bundle = tiny_bundle()
    special, said = bundle.target_tokenizer.special, list[str]()
    measuring = "measuring which engine is faster here"
    first = choose_engine(encoder_decoder(bundle), special, say=said.append)
    assert [each.startswith(measuring) for each in said].count(True) == 1
    said.clear()  # the first time kernels may have been compiled too
    file = tmp_path / "dragoman" / "engines.json"
    known = json.loads(file.read_text())
    assert len(known) == 1
    chosen = next(iter(known.values()))
    assert isinstance(first, FusedEngine if chosen == "fused" else TorchEngine)
    for other, kind in (("torch", TorchEngine), ("fused", FusedEngine)):
        file.write_text(json.dumps(dict.fromkeys(known, other)))
        again = choose_engine(encoder_decoder(bundle), special, say=said.append)
        assert isinstance(again, kind)
    assert not said
    file.write_text("{")  # damaged: measured again
    choose_engine(encoder_decoder(bundle), special, say=said.append)
    assert len(said) == 1


def test_models_with_few_positions_are_measured_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    bundle = tiny_bundle(learned=3)
    choose_engine(encoder_decoder(bundle), bundle.target_tokenizer.special)
    assert (tmp_path / "dragoman" / "engines.json").exists()


def test_models_of_few_positions_are_measured_with_short_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    model = made(positions={"kind": "learned", "max_length": 8})
    special = tiny_bundle().target_tokenizer.special
    assert choose_engine(model, special).model is model
    assert (tmp_path / "dragoman" / "engines.json").exists()


def test_names_and_kinds_that_do_not_go_together_are_refused() -> None:
    bundle = tiny_bundle()
    model, special = encoder_decoder(bundle), bundle.target_tokenizer.special
    for engine, dtype, named in (
        ("fast", "auto", "is not an engine"),
        ("torch", "int8", "int8"),
        ("fused", "float16", "float16"),
        ("torch", "float8", "not a choice"),
    ):
        with pytest.raises(ConfigError, match=named):
            choose_engine(model, special, engine=engine, dtype=dtype)


def test_without_numba_auto_is_torch_and_fused_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(name: str) -> None:
        return None

    monkeypatch.setattr("dragoman.decoding.choosing_engine.find_spec", none)
    bundle = tiny_bundle()
    model, special = encoder_decoder(bundle), bundle.target_tokenizer.special
    assert isinstance(choose_engine(model, special), TorchEngine)
    monkeypatch.setattr("dragoman.decoding.fused.compiling.find_spec", none)
    for engine, dtype in (("fused", "auto"), ("auto", "int8")):
        with pytest.raises(ConfigError, match=r"dragoman\[fast\]"):
            choose_engine(model, special, engine=engine, dtype=dtype)


def test_a_numba_that_does_not_load_is_named_and_auto_is_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def there(name: str) -> str:
        return name

    monkeypatch.setattr("dragoman.decoding.choosing_engine.find_spec", there)
    monkeypatch.setattr("dragoman.decoding.fused.compiling.find_spec", there)
    monkeypatch.setitem(sys.modules, "numba", None)  # importing it is an ImportError
    bundle = tiny_bundle()
    model, special = encoder_decoder(bundle), bundle.target_tokenizer.special
    assert isinstance(choose_engine(model, special), TorchEngine)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        choose_engine(model, special, engine="fused")


@pytest.mark.slow
def test_what_compiles_is_said_once_and_works_where_nothing_can_be_written(tmp_path: Path) -> None:
    # The second as in a container that is read-only and knows no home.
    code = (
        "import sys\n"
        "from numba.core.caching import CacheImpl\n"
        "if sys.argv[1] == 'nowhere':\n"
        "    CacheImpl._locator_classes = []\n"  # none finds a folder
        "from dragoman.decoding import choose_engine, decode, BeamSearch\n"
        "from tests.fixtures import encoder_decoder, tiny_bundle\n"
        "bundle, said = tiny_bundle(), []\n"
        "model, special = encoder_decoder(bundle), bundle.target_tokenizer.special\n"
        "engine = choose_engine(model, special, engine='fused', say=said.append)\n"
        "decode(engine, [[5, 6]], BeamSearch(beam=2, max_length=3), special)\n"
        "print(*said)\n"
        "if sys.argv[1] == 'nowhere':\n"
        "    print(type(choose_engine(model, special)).__name__)\n"
    )
    root, where = Path(__file__).parents[2], {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def run(place: str, **more: str) -> str:
        command, env = [sys.executable, "-c", code, place], {**where, **more}
        return subprocess.run(
            command, check=True, cwd=root, env=env, capture_output=True, text=True
        ).stdout.strip()

    begin = "compiling kernels for this processor, "
    assert run("somewhere") == f"{begin}once; takes half a minute where most are new"
    assert run("somewhere") == ""
    nowhere = run("nowhere", NUMBA_OPT="0")  # which compiles sooner
    assert nowhere.startswith(f"{begin}anew each time")
    assert "NUMBA_CACHE_DIR" in nowhere
    assert nowhere.endswith("\nTorchEngine")  # of auto


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("batch_tokens", [1, 40, 4096])
def test_workers_and_batches_change_nothing(workers: int, batch_tokens: int) -> None:
    bundle = tiny_bundle(layers=2)
    model, special = encoder_decoder(bundle), bundle.target_tokenizer.special
    given = bundle.source_tokenizer.encode_many(GERMAN)
    config = BeamSearch(beam=3, n_best=2, max_length=12)
    expected = decode(FusedEngine.of(model, "int8", workers=1), given, config, special)
    engine = FusedEngine.of(model, "int8", workers=workers)
    threads = torch.get_num_threads()
    assert decode(engine, given, config, special, batch_tokens=batch_tokens) == expected
    assert torch.get_num_threads() == threads


def test_an_error_in_a_worker_comes_out() -> None:
    bundle = tiny_bundle()
    model = encoder_decoder(bundle)
    engine = FusedEngine.of(model, "float32", workers=2)

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    engine.search = broken  # pyright: ignore  # what is tested
    given = bundle.source_tokenizer.encode_many(GERMAN)
    special = bundle.target_tokenizer.special
    with pytest.raises(RuntimeError, match="broken"):
        decode(engine, given, BeamSearch(), special, batch_tokens=1)


@pytest.mark.parametrize("shared", [True, False])
def test_few_sources_of_different_lengths_are_one_batch_of_a_shared_engine(
    shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tiny_bundle()
    engine = FusedEngine.of(encoder_decoder(bundle), "float32", workers=2)
    engine.shared = shared
    search, rows = engine.search, list[int]()

    def counted(sources: Sequence[Sequence[int]], *others: Any, **wishes: Any) -> Any:
        rows.append(len(sources))
        return search(sources, *others, **wishes)

    monkeypatch.setattr(engine, "search", counted)
    given = [[5] * 19, *([6, 7] for _ in range(9))]  # 47 pieces with end symbols, 200 padded
    config, special = BeamSearch(beam=1, max_length=3), bundle.target_tokenizer.special
    decode(engine, given, config, special, batch_tokens=64)
    assert sorted(rows) == ([10] if shared else [3, 7])
    rows.clear()
    decode(engine, given * 2, config, special, batch_tokens=64)  # 94 pieces are cut in any case
    assert len(rows) > 1


@pytest.mark.parametrize(
    ("lengths", "workers", "expected"),
    [
        ([3] * 10, 2, [5, 5]),
        ([19, *[2] * 9], 2, [3, 7]),  # 20 + 3 + 3 pieces with end symbols, and 7 x 3
        ([3] * 5, 3, [2, 3]),
        ([3] * 3, 2, [3]),
        ([3] * 2, 1, [2]),
        ([3], 2, [1]),
        ([], 2, []),
    ],
)
def test_what_fits_into_one_batch_is_cut_so_that_each_worker_has_some(
    lengths: list[int], workers: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tiny_bundle()
    engine = FusedEngine.of(encoder_decoder(bundle), "float32", workers=workers)
    search, rows = engine.search, list[int]()

    def counted(sources: Sequence[Sequence[int]], *others: Any, **wishes: Any) -> Any:
        rows.append(len(sources))
        return search(sources, *others, **wishes)

    monkeypatch.setattr(engine, "search", counted)
    given = [[5] * length for length in lengths]
    special = bundle.target_tokenizer.special
    found = decode(engine, given, BeamSearch(beam=1, max_length=3), special)
    assert sorted(rows) == expected
    assert found == decode(engine, given, BeamSearch(beam=1, max_length=3), special, batch_tokens=1)
