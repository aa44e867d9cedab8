"""Folders read without the library: those it publishes, its choices, and our own there and back."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.bundle import Bundle, load_bundle, save_bundle
from dragoman.decoding import BeamSearch
from dragoman.errors import ModelError
from dragoman.interop import import_ctranslate2, open_ctranslate2, write_ctranslate2
from dragoman.interop.ctranslate2 import CTranslate2Reader, CTranslate2Side
from dragoman.models import Model, ModelConfig, Sinusoidal
from dragoman.nn import EncoderDecoder, EncoderOnly
from dragoman.tokenization import parse_sentencepiece_model
from tests.interop.ctranslate2.binaries import PRETRAINED, change, forget, number, rewrite
from tests.interop.ctranslate2.searching import translate
from tests.interop.models import random_bundle, sources
from tests.models.choices import ONE_STACK, TRANSFORMERS

pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")

published = pytest.mark.skipif(not PRETRAINED.is_dir(), reason="needs ../shared/data/pretrained")
ARABIC = "ct2-aren-transliteration"
FOLDERS = [f"v{version}-aren-transliteration{kind}" for version in (1, 2) for kind in ("", "-i16")]
FOLDERS.append("v2-aren-transliteration-i8")


def log_probs(bundle: Bundle, source: list[int], target: list[int]) -> "np.ndarray[Any, Any]":
    """What our model says of a target, its end included, (T + 1, V)."""
    assert isinstance(bundle.model, EncoderDecoder)
    frame = bundle.frame
    with torch.inference_mode():
        logits = bundle.model(
            torch.tensor([frame.source(source)]), torch.tensor([frame.target_in(target)])
        )
    return logits.log_softmax(-1)[0, frame.target_added - 1 :].numpy()


def outputs(model: Model, ids: list[int]) -> "np.ndarray[Any, Any]":
    """What a model of one stack says, (L, V or D)."""
    assert not isinstance(model, EncoderDecoder)
    with torch.inference_mode():
        return model(torch.tensor([ids]))[0].numpy()  # pyright: ignore  # all take ids alone


def difference(folder: Path, bundle: Bundle) -> float:
    """The largest difference between the library on a folder and our model."""
    side = open_ctranslate2(folder, bundle)
    found: list[float] = []
    for source, target in zip(sources(5), sources(5, seed=6), strict=True):
        if isinstance(side, CTranslate2Side):
            theirs = side.log_probs(source, target)
            ours = log_probs(bundle, source, target)[:, : theirs.shape[1]]
            scores = side.scores(source, target)
            ends = [*target, bundle.target_tokenizer.special.end]
            assert [row[each] for row, each in zip(theirs, ends, strict=True)] == pytest.approx(
                list(scores), abs=1e-4
            )
        else:
            ids = (source * 9)[: side.longest or 60]
            theirs, ours = side.outputs(ids), outputs(bundle.model, ids)
        found.append(float(np.abs(theirs - ours).max()))
    return max(found)


# The published folders; all references are computed in float32, of weights in fewer bits too.


def reference(name: str) -> dict[str, Any]:
    return json.loads((PRETRAINED / "reference-outputs.json").read_text())[name]


@published
@pytest.mark.parametrize("name", FOLDERS)
def test_published_translators_give_their_reference_outputs(name: str) -> None:
    expected = reference(ARABIC)[name]
    bundle = import_ctranslate2(PRETRAINED / ARABIC / name)
    read, write = bundle.source_tokenizer, bundle.target_tokenizer
    greedy = [each for each in expected["translate"] if each["beam"] == 1]
    for each, scores in zip(greedy, expected["score_of_mohamed"], strict=True):
        target = write.encode("mohamed")
        ours = log_probs(bundle, read.encode(each["input"]), target)
        ends = [*target, write.special.end]
        found = [row[piece] for row, piece in zip(ours, ends, strict=True)]
        assert found == pytest.approx(scores, abs=1e-4)
    for each in expected["translate"]:
        assert_search(bundle, each)


def assert_search(bundle: Bundle, expected: dict[str, Any]) -> None:
    """Hold the best translations of our search to those of the library's, which ends sooner."""
    hypotheses = expected["hypotheses"]
    config = BeamSearch(
        beam=expected["beam"],
        length_penalty="average",
        alpha=1.0,
        n_best=len(hypotheses),
        patience=1.0 if expected["beam"] > 1 else None,
    )
    source = bundle.source_tokenizer.encode(expected["input"])
    found = translate(bundle, source, config)
    texts = [bundle.target_tokenizer.decode(each.ids) for each in found]
    assert texts == [each["text"] for each in hypotheses]
    assert [each.score for each in found] == pytest.approx(
        [each["score"] for each in hypotheses], abs=1e-4
    )


