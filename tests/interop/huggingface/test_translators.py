"""Encoder-decoders of ``transformers`` come in, translate the same, and go out again."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch, decode
from dragoman.errors import ConfigError, ModelError
from dragoman.interop.huggingface import open_huggingface, read_huggingface, write_huggingface
from dragoman.interop.huggingface.translating import TransformersTranslator
from dragoman.interop.own_side import Own
from dragoman.models import ModelConfig
from dragoman.nn import EncoderDecoder
from dragoman.tokenization import Imported, ImportedTokenizer, SpecialIds
from tests.interop.huggingface.models import PIECES, TRANSLATORS, saved
from tests.interop.models import random_bundle, sources

transformers = pytest.importorskip("transformers", reason="needs transformers: the extra hf")

LIMIT = 1e-4
PAIRS = (([5, 6, 7], [8, 9]), ([], [11]), ([12] * 9 + [30, 44], [20, 21, 22, 23] * 3), ([4], []))
MARIAN = SpecialIds(padding=49, start=49, end=0, unknown=1)
BART = SpecialIds(padding=1, start=2, end=2, unknown=3)
T5 = SpecialIds(padding=0, start=0, end=1, unknown=2)


def vocabulary(name: str, size: int = PIECES) -> ImportedTokenizer:
    """Make a vocabulary of words without meaning; that of mBART has languages at its end."""
    special = (
        MARIAN if name.startswith("marian") else T5 if name[0] in "tp" or "mt5" in name else BART
    )
    languages = ["de_DE", "en_XX", "zh_CN"] if name.startswith("mbart") else []
    names = [*(f"p{number}" for number in range(size - len(languages))), *languages]
    pieces = {each: number for number, each in enumerate(names)}
    controls = tuple(pieces[each] for each in languages)
    settings = {"model": {"type": "WordLevel", "vocab": pieces, "unk_token": names[3]}}
    return ImportedTokenizer(settings, Imported(special=special, controls=controls))


def read(name: str, folder: Path, **options: str) -> Bundle:
    sizes = (PIECES, 60) if "two vocabularies" in name else (PIECES,)
    if name.startswith("mbart") and not options and not written_by_us(folder):
        options = {"source_language": "de", "target_language": "en_XX"}
    return read_huggingface(folder, [vocabulary(name, size) for size in sizes], **options)


def written_by_us(folder: Path) -> bool:
    return "dragoman" in json.loads((folder / "config.json").read_text())


@torch.no_grad()
def our_log_probs(bundle: Bundle, source: list[int], target: list[int]) -> NDArray[np.float32]:
    assert isinstance(bundle.model, EncoderDecoder)
    frame = bundle.frame
    given = torch.tensor([frame.source(source)]), torch.tensor([frame.target_in(target)])
    return bundle.model(*given)[0, frame.target_added - 1 :].log_softmax(-1).numpy()


def assert_agree(folder: Path, bundle: Bundle) -> None:
    """The client of the folder and our model say the same, of pairs and by their searches."""
    client = open_huggingface(folder, bundle)
    assert isinstance(client, TransformersTranslator)
    assert isinstance(bundle.model, EncoderDecoder)
    for source, target in PAIRS:
        expected = client.log_probs(source, target)
        assert expected.shape == (len(target) + 1, bundle.target_tokenizer.size)
        np.testing.assert_allclose(
            our_log_probs(bundle, source, target), expected, atol=LIMIT, rtol=0
        )
        how = {"beam": 1, "max_length": 9}
        assert client.translate(source, **how) == Own(bundle).translate(source, **how)


@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_translator_comes_in_goes_out_and_comes_in_again(name: str, tmp_path: Path) -> None:
    theirs = saved(name, tmp_path / "theirs")
    bundle = read(name, theirs)
    assert_agree(theirs, bundle)
    if "two vocabularies" in name:
        with pytest.raises(ConfigError, match=r"model\.target_vocabulary: MarianMT has no place"):
            write_huggingface(tmp_path / "ours", bundle)
        return
    write_huggingface(tmp_path / "ours", bundle)
    assert_agree(tmp_path / "ours", bundle)
    assert_same(read(name, tmp_path / "ours"), bundle)


def assert_same(again: Bundle, bundle: Bundle) -> None:
    assert again.config == bundle.config
    both = zip(bundle.model.named_parameters(), again.model.named_parameters(), strict=True)
    for (named, weight), (other, same) in both:
        assert named == other
        assert torch.equal(weight, same), named


FRAMES: dict[str, tuple[list[int], tuple[int, ...]]] = {  # of the source [7], and of targets
    "marian": ([7, 0], (49,)),
    "bart": ([0, 7, 2], (2, 0)),
    "bart without a head": ([0, 7, 2], (2, 0)),
    "mbart": ([7, 2, 47], (48,)),
    "t5 1.0": ([7, 1], (0,)),
    "mt5": ([7, 1], (0,)),
    "pegasus": ([7, 1], (0,)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_every_family_has_its_own_symbols(name: str, tmp_path: Path) -> None:
    bundle = read(name, saved(name, tmp_path / "theirs"))
    source, target = FRAMES[name]
    assert (bundle.frame.source([7]), bundle.frame.target_before) == (source, target)


HELD: dict[str, tuple[str, dict[str, Any]]] = {
    "the paper": ("marian", {}),
    "biases and halves": (
        "marian",
        {
            "positions": {"kind": "sinusoidal", "layout": "halves"},
            "attention_bias": True,
            "output_bias": True,
            "activation": "gelu",
        },
    ),
    "learned": ("marian", {"positions": {"kind": "learned", "max_length": 40}}),
    "bart": (
        "bart",
        {"positions": {"kind": "learned", "max_length": 40}, "embedding_norm": True},
    ),
    "mbart": (
        "mbart",
        {
            "positions": {"kind": "learned", "max_length": 40},
            "embedding_norm": True,
            "norm_order": "pre",
            "feedforward_bias": False,
            "source_after": [2, 260],
            "target_before": [261],
        },
    ),
    "norms before": ("pegasus", {"norm_order": "pre", "tied": "all"}),
    "two symbols first": ("marian", {"target_before": [1, 261]}),
    "t5": (
        "t5",
        {
            "norm": "rms",
            "norm_order": "pre",
            "feedforward": "gated",
            "feedforward_bias": False,
            "attention": {"kind": "softmax", "scale": 1.0},
            "positions": {"kind": "t5"},
            "activation": "gelu",
        },
    ),
}


@pytest.mark.parametrize("name", HELD)
def test_models_of_ours_go_out_and_come_in_to_the_bit(name: str, tmp_path: Path) -> None:
    kind, choices = HELD[name]
    bundle = random_bundle(choices)
    write_huggingface(tmp_path / "out", bundle)
    described = json.loads((tmp_path / "out" / "config.json").read_text())
    assert described["model_type"] == kind
    assert_agree(tmp_path / "out", bundle)
    assert_same(read_huggingface(tmp_path / "out", bundle.tokenizers), bundle)


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("beam", [1, 4])
def test_generate_does_what_our_search_does_with_the_settings_in_the_folder(
    beam: int, forced: bool, tmp_path: Path
) -> None:
    bundle = random_bundle({"target_before": [1, 261]} if forced else {})
    assert isinstance(bundle.model, EncoderDecoder)
    write_huggingface(tmp_path / "out", bundle)
    make = transformers.AutoModelForSeq2SeqLM
    model = make.from_pretrained(tmp_path / "out", local_files_only=True).eval()
    client = open_huggingface(tmp_path / "out", bundle)
    assert isinstance(client, TransformersTranslator)
    # There only the best ``beam`` candidates of a step can end, as in ours with any patience.
    comparable: dict[str, Any] = {"length_penalty": "average", "alpha": 1.0, "patience": 1e6}
    search = BeamSearch(**comparable, beam=beam, max_length=30)
    only = {} if beam > 1 else {"early_stopping": False, "length_penalty": None}
    own, ended = Own(bundle, patience=1e6), 0
    for source in sources():
        (ours,) = decode(bundle.model, [source], search, bundle.frame)
        assert isinstance(ours, list)
        how = {"beam": beam, "max_length": 30}
        assert client.translate(source, **how) == own.translate(source, **how)
        if ours[0].truncated:
            continue
        ended += 1
        read = torch.tensor([bundle.frame.source(source)])
        most = 30 + forced  # the forced piece counts there
        (found,) = model.generate(read, num_beams=beam, max_new_tokens=most, **only).tolist()
        before = len(bundle.frame.target_before)
        assert tuple(found[:before]) == bundle.frame.target_before
        if beam == 1 or (not forced and found[-1] == 2):  # a forced piece counts in their mean, too
            assert found[before:] == [*ours[0].ids, 2]
    assert ended >= 2


def test_a_marian_of_ours_outlives_being_saved_by_its_own_library(tmp_path: Path) -> None:
    bundle = random_bundle({})
    write_huggingface(tmp_path / "out", bundle)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    model.save_pretrained(tmp_path / "again")
    assert_agree(tmp_path / "again", bundle)  # its sinusoids are computed, never stored


def test_a_model_trained_on_elsewhere_is_read_without_our_choices(tmp_path: Path) -> None:
    bundle = random_bundle({})
    write_huggingface(tmp_path / "out", bundle)
    weights = load_file(tmp_path / "out" / "model.safetensors")
    weights["model.encoder.layers.0.self_attn.q_proj.bias"] += 0.5
    save_file(weights, tmp_path / "out" / "model.safetensors")
    with pytest.raises(ModelError, match=r"self_attn.q_proj.bias.* is not zero, .* remove them"):
        read_huggingface(tmp_path / "out", bundle.tokenizers)
    change(tmp_path / "out", "dragoman", None)
    other = read_huggingface(tmp_path / "out", bundle.tokenizers)
    assert isinstance(other.config, ModelConfig)
    assert (other.config.attention_bias, other.config.norm_eps) == (True, 1e-5)
    assert_agree(tmp_path / "out", other)


def change(folder: Path, key: str, value: object) -> None:
    """Change one key of ``config.json``."""
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))


REFUSED: dict[str, tuple[str, object, str]] = {
    "norms before": ("marian", True, "normalize_before"),
    "a norm of embeddings": ("marian", True, "normalize_embedding"),
    "learned positions": ("marian", False, "static_position_embeddings"),
    "other heads": ("bart", 2, "decoder_attention_heads"),
    "another width inside": ("mbart", 12, "decoder_ffn_dim"),
    "an unknown activation": ("bart", "mish", "activation_function"),
    "an unknown network": ("t5 1.0", "twice-relu", "feed_forward_proj"),
    "an unknown gate": ("t5 1.1", "gated-mish", "feed_forward_proj"),
    "a last norm": ("bart", True, "add_final_layer_norm"),
    "lone tables": ("bart", False, "tie_word_embeddings"),
    "a word for a number": ("t5 1.0", "many", "num_heads"),
    "another class": ("bart", ["BartForSequenceClassification"], "architectures"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_that_dragoman_lacks_are_refused_by_name(name: str, tmp_path: Path) -> None:
    kind, value, key = REFUSED[name]
    folder = saved(kind, tmp_path / "theirs")
    change(folder, key, value)
    with pytest.raises(ConfigError, match=rf"config\.json: {key}: "):
        read(kind, folder)


SPOILED: dict[str, tuple[str, Callable[[dict[str, torch.Tensor]], None], str]] = {
    "a table that is not theirs": (
        "marian",
        lambda w: w.update({"model.encoder.embed_positions.weight": torch.ones(64, 32)}),
        "embed_positions.weight: is not the table that models of this family compute",
    ),
    "two tables that should be one": (
        "bart",
        lambda w: w.update({"lm_head.weight": torch.ones(PIECES, 32)}),
        "lm_head.weight differs from the weight that it is tied to",
    ),
    "a weight too many": (
        "t5 1.0",
        lambda w: w.update({"encoder.extra": torch.ones(2)}),
        r"1 weights are not known \(encoder.extra\)",
    ),
    "a weight too few": (
        "mbart",
        lambda w: w.__delitem__("model.decoder.layer_norm.weight"),
        r"1 weights are missing \(model.decoder.layer_norm.weight\)",
    ),
}


@pytest.mark.parametrize("name", SPOILED)
def test_weights_that_do_not_fit_are_refused_by_name(name: str, tmp_path: Path) -> None:
    kind, spoil, problem = SPOILED[name]
    folder = saved(kind, tmp_path / "theirs")
    weights = load_file(folder / "model.safetensors")
    spoil(weights)
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelError, match=problem):
        read(kind, folder)


def test_sinusoids_and_second_names_that_are_stored_are_read(tmp_path: Path) -> None:
    folder = saved("marian", tmp_path / "theirs")
    whole = read("marian", folder)
    weights = load_file(folder / "model.safetensors")
    state = transformers.MarianMTModel.from_pretrained(folder).state_dict()
    everything = {name: weight.clone() for name, weight in state.items()}
    assert everything.keys() > weights.keys()
    save_file(everything, folder / "model.safetensors")
    assert_same(read("marian", folder), whole)
    del everything["model.shared.weight"]
    save_file(everything, folder / "model.safetensors")
    assert_same(read("marian", folder), whole)


def test_a_pair_of_languages_is_fixed_when_a_model_comes_in(tmp_path: Path) -> None:
    folder = saved("mbart", tmp_path / "theirs")

    def frame(**options: str) -> tuple[list[int], tuple[int, ...]]:
        found = read("mbart", folder, **options).frame
        return found.source([7]), found.target_before

    assert frame(source_language="zh", target_language="de_DE") == ([7, 2, 49], (47,))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "MBart50Tokenizer"}')
    assert frame(source_language="zh", target_language="de") == ([49, 7, 2], (2, 47))
    (folder / "tokenizer_config.json").write_text('{"src_lang": "en_XX", "tgt_lang": "zh_CN"}')
    assert frame(source_language="en") == ([7, 2, 48], (49,))
    change(folder, "decoder_start_token_id", 47)
    shutil.rmtree(tmp_path / "generation", ignore_errors=True)
    assert frame(source_language="en") == ([7, 2, 48], (47,))


def test_languages_that_are_missing_or_unknown_are_told_with_those_there_are(
    tmp_path: Path,
) -> None:
    folder = saved("mbart", tmp_path / "theirs")
    tokenizers = [vocabulary("mbart")]
    there = "choose from de_DE, en_XX, zh_CN"
    with pytest.raises(
        ConfigError, match=f"source_language: is not given, .* 3 languages; {there}"
    ):
        read_huggingface(folder, tokenizers)
    with pytest.raises(
        ConfigError, match=r"target_language: 'en_UK' is no language .*de_DE, en_XX"
    ):
        read_huggingface(folder, tokenizers, source_language="de", target_language="en_UK")
    other = saved("t5 1.0", tmp_path / "t5")
    with pytest.raises(ConfigError, match="target_language: 'de' is asked for, and this model"):
        read_huggingface(other, [vocabulary("t5")], target_language="de")


def test_what_stands_in_the_way_of_the_nearest_family_is_named(tmp_path: Path) -> None:
    bundle = random_bundle({"norm_order": "pre", "norm": "rms"})
    with pytest.raises(ConfigError) as caught:
        write_huggingface(tmp_path / "out", bundle)
    assert [mistake.place for mistake in caught.value.mistakes] == ["model.norm"]
    choices = {key: value for key, value in HELD["t5"][1].items() if key != "attention"}
    with pytest.raises(ConfigError, match=r"model\.attention: T5 has no place for softmax"):
        write_huggingface(tmp_path / "out", random_bundle(choices))
    with pytest.raises(ConfigError, match=r"model\.target_before: .* has no place"):
        write_huggingface(tmp_path / "out", random_bundle({"target_before": [1, 5, 6]}))
    assert not (tmp_path / "out").exists()
