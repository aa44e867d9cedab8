"""Training from every format, named as a recipe names it."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.recipe import parse_recipe, read_recipe, recipe_toml
from dragoman.run import train
from dragoman.training import Finished
from tests.run.test_train import recipe_for

PAIRS = [(f"der Hund {n} schläft", f"the dog {n} sleeps") for n in range(12)]


def write_tmx(folder: Path) -> dict[str, Any]:
    units = "".join(
        f'<tu><tuv xml:lang="de"><seg>{source}</seg></tuv>'
        f'<tuv xml:lang="en-GB"><seg>{target}</seg></tuv></tu>'
        for source, target in PAIRS
    )
    text = f'<tmx version="1.4"><header srclang="de"/><body>{units}</body></tmx>'
    (folder / "a.tmx").write_text(text, "utf-8")
    return {"file": "a.tmx", "source_language": "de", "target_language": "en"}


def write_po(folder: Path) -> str:
    entries = [f'msgid "{source}"\nmsgstr "{target}\\n"\n' for source, target in PAIRS]
    (folder / "a.po").write_text("\n".join(entries), "utf-8")
    return "a.po"


def write_xliff(folder: Path) -> dict[str, Any]:
    units = "".join(
        f'<trans-unit id="{n}"><source>{pair[0]}</source><target>{pair[1]}</target></trans-unit>'
        for n, pair in enumerate(PAIRS)
    )
    name = "urn:oasis:names:tc:xliff:document:1.2"
    text = f'<xliff version="1.2" xmlns="{name}"><file><body>{units}</body></file></xliff>'
    (folder / "a.xlf").write_text(text, "utf-8")
    return {"file": "a.xlf", "markup": "drop"}


def rows() -> str:
    values = [{"translation": {"de": source, "en": target}} for source, target in PAIRS]
    return "".join(json.dumps(value) + "\n" for value in values)


def write_json(folder: Path) -> dict[str, Any]:
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(rows().encode()))
    return {"file": "a.jsonl.gz", "columns": ["translation.de", "translation.en"]}


def write_csv(folder: Path) -> dict[str, Any]:
    for part in (0, 1):
        lines = [f'"{s}";{t};1' for s, t in PAIRS[part::2]]
        (folder / f"part-{part}.csv").write_text("\n".join(["de;en;n", *lines]), "utf-8")
    return {"file": "part-?.csv", "delimiter": ";", "columns": ["de", "en"]}


def write_parquet(folder: Path) -> dict[str, Any]:
    pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from pyarrow import parquet  # pyright: ignore  # optional

    writer: Any = parquet  # it has no types
    columns = {"de": [source for source, _ in PAIRS], "en": [target for _, target in PAIRS]}
    writer.write_table(pyarrow.table(columns), folder / "a.parquet")
    return {"file": "a.parquet", "columns": ["de", "en"]}


def write_dataset(folder: Path) -> dict[str, Any]:
    pytest.importorskip("datasets", reason="the extra datasets is not installed")
    (folder / "set").mkdir()
    (folder / "set" / "train.jsonl").write_text(rows(), "utf-8")
    return {"dataset": "set", "columns": ["translation.de", "translation.en"]}


@pytest.mark.parametrize(
    "written",
    [write_tmx, write_po, write_xliff, write_json, write_csv, write_parquet, write_dataset],
)
def test_a_recipe_trains_from_the_format(
    written: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)  # relative paths of a table start from here
    corpus = written(tmp_path)
    recipe = recipe_for(tmp_path, data={"train": corpus}, training={"steps": 2})
    events = list(train(recipe, tmp_path / "run"))
    assert any(isinstance(event, Finished) for event in events)
    kept = read_recipe(tmp_path / "run" / "recipe.toml")
    assert kept.data.train == recipe.data.train
    (tmp_path / "again.toml").write_text(recipe_toml(recipe), "utf-8")
    monkeypatch.chdir("/")
    assert read_recipe(tmp_path / "again.toml") == recipe


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ({"file": "a.tmx", "source": "en"}, "data.train.source: unknown key; choose from"),
        ({"file": "a.po", "fuzy": True}, "data.train.fuzy: unknown key; did you mean fuzzy?"),
        ({"file": "a.csv", "header": "auto"}, "data.train.header"),
        ({"file": "a.xlf", "markup": "strip"}, "data.train.markup: 'strip' is not a choice"),
        ({"file": "a.csv", "columns": ["en"]}, "data.train.columns"),
        ({"file": "a.tsv", "weight": 0}, "data.train.weight: 0 should be greater than 0"),
        ({"file": "a.jsonl", "encoding": "utf-9"}, "data.train.encoding: 'utf-9' is no encoding"),
        ({"kind": "tmz", "file": "a"}, "data.train.kind: 'tmz' is not a choice; did you mean tmx?"),
    ],
)
def test_a_mistake_in_a_corpus_is_located_at_its_key(corpus: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r"^data\.train") as error:
        parse_recipe({"data": {"train": corpus}})
    assert str(error.value).startswith(message)