@published
def test_the_published_language_model_gives_its_reference_outputs() -> None:
    bundle = import_ctranslate2(PRETRAINED / "ct2-opennmt-lm")
    expected = reference("ct2-opennmt-lm")
    pieces = bundle.source_tokenizer.encode(" ".join(["the", *expected["tokens"]]))
    with torch.inference_mode():
        ours = bundle.model(torch.tensor([pieces])).log_softmax(-1)[0]  # pyright: ignore  # a tensor
    found = [row[piece].item() for row, piece in zip(ours, pieces[1:], strict=False)]
    assert found == pytest.approx(expected["log_probs"], abs=1e-4)


@published
@pytest.mark.parametrize("name", FOLDERS)
def test_the_library_and_we_agree_on_every_piece(name: str) -> None:
    folder = PRETRAINED / ARABIC / name
    bundle = import_ctranslate2(folder)
    side = open_ctranslate2(folder, bundle)
    assert isinstance(side, CTranslate2Side)
    source, target = bundle.source_tokenizer.encode("محمد"), bundle.target_tokenizer.encode("moh")
    theirs = side.log_probs(source, target)
    np.testing.assert_allclose(log_probs(bundle, source, target), theirs, atol=1e-4)


@published
def test_a_published_folder_becomes_one_of_ours(tmp_path: Path) -> None:
    bundle = import_ctranslate2(PRETRAINED / ARABIC / FOLDERS[0])
    assert isinstance(bundle.config, ModelConfig)
    assert bundle.config.positions == Sinusoidal(layout="halves", first=1, rate="tensor2tensor")
    assert bundle.frame.source_after == ()  # the library adds no end symbol to its sources
    save_bundle(tmp_path / "model", bundle, "card")
    again = load_bundle(tmp_path / "model")
    assert again.config == bundle.config
    source = again.source_tokenizer.encode("فاطمة")
    target = again.target_tokenizer.encode("fatma")
    np.testing.assert_array_equal(
        log_probs(again, source, target), log_probs(bundle, source, target)
    )
    write_ctranslate2(tmp_path / "again", again)
    assert difference_of_one(tmp_path / "again", again, source, target) < 1e-4


def difference_of_one(folder: Path, bundle: Bundle, source: list[int], target: list[int]) -> float:
    side = open_ctranslate2(folder, bundle)
    assert isinstance(side, CTranslate2Side)
    ours = log_probs(bundle, source, target)
    return float(np.abs(side.log_probs(source, target) - ours).max())


# Every choice there and back.

SEGMENTS = {
    "segments": 2,
    "positions": {"kind": "learned", "max_length": 40},
    "embedding_norm": True,
    "embedding_scale": False,
    "head": "pooled",
}
ATTENTIONS = ("additive", "linear", "local", "sparse")
NOT_HELD = ("free-widths", "free-widths-shaw", "deepnorm")
IN_TRAINING = ("all-dropouts", "shaw-dropout", "depth-scaled")  # the same model as another


def held(name: str, *but: str) -> bool:
    return not name.startswith((*ATTENTIONS, *but)) and name not in (*NOT_HELD, *IN_TRAINING)


