import json
from dataclasses import replace
from pathlib import Path

import pytest
import tokenizers
import torch

from dragoman.bundle import Bundle, save_bundle
from dragoman.errors import ConfigError, ModelError
from dragoman.models import ModelConfig, RecurrentConfig, build_model
from dragoman.tokenization import Tokenizer, TokenizerConfig, learn_bpe
from dragoman.translator import Draft, Translator
from dragoman.translator.joining import join_models
from tests.fixtures import ENGLISH, GERMAN, tiny_bundle, tiny_folder


def recurrent_bundle() -> Bundle:
    tokenizer = tiny_bundle().target_tokenizer
    config = RecurrentConfig(layers=1, d_model=16, vocabulary=tokenizer.size)
    model = build_model(config, torch.Generator().manual_seed(5)).eval()
    return Bundle(config, model, (tokenizer,))


def folder(path: Path, bundle: Bundle) -> Path:
    save_bundle(path, bundle, "# card\n")
    return path


def other_tokenizer(size: int = 300, texts: list[str] = GERMAN) -> Bundle:
    """Make a model that has learnt its pieces from other text."""
    tokenizer = learn_bpe(texts * 4, TokenizerConfig(size=size))
    config = replace(tiny_bundle().config, vocabulary=tokenizer.size)
    return Bundle(config, build_model(config).eval(), (tokenizer,))


def test_models_of_several_architectures_translate_and_score_together(tmp_path: Path) -> None:
    first, second = tiny_folder(tmp_path / "a"), folder(tmp_path / "b", recurrent_bundle())
    together = Translator.load(first, ensemble=[second, first])
    found = together.translate(GERMAN, alpha=0.0, max_length=200)
    whole = [number for number, each in enumerate(found) if not each.truncated]
    scores = together.score(GERMAN, [each.text for each in found])
    for number in whole:
        pieces = together.bundle.target_tokenizer.encode(found[number].text)
        if len(pieces) + 1 == len(found[number].tokens):  # cut as the search wrote it
            assert scores[number].log_prob == pytest.approx(found[number].score, abs=1e-4)
    alone = Translator.load(first).score(GERMAN, ENGLISH)
    assert [s.log_prob for s in together.score(GERMAN, ENGLISH)] != [s.log_prob for s in alone]


@pytest.mark.parametrize("mean", ["linear", "geometric"])
def test_a_model_with_itself_translates_as_alone(tmp_path: Path, mean: str) -> None:
    path = tiny_folder(tmp_path / "a")
    alone = Translator.load(path).translate(GERMAN, max_length=12)
    mean_of = {"ensemble_mean": mean}
    twice = Translator.load(path, ensemble=[path], **mean_of)  # pyright: ignore  # a literal
    for one, other in zip(alone, twice.translate(GERMAN, max_length=12), strict=True):
        assert one.tokens == other.tokens
        assert one.score == pytest.approx(other.score, abs=1e-5)


def test_attention_and_word_links_are_those_of_the_first_model(tmp_path: Path) -> None:
    first, second = tiny_folder(tmp_path / "a"), folder(tmp_path / "b", recurrent_bundle())
    alone, together = Translator.load(first), Translator.load(first, ensemble=[second])
    (one,), (other,) = (each.attention(GERMAN[:1], ENGLISH[:1]) for each in (alone, together))
    assert (one.cross == other.cross).all()
    assert together.align(GERMAN, ENGLISH) == alone.align(GERMAN, ENGLISH)


def test_a_segment_is_split_for_the_member_with_the_fewest_positions(tmp_path: Path) -> None:
    paths = [tiny_folder(tmp_path / name, learned=n) for name, n in (("a", 60), ("b", 12))]
    together = Translator.load(paths[0], ensemble=paths[1:])
    assert together.source_limit == 12
    (found,) = together.translate(["hund " * 30], max_length=5)
    assert found.parts > 1


def test_the_first_difference_is_named() -> None:
    bundle = tiny_bundle()
    with pytest.raises(ModelError) as caught:
        join_models([("one", bundle), ("two", other_tokenizer(290))])
    assert str(caught.value) == (
        "two: source vocabulary: 290 pieces, and 300 in one; an ensemble needs one vocabulary; "
        "train its models with the same tokenizer"
    )
    with pytest.raises(ModelError, match=r"two: source vocabulary: piece \d+ is '.+', and '.+' in"):
        join_models([("one", bundle), ("two", other_tokenizer(300))])


def test_pieces_that_text_is_cut_into_otherwise_are_a_difference() -> None:
    bundle = tiny_bundle()
    settings = json.loads(bundle.target_tokenizer.to_json())
    merges = settings["model"]["merges"]
    merges[0], merges[1] = merges[1], merges[0]
    swapped = Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(settings)))
    other = Bundle(bundle.config, bundle.model, (swapped,))
    with pytest.raises(
        ModelError, match=r"two: source tokenizer: model\.merges\.0\.\d is .+, and "
    ):
        join_models([("one", bundle), ("two", other)])


def test_a_language_model_is_no_member(tmp_path: Path) -> None:
    tokenizer = tiny_bundle().target_tokenizer
    config = ModelConfig(
        architecture="decoder-only", layers=1, d_model=16, heads=2, d_ff=32, vocabulary=300
    )
    language = folder(tmp_path / "l", Bundle(config, build_model(config).eval(), (tokenizer,)))
    path = tiny_folder(tmp_path / "a")
    with pytest.raises(ModelError, match="l: a model of the kind decoder-only does not translate"):
        Translator.load(path, ensemble=[language])
    with pytest.raises(ConfigError, match="ensemble_mean: 'max' is no mean"):
        Translator.load(path, ensemble=[path], ensemble_mean="max")  # pyright: ignore  # tested
    with pytest.raises(ModelError, match="no such model folder"):
        Translator.load(path, ensemble=[tmp_path / "none"])


def test_what_an_ensemble_cannot_do_is_said_of_ensembles(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path)
    joined = Translator.load(folder, ensemble=[folder])
    with pytest.raises(ConfigError, match="coverage: is not offered for an ensemble"):
        joined.translate(["a"], coverage=0.1)
    with pytest.raises(ModelError, match="an ensemble cannot go back"):
        joined.translate(["a"], beam=1, draft=Draft.load(folder, engine="torch"))
    with pytest.raises(ConfigError, match="int8 is for fused alone"):
        Translator.load(folder, ensemble=[folder], dtype="int8")
    with pytest.raises(TypeError, match="a list of folders"):
        Translator.load(folder, ensemble=str(folder))
