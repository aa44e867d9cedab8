"""The four recipes of the paper hold what the paper says, and no default has crept in between."""

import pytest

from dragoman.data import Batch, Files, share
from dragoman.downloads import find_corpus
from dragoman.models import ModelConfig
from dragoman.recipe import read_recipe
from dragoman.run.example_batch import example_batch, planned_config
from dragoman.training import AdamConfig, InverseSqrt
from tests.recipes.files import FOLDER, PAPER, paper_recipe

# Section 5.1 (data, vocabulary, batches), 5.3, 5.4 and 6.1, table 3; dropout 0.1 for the big
# English-French model is in 6.1. Order: steps, dropout, checkpoints averaged, d_model, heads, d_ff.
BASE, BIG = (512, 8, 2048), (1024, 16, 4096)
SAID = {
    "en-de-base": (100_000, 0.1, 5, *BASE),
    "en-de-big": (300_000, 0.3, 20, *BIG),
    "en-fr-base": (100_000, 0.1, 5, *BASE),
    "en-fr-big": (300_000, 0.1, 20, *BIG),
}


@pytest.mark.parametrize("name", PAPER)
def test_what_differs_between_the_papers_models_is_as_printed(name: str) -> None:
    recipe = read_recipe(paper_recipe(name))
    model, training, tokenizer = recipe.model, recipe.training, recipe.tokenizer
    assert isinstance(model, ModelConfig)
    sizes = (model.d_model, model.heads, model.d_ff)
    assert (training.steps, model.dropout, training.average_last, *sizes) == SAID[name]
    kind = ("bpe", 37_000) if "de" in name else ("wordpiece", 32_000)
    assert (tokenizer.kind, tokenizer.size) == kind
    assert tokenizer.shared


@pytest.mark.parametrize("name", PAPER)
def test_what_all_of_the_papers_models_share_is_as_printed(name: str) -> None:
    recipe = read_recipe(paper_recipe(name))
    model, training, decoding = recipe.model, recipe.training, recipe.decoding
    assert isinstance(model, ModelConfig)
    assert (model.layers, model.decoder_layers) == (6, None)
    assert model.tied in (None, "all")  # None means all with one vocabulary
    assert (model.norm_order, model.positions.kind) == ("post", "sinusoidal")
    assert (model.feedforward, model.activation) == ("plain", None)  # None means relu
    assert model.attention_dropout == model.feedforward_dropout == 0.0
    assert training.optimizer == AdamConfig(beta1=0.9, beta2=0.98, eps=1e-9)
    assert training.schedule == InverseSqrt(factor=1.0)
    assert (training.warmup, training.label_smoothing, training.clip_norm) == (4000, 0.1, None)
    assert (training.batch_tokens, training.accumulate) == (25_000, 1)
    assert training.keep >= training.average_last
    assert training.ema is None
    assert not recipe.validation.keep_best  # the average is the model, whatever it reaches
    # beam 4, alpha 0.6, at most 50 pieces more than the source (the default, None)
    assert (decoding.beam, decoding.alpha, decoding.length_penalty) == (4, 0.6, "paper")
    assert decoding.max_length is None


@pytest.mark.parametrize("name", PAPER)
def test_checkpoints_are_ten_minutes_apart_at_the_papers_speed(name: str) -> None:
    # Section 5.2: 0.4 s an update of the base model, 1.0 s of the big ones.
    second = 0.4 if "base" in name else 1.0
    training = read_recipe(paper_recipe(name)).training
    assert training.checkpoint_every * second == pytest.approx(600)


@pytest.mark.parametrize("name", PAPER)
def test_the_text_is_what_get_fetches_with_english_read(name: str) -> None:
    language = name[3:5]
    corpus = find_corpus(f"wmt14-{language}-en")
    folder = FOLDER.parent / "data" / corpus.name  # as the command in the recipe says
    data = read_recipe(paper_recipe(name)).data
    for part in ("train", "validation", "test"):
        assert part in corpus.sets
        files = getattr(data, part)
        assert isinstance(files, Files)
        assert files.source == folder / f"{part}.en"
        assert files.target == folder / f"{part}.{language}"
    assert data.filters is None  # none were left out
    head = paper_recipe(name).read_text("utf-8")
    assert f"dragoman get {corpus.name} --to data/{corpus.name} --yes" in head
    assert f"torchrun --nproc-per-node 8 -m -- dragoman train recipes/wmt14-{name}.toml" in head
    assert f"--metrics bleu,paper-bleu-{language}" in head


def test_eight_processes_share_one_batch_of_25000_and_not_one_each() -> None:
    recipe = read_recipe(paper_recipe("en-de-base"))
    budget = recipe.training.largest_budget
    batch = example_batch(recipe, planned_config(recipe), slots=budget, length=32)
    assert isinstance(batch, Batch)
    assert batch.target_out.numel() == 24_992  # by hand: 781 rows of 32
    window = [batch] * recipe.training.accumulate
    parts = [share(window, rank, 8) for rank in range(8)]
    assert [len(part) for part in parts] == [1] * 8
    places = [part[0].target_out.numel() for part in parts]
    assert sorted(places) == [97 * 32] * 3 + [98 * 32] * 5
    assert sum(places) == batch.target_out.numel()