CASES: dict[str, dict[str, Any]] = {
    name: table for name, table in TRANSFORMERS.items() if held(name, "alibi", "narrow")
}
CASES |= {
    "alibi-in-decoder": {"decoder_positions": {"kind": "alibi"}},
    "decoder-narrow-with-own-sinusoids": {
        "architecture": "decoder-only",
        "embedding_width": 16,
        **TRANSFORMERS["sinusoidal-opennmt"],
    },
    "frame": {"source_before": [5], "source_after": [], "target_before": [7]},
    "starts-with-end": {"target_before": [2]},
    "biases-before-heads": {"attention_bias": True, "attention_output_bias": False},
}
for _name, _table in ONE_STACK.items():
    if held(_name):
        CASES[f"decoder-{_name}"] = {"architecture": "decoder-only", **_table}
    if held(_name, "alibi", "narrow"):
        alone = {"architecture": "encoder-only", "head": "none", **_table}
        CASES[f"encoder-{_name}"] = alone
CASES["encoder-segments"] = {"architecture": "encoder-only", **SEGMENTS}


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_and_read_is_the_same_to_the_bit(name: str, tmp_path: Path) -> None:
    bundle = random_bundle(CASES[name])
    folder = tmp_path / "model"
    write_ctranslate2(folder, bundle)
    again = import_ctranslate2(folder)
    assert again.config == bundle.config
    assert [each.to_json() for each in again.tokenizers] == [
        each.to_json() for each in bundle.tokenizers
    ]
    assert_same_weights(again, bundle)
    assert difference(folder, bundle) < 2e-4
    forget(folder)  # and what another program would have written
    deduced = import_ctranslate2(folder)
    assert difference(folder, deduced) < 2e-4


def assert_same_weights(one: Bundle, other: Bundle) -> None:
    mine, others = (dict(each.model.named_parameters()) for each in (one, other))
    assert mine.keys() == others.keys()
    for name, weight in mine.items():
        assert torch.equal(weight, others[name]), name


def test_two_vocabularies_come_back_in_their_order(tmp_path: Path) -> None:
    bundle = random_bundle({}, joint=False)
    write_ctranslate2(tmp_path / "model", bundle)
    again = import_ctranslate2(tmp_path / "model")
    assert [each.names() for each in again.tokenizers] == [
        each.names() for each in bundle.tokenizers
    ]
    assert_same_weights(again, bundle)


@pytest.mark.parametrize("quantization", ["float16", "bfloat16", "int16", "int8"])
def test_weights_in_fewer_bits_are_those_the_library_computes_with(
    quantization: Any, tmp_path: Path
) -> None:
    bundle = random_bundle({"positions": {"kind": "rotary"}})
    write_ctranslate2(tmp_path / "model", bundle, quantization=quantization)
    again = import_ctranslate2(tmp_path / "model")
    assert again.config == bundle.config
    assert difference(tmp_path / "model", again) < 2e-4


def test_sinusoids_are_computed_though_the_file_has_them_rounded(tmp_path: Path) -> None:
    bundle = random_bundle({})
    write_ctranslate2(tmp_path / "model", bundle, quantization="float16")
    again = import_ctranslate2(tmp_path / "model")
    assert again.config == bundle.config
    assert difference(tmp_path / "model", again) < 5e-3


