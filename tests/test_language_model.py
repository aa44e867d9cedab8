import math
from itertools import islice
from pathlib import Path

import pytest
import torch

from dragoman.decoding import Sampling
from dragoman.errors import ConfigError, ModelError
from dragoman.language_model import LanguageModel
from tests.fixtures import tiny_folder
from tests.one_sided import Kind, encoder_bundle, folder_of, language_bundle, language_model

PROMPTS = ["", " ", "the dog", "the dog ", "a  man", "\nwe", "日本 é", "press </s> now", "e\u0301"]


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return language_model(ends=3.0)


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "character", "word"])
def test_a_prompt_is_kept_and_the_text_begins_where_it_ends(kind: Kind) -> None:
    model = language_model(tokenizer=kind)
    tokenizer = model.tokenizer
    for prompt, (found,) in zip(PROMPTS, model.generate(PROMPTS, max_length=12), strict=True):
        assert found.prompt == prompt
        ids = [*tokenizer.encode(prompt), *pieces_of(model, found.tokens)]
        assert tokenizer.normalize(prompt) + found.text == tokenizer.decode(ids)
        assert found.truncated == (found.tokens[-1] != "</s>")
        assert len(found.tokens) == len(found.log_probs) <= 12


def pieces_of(model: LanguageModel, tokens: tuple[str, ...]) -> list[int]:
    names = model.tokenizer.pieces(range(model.tokenizer.size))
    return [names.index(token) for token in tokens if token != "</s>"]


def test_the_first_word_of_an_empty_prompt_has_no_space_before_it() -> None:
    model = language_model(ends=-99.0)
    piece = model.tokenizer.encode("dog")[0]
    with torch.no_grad():  # it is said whatever came before
        assert model.model.generator.bias is not None
        model.model.generator.bias[piece] = 99.0
    name = model.tokenizer.pieces([piece])[0]
    assert name.startswith(" ")
    empty, given = model.generate(["", "x"], temperature=0, max_length=2)
    assert empty[0].text == name.removeprefix(" ") + name
    assert given[0].text == name + name


def test_samples_differ_and_the_first_is_the_same_however_many_there_are(
    model: LanguageModel,
) -> None:
    (one,), (three,) = (model.generate(["the"], samples=n, max_length=10) for n in (1, 3))
    assert one[0].tokens == three[0].tokens
    assert one[0].log_probs == pytest.approx(three[0].log_probs, abs=1e-5)
    assert len({each.text for each in three}) == 3


def test_the_same_seed_draws_the_same_and_another_does_not(model: LanguageModel) -> None:
    first, same, other = (model.generate(PROMPTS, max_length=8, seed=s) for s in (3, 3, 4))
    assert first == same
    assert first != other


def test_neighbours_and_batch_size_change_nothing(model: LanguageModel) -> None:
    together = model.generate(PROMPTS, max_length=9)
    for batch_tokens in (1, 30):
        alone = model.generate(PROMPTS, max_length=9, batch_tokens=batch_tokens)
        texts = [[each.text for each in found] for found in alone]
        assert texts == [[each.text for each in found] for found in together]
    assert model.generate(PROMPTS[:4], max_length=9)[3][0].tokens == together[3][0].tokens


def test_an_endless_supply_gets_the_same_as_a_list(model: LanguageModel) -> None:
    def endless():
        while True:
            yield from PROMPTS

    sampling = Sampling(max_length=6, seed=9)
    streamed = list(islice(model.stream(endless(), sampling, at_once=4), 2 * len(PROMPTS)))
    listed = model.generate(PROMPTS * 2, max_length=6, seed=9)
    assert [each[0].text for each in streamed] == [each[0].text for each in listed]


def test_impossible_settings_are_refused(model: LanguageModel) -> None:
    with pytest.raises(ConfigError, match="temperature: -1"):
        model.generate(["a"], temperature=-1.0)
    with pytest.raises(ConfigError, match="samples: 0 is less than 1"):
        model.generate(["a"], samples=0)
    with pytest.raises(TypeError, match="not one string"):
        model.generate("the dog")
    with pytest.raises(TypeError, match="not one string"):
        model.score("the dog")


def test_a_score_is_the_chain_rule_and_ends_with_the_end_symbol(model: LanguageModel) -> None:
    special = model.special
    texts = ["the dog sleeps .", "", "we go ."]
    for text, found in zip(texts, model.score(texts), strict=True):
        ids = [special.start, *model.tokenizer.encode(text), special.end]
        expected: list[float] = []
        for place in range(1, len(ids)):  # one prefix at a time
            with torch.no_grad():
                logits = model.model(torch.tensor([ids[:place]]))[0, -1]
            expected.append(float(logits.double().log_softmax(-1)[ids[place]]))
        assert found.log_probs == pytest.approx(expected, abs=1e-4)
        assert found.log_prob == pytest.approx(sum(expected), abs=1e-3)
        assert found.tokens[-1] == "</s>"
        assert found.characters == len(text)
        mean = -sum(expected) / len(expected)
        assert found.perplexity == pytest.approx(math.exp(mean), rel=1e-3)
        bits = -sum(expected) / math.log(2) / max(len(text), 1)
        assert found.bits_per_character == pytest.approx(bits, rel=1e-3)


def test_scores_do_not_depend_on_the_batch_size(model: LanguageModel) -> None:
    texts = [*PROMPTS, "the cat drinks milk . " * 5]
    alone = model.score(texts, batch_tokens=1)
    for one, other in zip(alone, model.score(texts, batch_tokens=500), strict=True):
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-4)


def test_what_was_drawn_is_scored_the_same() -> None:
    model = language_model(tokenizer="character", ends=3.0)
    with torch.no_grad():  # no bytes: characters drawn are the pieces of the text they make
        assert model.model.generator.bias is not None
        model.model.generator.bias[4:260] = -99.0
    found = [each[0] for each in model.generate([""] * 20, max_length=40)]
    ended = [each for each in found if not each.truncated]
    assert len(ended) > 5
    for each, score in zip(ended, model.score([each.text for each in ended]), strict=True):
        assert each.tokens == score.tokens
        assert each.log_probs == pytest.approx(score.log_probs, abs=1e-4)


def test_text_longer_than_the_learned_positions_is_named() -> None:
    model = language_model(learned=5)
    with pytest.raises(ModelError, match=r"text 2: .* the model has 5 positions; shorten it"):
        model.score(["we", "we go . " * 9])
    with pytest.raises(ModelError, match=r"prompt 2: .* the model has 5 positions; shorten it"):
        model.generate(["we", "we go . " * 9])
    prompts = iter(["we"] * 3 + ["we go . " * 9])
    with pytest.raises(ModelError, match="prompt 4: "):
        list(model.stream(prompts, Sampling(max_length=2), at_once=2))


def test_a_folder_is_loaded_and_other_kinds_are_refused_by_name(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "lm", language_bundle())
    loaded = LanguageModel.load(folder, device="cpu", dtype="bfloat16")
    assert next(loaded.model.parameters()).dtype == torch.bfloat16
    assert loaded.generate(["we"], max_length=3)[0][0].tokens
    translator, encoder = tmp_path / "t", folder_of(tmp_path / "e", encoder_bundle("class"))
    with pytest.raises(ModelError, match=f"{translator}: .*encoder-decoder does not continue text"):
        LanguageModel.load(tiny_folder(translator))
    with pytest.raises(ModelError, match="use dragoman classify"):
        LanguageModel.load(encoder)
