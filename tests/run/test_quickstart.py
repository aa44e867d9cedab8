from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.data import Files, read_aligned, sample_corpus
from dragoman.run import quickstart as module
from dragoman.run import quickstart_recipe, quickstart_results, train


@pytest.fixture
def small_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    small = sample_corpus(train=200, validation=8, test=8)
    monkeypatch.setattr(module, "sample_corpus", lambda: small)


def test_the_corpus_becomes_plain_files_that_the_recipe_names(tmp_path: Path) -> None:
    recipe = quickstart_recipe(tmp_path)
    corpus = sample_corpus()
    test = Files(source=tmp_path / "data/test.de", target=tmp_path / "data/test.en")
    for part, files in (
        (corpus.train, recipe.data.train),
        (corpus.validation, recipe.data.validation),
        (corpus.test, test),
    ):
        assert isinstance(files, Files)
        assert [(pair.source, pair.target) for pair in read_aligned(files)] == list(part)


@pytest.mark.usefixtures("small_corpus")
def test_results_show_bleu_translations_attention_and_what_comes_next(tmp_path: Path) -> None:
    recipe = quickstart_recipe(tmp_path)
    few = replace(recipe.training, steps=2, batch_tokens=512)
    list(train(replace(recipe, training=few), tmp_path))
    text = "\n".join(quickstart_results(tmp_path))
    assert "8 held-out sentences" in text
    assert "bleu" in text
    assert "version:" in text  # the signature
    assert text.count("    -> ") == 6
    assert "who attended to whom" in text
    assert f"dragoman translate {tmp_path}" in text
    assert "dragoman train --source YOUR.de" in text
    for name in ("config.json", "model.safetensors", "recipe.toml", "metrics.jsonl", "README.md"):
        assert (tmp_path / name).is_file()