# What only other programs write.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A translator as another program would have written it."""
    write_ctranslate2(tmp_path / "model", random_bundle({"norm_order": "pre", "tied": "output"}))
    forget(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize(
    "numbers",
    [
        {"decoder/start_from_zero_embedding": 1},
        {"decoder/scale_outputs": 0.125},
        {"decoder/scale_embeddings": 2.5, "encoder/scale_embeddings": 2.5},
        {"decoder/alignment_layer": -2, "decoder/alignment_heads": 4},
    ],
    ids=str,
)
def test_numbers_of_other_programs_are_heard(numbers: dict[str, float], folder: Path) -> None:
    rewrite(folder, {name: number(value) for name, value in numbers.items()})
    bundle = import_ctranslate2(folder)
    assert difference(folder, bundle) < 2e-4


def test_a_first_vector_of_zeros_is_that_of_padding(folder: Path) -> None:
    rewrite(folder, {"decoder/start_from_zero_embedding": number(1)})
    bundle = import_ctranslate2(folder)
    assert isinstance(bundle.config, ModelConfig)
    special = bundle.target_tokenizer.special
    assert special.padding == special.start == bundle.target_tokenizer.size - 1
    assert bundle.config.starts_with_padding
    last = log_probs(bundle, [5, 6], [7])[:, special.padding]
    assert (last < -1e8).all()  # so that the other pieces share all


def test_padding_gets_an_id_where_there_is_none(folder: Path) -> None:
    path = folder / "shared_vocabulary.json"
    names = json.loads(path.read_text())
    names[names.index("<pad>")] = "a piece like any other"
    path.write_text(json.dumps(names))
    bundle = import_ctranslate2(folder)
    assert bundle.target_tokenizer.special.padding == len(names)
    assert bundle.target_tokenizer.names() == [*names, "<pad>"]
    assert difference(folder, bundle) < 2e-4


@published
def test_a_file_that_users_name_cuts_text(folder: Path) -> None:
    file = PRETRAINED / "sentencepiece" / "joeynmt-sp200.deen.model"
    pieces = [each.text for each in parse_sentencepiece_model(file.read_bytes()).pieces]
    path = folder / "shared_vocabulary.json"
    names = [*json.loads(path.read_text())[:4], *(each for each in pieces if each[0] != "<")]
    names += [f"<more {number}>" for number in range(290 - len(names))]
    path.write_text(json.dumps(names))
    bundle = import_ctranslate2(folder, tokenizer=file)
    tokenizer = bundle.source_tokenizer
    cut = [names[number] for number in tokenizer.encode("ein mann und eine frau")]
    assert len(cut) > 5
    assert "".join(cut) == "▁ein▁mann▁und▁eine▁frau"
    assert tokenizer.decode(tokenizer.encode("ein mann")) == "ein mann"
    assert difference(folder, bundle) < 2e-4


def test_a_file_that_cuts_no_text_is_told(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"model.bin: not a SentencePiece model, or damaged"):
        import_ctranslate2(folder, tokenizer=folder / "model.bin")


def test_flags_of_both_stacks_in_one_are_read(folder: Path) -> None:
    # As revision 4 had it, in a file of version 5, whose symbols stand in variables.
    old = {"num_heads": number(4), "pre_norm": number(1), "activation": number(0)}
    drop = [f"{stack}/{name}" for name in old for stack in ("encoder", "decoder")]
    ends = np.frombuffer(b"</s>", dtype=np.int8)
    old |= {"with_source_eos": number(1), "eos_token": ends, "with_relative_position": number(0)}
    bundle = random_bundle({"norm_order": "pre", "tied": "output", "norm_eps": 1e-5})
    write_ctranslate2(folder, bundle)
    rewrite(folder, old, drop=drop, version=5, revision=4)
    (folder / "config.json").unlink()
    for path in folder.glob("*tokenizer.json"):
        path.unlink()
    again = import_ctranslate2(folder)
    assert again.frame.source_after == (again.source_tokenizer.special.end,)
    assert difference(folder, again) < 2e-4
    assert isinstance(again.config, ModelConfig)
    assert again.config.tied == "output"


def test_vocabularies_in_lines_keep_returns_unless_all_have_them(folder: Path) -> None:
    names = json.loads((folder / "shared_vocabulary.json").read_text())
    names = [f"piece{each}" if "\n" in name else name for each, name in enumerate(names)]
    (folder / "shared_vocabulary.json").unlink()
    for ending in ("\n", "\r\n"):
        text = ending.join(names) + ending
        (folder / "shared_vocabulary.txt").write_text(text, newline="")
        assert import_ctranslate2(folder).target_tokenizer.names() == names


ATTENTION = "decoder/layer_1/self_attention"
GAIN = np.ones(32, dtype=np.float32)
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "queries": ({f"{ATTENTION}/q_norm/gamma": GAIN}, r"q_norm/gamma: norms of queries and keys"),
    "around": (
        {"encoder/layer_0/post_attention_layer_norm/gamma": GAIN},
        r"norms before and after",
    ),
    "beside": ({"decoder/layer_0/shared_layer_norm/gamma": GAIN}, r"sub-layers side by side"),
    "scalar": ({"decoder/layer_0/layer_scalar": GAIN[:1]}, r"a factor on each layer"),
    "project": ({"decoder/project_in/weight": np.eye(32, dtype=np.float32)}, r"another width"),
    "cap": ({"decoder/final_logit_softcapping": number(30.0)}, r"logits bent to a range"),
    "awq": ({f"{ATTENTION}/linear_0/weight_zero": GAIN}, r"weights packed as AWQ does"),
    "packed": (
        {"encoder/layer_0/ffn/linear_0/weight": np.zeros((48, 32), dtype=np.int32)},
        r"linear_0/weight is int32 \(48, 32\), as AWQ packs weights",
    ),
    "window": ({"decoder/sliding_window": number(128)}, r"the decoder lets each position see a w"),
    "alibi": ({"decoder/alibi": number(1), "decoder/scale_alibi": number(1)}, r"scales the slopes"),
    "part": ({f"{ATTENTION}/rotary_dim": number(4)}, r"has layers that differ in rotary_dim"),
    "activation": (
        {"encoder/activation": number(6), "decoder/activation": number(6)},
        r"has an activation that is not known here, 6",
    ),
    "differ": ({"encoder/activation": number(2)}, r"encoder and a decoder that differ in activat"),
    "heads": ({"encoder/num_heads": number(5)}, r"has 5 heads, which do not divide its width 32"),
    "no-heads": ({"encoder/num_heads": number(0)}, r"has 0 heads"),
    "factors": ({"encoder/embeddings_1/weight": np.ones((3, 32), np.float32)}, r"several tables"),
    "more": (
        {"decoder/surprise": GAIN},
        r"1 variables that no choice of \[model\] knows: decoder/s",
    ),
    "deeper": ({"decoder/layer_2/ffn/layer_norm/gamma": GAIN}, r"has no decoder/layer_2/self_att"),
    "nan": ({"decoder/layer_norm/gamma": GAIN * np.nan}, r"layer_norm/gamma holds what is no numb"),
    "shape": ({"decoder/layer_norm/gamma": GAIN[:7]}, r"gamma is \(7,\), and its place in the mod"),
    "no-scale": (
        {"encoder/layer_0/ffn/linear_0/weight": np.ones((48, 32), np.int8)},
        r"has no encoder/layer_0/ffn/linear_0/weight_scale",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_choice_of_ours_computes_is_refused_by_name(name: str, folder: Path) -> None:
    arrays, message = REFUSED[name]
    rewrite(folder, arrays)
    with pytest.raises(ModelError, match=message) as caught:
        import_ctranslate2(folder)
    assert str(folder / "model.bin") in str(caught.value)


def test_turns_of_a_part_of_a_head_are_refused(folder: Path) -> None:
    attentions = [f"{s}/layer_{n}/self_attention" for s in ("encoder", "decoder") for n in (0, 1)]
    turned = {f"{each}/rotary_dim": number(4) for each in attentions}
    rewrite(folder, turned)
    with pytest.raises(ModelError, match=r"the encoder turns 4 of the 8 numbers of a head"):
        import_ctranslate2(folder)
    stretched = {f"{each}/rotary_scaling_type": number(0) for each in attentions}
    whole = {f"{each}/rotary_dim": number(8) for each in attentions}
    rewrite(folder, whole | stretched)
    with pytest.raises(ModelError, match=r"the encoder stretches the positions of rotary"):
        import_ctranslate2(folder)


def test_a_missing_weight_is_named(folder: Path) -> None:
    rewrite(folder, {}, drop=["decoder/layer_1/ffn/linear_1/weight"])
    with pytest.raises(ModelError, match=r"has no decoder/layer_1/ffn/linear_1/weight"):
        import_ctranslate2(folder)


def test_another_kind_of_model_is_named(folder: Path) -> None:
    rewrite(folder, {}, specification="WhisperSpec")
    with pytest.raises(ModelError, match=r"is a WhisperSpec; what can be read here is Transformer"):
        import_ctranslate2(folder)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"decoder_start_token": None}, r"leaves it to users how a target begins"),
        ({"decoder_start_token": "<2de>"}, r"has no piece <2de>, which begins a target"),
        ({"add_source_bos": True, "bos_token": "<go>"}, r"has no piece <go>, which it adds"),
        ({"eos_token": 7}, r"config.json: eos_token: 7 is no str"),
        ({"add_source_eos": "yes"}, r"config.json: add_source_eos: 'yes' is no bool"),
        ({"layer_norm_epsilon": -1}, r"layer_norm_epsilon: -1.0 is no small number above 0"),
        ({"layer_norm_epsilon": 10**400}, r"layer_norm_epsilon: 1000"),
        ({"quantization_type": 1}, r"quantization_type: weights are packed as AWQ does"),
        ({"dragoman": []}, r"config.json: dragoman: \[\] is no dict"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_told(
    entries: dict[str, Any], message: str, folder: Path
) -> None:
    change(folder, **entries)
    with pytest.raises(ModelError, match=message):
        import_ctranslate2(folder)


def test_vocabularies_of_another_model_are_told(folder: Path) -> None:
    path = folder / "shared_vocabulary.json"
    names = json.loads(path.read_text())
    path.write_text(json.dumps(names[:-1]))
    with pytest.raises(
        ModelError, match=r"is \(290, 32\) in model.bin, and the vocabulary has 289"
    ):
        import_ctranslate2(folder)
    path.write_text(json.dumps([*names[:-1], names[-2]]))
    with pytest.raises(ModelError, match=r"shared_vocabulary.json: has two pieces '"):
        import_ctranslate2(folder)


# Our own folders, changed behind our back.


def test_choices_that_contradict_the_weights_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    write_ctranslate2(folder, random_bundle({}))
    ours = json.loads((folder / "config.json").read_text())["dragoman"]
    for table, message in (
        ({"heads": 8}, r"dragoman.model: heads: is \(8, 8, 4\), and model.bin says \(4, 4, 8\)"),
        ({"norm_order": "pre"}, r"norm: is \('layer', 'pre'"),
        ({"positions": {"kind": "sinusoidal", "layout": "halves"}}, r"does not hold sinusoidal"),
        ({"tied": "none", "d_ff": 7}, r"d_ff: is 7"),
        ({"vocabulary": 10}, r"are not of the sizes"),
        ({"haeds": 4}, r"haeds: unknown key; did you mean heads"),
    ):
        change(folder, dragoman={**ours, "model": {**ours["model"], **table}})
        with pytest.raises(ModelError, match=message):
            import_ctranslate2(folder)


def test_a_changed_weight_of_ours_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    bundle = random_bundle({})
    write_ctranslate2(folder, bundle)
    gain = dict(bundle.model.named_parameters())["encoder.layers.0.attention_residual.norm.gain"]
    changed = gain.detach().numpy() * np.float32(1 + 2**-20)
    rewrite(folder, {"encoder/layer_0/self_attention/layer_norm/gamma": changed})
    with pytest.raises(ModelError, match=r"model.bin: its weights are not those written"):
        import_ctranslate2(folder)


def test_clients_say_what_they_are_and_how_long_texts_may_be(tmp_path: Path) -> None:
    write_ctranslate2(tmp_path / "translator", random_bundle({}), positions=9)
    side = open_ctranslate2(tmp_path / "translator", random_bundle({}))
    assert (side.name, side.longest) == ("ctranslate2.Translator", 9)
    alone = random_bundle(CASES["encoder-segments"])
    assert isinstance(alone.model, EncoderOnly)
    write_ctranslate2(tmp_path / "encoder", alone)
    reader = open_ctranslate2(tmp_path / "encoder", alone)
    assert isinstance(reader, CTranslate2Reader)
    assert (reader.name, reader.longest) == ("ctranslate2.Encoder", 40)
    assert reader.outputs([5, 6]).shape == (32,)
    assert math.isclose(float(np.abs(reader.outputs([5])).max()), 1, abs_tol=1)
