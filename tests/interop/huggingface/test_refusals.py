"""What a family or Dragoman has no place for is refused by its name, before anything is written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from dragoman.bundle import Bundle
from dragoman.errors import ConfigError, ModelError
from dragoman.interop.huggingface import (
    beyond_huggingface,
    open_huggingface,
    read_huggingface,
    write_huggingface,
)
from dragoman.interop.huggingface.clients import TransformersReader
from dragoman.models import build_model, read_config
from tests.interop.huggingface.models import WIDTH, saved

SIZES = {"layers": 2, "d_model": WIDTH, "heads": 4, "d_ff": 128, "vocabulary": 50}
GPT2 = {
    **SIZES,
    "architecture": "decoder-only",
    "norm_order": "pre",
    "positions": {"kind": "learned", "max_length": 64},
    "embedding_scale": False,
}
LLAMA = {
    **SIZES,
    "architecture": "decoder-only",
    "feedforward": "gated",
    "norm": "rms",
    "norm_order": "pre",
    "positions": {"kind": "rotary"},
    "embedding_scale": False,
}
BLOOM = {
    **GPT2,
    "positions": {"kind": "alibi"},
    "activation": "gelu_tanh",
    "embedding_norm": True,
}
BERT = {
    **SIZES,
    "architecture": "encoder-only",
    "positions": {"kind": "learned", "max_length": 64},
    "embedding_scale": False,
    "embedding_norm": True,
    "activation": "gelu",
}
ALBERT = {**BERT, "embedding_width": 8, "embedding_projection": "last"}
QWEN2 = {**LLAMA, "attention_bias": True, "attention_output_bias": False}
MISTRAL = {**LLAMA, "attention": {"kind": "local", "keys": 5}}


def changed(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    path = folder / "config.json"
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))
    return folder


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("gpt2", "scale_attn_by_inverse_layer_idx", True),
        ("gpt2", "add_cross_attention", True),
        ("gpt2", "activation_function", "mish"),
        ("gpt2", "n_layer", -1),
        ("gpt2", "n_layer", 2.5),
        ("gpt2", "n_head", 5),
        ("gpt2", "n_head", 0),
        ("gpt2", "vocab_size", None),
        ("gpt2", "vocab_size", 10**12),
        ("gpt2", "eos_token_id", "x"),
        ("gpt2", "tie_word_embeddings", "no"),
        ("bloom", "apply_residual_connection_post_layernorm", True),
        ("llama", "rope_scaling", {"type": "linear", "factor": 2.0}),
        ("llama", "rope_parameters", {"rope_type": "llama3", "rope_theta": 5e5}),
        ("llama", "rope_parameters", 3),
        ("llama", "pretraining_tp", 2),
        ("llama", "partial_rotary_factor", 0.5),
        ("llama", "num_key_value_heads", 3),
        ("qwen2", "use_sliding_window", True),
        ("qwen2", "layer_types", ["sliding_attention", "full_attention"]),
        ("bert", "position_embedding_type", "relative_key"),
        ("bert", "is_decoder", True),
        ("bert for pieces", "tie_word_embeddings", False),
        ("bert for classes", "problem_type", "multi_label_classification"),
        ("bert for classes", "id2label", {"0": "a", "2": "b"}),
        ("bert for classes", "id2label", {"0": "a", "1": "a"}),
        ("bert for classes", "id2label", ["a", "b"]),
        ("bert", "layer_norm_eps", float("nan")),
        ("bert", "hidden_dropout_prob", float("inf")),
        ("albert", "num_hidden_groups", 2),
        ("albert", "inner_group_num", 2),
        ("albert", "model_type", "albert-x"),
        ("albert", "architectures", ["AlbertForQuestionAnswering"]),
        ("albert", "auto_map", {"AutoModel": "modeling.Mine"}),
    ],
)
def test_an_option_that_is_not_supported_is_named(
    name: str, option: str, value: object, tmp_path: Path
) -> None:
    folder = changed(saved(name, tmp_path), lambda table: table.update({option: value}))
    named = {"n_head": "heads", "num_key_value_heads": "kv_heads"}.get(option, option)
    if value == 10**12 or value in (-1, 2.5):
        named = option
    with pytest.raises(ConfigError, match=rf"config\.json: {named}"):
        read_huggingface(folder, ())


def test_several_options_are_told_at_once(tmp_path: Path) -> None:
    def change(table: dict[str, Any]) -> None:
        table |= {"add_cross_attention": True, "activation_function": "mish", "n_embd": "wide"}

    with pytest.raises(ConfigError) as caught:
        read_huggingface(changed(saved("gpt2", tmp_path), change), ())
    places = {mistake.place for mistake in caught.value.mistakes}
    assert places == {"add_cross_attention", "activation_function", "n_embd"}


# Field report 29: weights that are missing, left over or made up are errors, not warnings.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.pop("transformer.ln_f.bias"), r"missing \(transformer\.ln_f\.bias\)"),
        (lambda state: state.update(extra=torch.ones(2)), r"not known \(extra\)"),
        (
            lambda state: state.update({"transformer.ln_f.bias": torch.ones(3)}),
            r"ln_f\.bias is \(3,\) as decoder\.final_norm\.bias, the model needs \(32,\)",
        ),
        (
            lambda state: state.update({"lm_head.weight": torch.ones(50, WIDTH)}),
            r"lm_head\.weight differs from the weight that it is tied to",
        ),
    ],
)
def test_weights_that_do_not_fit_are_named(
    change: Callable[[dict[str, Any]], Any], message: str, tmp_path: Path
) -> None:
    folder = saved("gpt2", tmp_path)
    state = load_file(folder / "model.safetensors")
    change(state)
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=message):
        read_huggingface(folder, ())


def test_a_client_that_makes_up_weights_is_refused(tmp_path: Path) -> None:
    bundle = read_huggingface(saved("gpt2", tmp_path), ())
    state = load_file(tmp_path / "model.safetensors")
    del state["transformer.ln_f.bias"]
    save_file(state, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=r"transformers makes up weights: transformer\.ln_f\.bias"):
        open_huggingface(tmp_path, bundle)


def test_an_untied_table_that_is_said_to_be_tied_is_refused(tmp_path: Path) -> None:
    folder = saved("gpt2 untied, unscaled", tmp_path)
    changed(folder, lambda table: table.update(tie_word_embeddings=True))
    with pytest.raises(ModelError, match=r"lm_head\.weight differs from the weight that it is"):
        read_huggingface(folder, ())


def test_a_tied_table_that_is_said_to_be_free_is_missed(tmp_path: Path) -> None:
    folder = saved("gpt2", tmp_path)
    changed(folder, lambda table: table.update(tie_word_embeddings=False))
    with pytest.raises(ModelError, match=r"1 weights are missing \(lm_head\.weight\)"):
        read_huggingface(folder, ())


def test_sizes_in_config_cost_no_memory_before_the_weights_are_seen_to_have_them(
    tmp_path: Path,
) -> None:
    folder = saved("gpt2", tmp_path)
    changed(folder, lambda table: table.update(n_embd=400_000, n_inner=900_000, n_layer=30))
    with pytest.raises(ModelError, match=r"weights are missing \(transformer\.h\.10\."):
        read_huggingface(folder, ())
    changed(folder, lambda table: table.update(n_layer=2))
    with pytest.raises(ModelError, match=r"is \(50, 32\) as .*, the model needs \(50, 400000\)"):
        read_huggingface(folder, ())


# What lies in a checkpoint for another class, or under older names


def test_the_stack_alone_is_read_with_the_head_that_is_tied_to_it(tmp_path: Path) -> None:
    folder = saved("gpt2", tmp_path)
    expected = read_huggingface(folder, ())
    state = load_file(folder / "model.safetensors")
    bare = {name.removeprefix("transformer."): each for name, each in state.items()}
    bare["h.0.attn.bias"] = torch.ones(1, 1, 64, 64)  # the causal mask, once stored
    save_file(bare, folder / "model.safetensors")
    assert_equal(read_huggingface(folder, ()), expected)


def test_a_checkpoint_of_the_pretraining_is_read_for_one_of_its_heads(tmp_path: Path) -> None:
    folder = saved("bert for pieces", tmp_path)
    expected = read_huggingface(folder, ())
    state = load_file(folder / "model.safetensors")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("Norm.bias", "Norm.beta"): each
        for name, each in state.items()
    }
    old["bert.pooler.dense.weight"] = torch.ones(WIDTH, WIDTH)
    old["cls.seq_relationship.bias"] = torch.ones(2)
    old["bert.embeddings.position_ids"] = torch.arange(64)[None]
    save_file(old, folder / "model.safetensors")
    assert_equal(read_huggingface(folder, ()), expected)


def assert_equal(bundle: Bundle, expected: Bundle) -> None:
    both = zip(bundle.model.parameters(), expected.model.parameters(), strict=True)
    assert all(torch.equal(weight, other) for weight, other in both)


# Writing


def bundle_of(choices: dict[str, Any]) -> Bundle:
    config = read_config(choices)
    rng = torch.Generator().manual_seed(1)
    return Bundle(config, build_model(config, rng).eval(), ())


@pytest.mark.parametrize(
    ("choices", "named"),
    [
        (GPT2, "GPT2LMHeadModel"),
        ({**GPT2, "tied": "none", "feedforward_bias": False}, "GPT2LMHeadModel"),
        ({**GPT2, "attention_bias": True, "activation": "silu"}, "GPT2LMHeadModel"),
        (LLAMA, "LlamaForCausalLM"),
        ({**LLAMA, "kv_heads": 1, "d_k": 6, "feedforward_bias": True}, "LlamaForCausalLM"),
        ({**LLAMA, "multiple_of": 8, "activation": "gelu"}, "LlamaForCausalLM"),
        (MISTRAL, "MistralForCausalLM"),
        (QWEN2, "LlamaForCausalLM"),
        (BLOOM, "BloomForCausalLM"),
        (BERT, "BertForMaskedLM"),
        ({**BERT, "segments": 3, "output_bias": True}, "BertForMaskedLM"),
        ({**BERT, "head": "pooled", "activation": None}, "BertModel"),
        ({**BERT, "head": "none"}, "BertModel"),
        ({**BERT, "head": "class", "classes": ["a", "b"]}, "BertForSequenceClassification"),
        ({**BERT, "head": "tags", "classes": ["a", "b"]}, "BertForTokenClassification"),
        (ALBERT, "AlbertForMaskedLM"),
        ({**ALBERT, "head": "none", "attention_bias": True}, "AlbertModel"),
    ],
)
def test_our_own_models_go_out_and_come_in_with_the_same_bits(
    choices: dict[str, Any], named: str, tmp_path: Path
) -> None:
    bundle = bundle_of({key: value for key, value in choices.items() if value is not None})
    model: Any = bundle.model
    if named.startswith("Albert"):
        with torch.no_grad():
            layers = model.encoder.layers
            layers[1].load_state_dict(layers[0].state_dict())
    write_huggingface(tmp_path, bundle)
    again = read_huggingface(tmp_path, ())
    assert again.config == bundle.config
    assert_equal(again, bundle)
    client = open_huggingface(tmp_path, bundle)
    assert isinstance(client, TransformersReader)
    assert client.name == f"transformers {named}"
    x = [5, 4, 3, 7, 9]
    with torch.no_grad():
        ours = model(torch.tensor([x]))
    torch.testing.assert_close(torch.tensor(client.outputs(x)), ours[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({**GPT2, "embedding_scale": True}, "embedding_scale: GPT-2 has no place for True"),
        ({**GPT2, "output_bias": True}, "output_bias: GPT-2 has no place for True"),
        ({**GPT2, "norm_order": "post"}, "norm_order: GPT-2 has no place for post"),
        ({**GPT2, "attention": {"kind": "linear"}}, "attention: GPT-2 has no place for linear"),
        ({**LLAMA, "positions": {"kind": "shaw"}}, "positions: LLaMA has no place for shaw"),
        (
            {**LLAMA, "positions": {"kind": "rotary", "layout": "interleaved"}},
            "positions: LLaMA has no place for rotary",
        ),
        ({**LLAMA, "d_v": 10}, "d_v: LLaMA has no place for 10"),
        ({**MISTRAL, "attention_bias": True}, "attention: LLaMA has no place for local"),
        (
            {**LLAMA, "attention_output_bias": True},
            "attention_output_bias: LLaMA has no place for True",
        ),
        ({**BLOOM, "d_ff": 64}, "d_ff: BLOOM has no place for 64"),
        ({**BERT, "norm_order": "pre", "final_norm": False}, "norm_order: BERT has no place for"),
        ({**BERT, "positions": {"kind": "t5"}}, "positions: BERT has no place for t5"),
        ({**BERT, "tied": "none"}, "tied: BERT has no place for none"),
        ({**BERT, "initialization": "deepnorm"}, "initialization: BERT has no place for deepnorm"),
        ({**BERT, "embedding_width": 8}, "embedding_width: BERT has no place for 8"),
        (
            {**BERT, "head": "class", "classes": ["a"], "pooled": False},
            "pooled: BERT has no place for False",
        ),
        (
            {"architecture": "recurrent", "layers": 1, "d_model": 8, "vocabulary": 9},
            "architecture: no family of transformers that is written is recurrent",
        ),
    ],
)
def test_a_choice_that_no_family_holds_is_named_before_anything_is_written(
    choices: dict[str, Any], message: str, tmp_path: Path
) -> None:
    bundle = bundle_of(choices)
    folder = tmp_path / "out"
    with pytest.raises(ConfigError, match=f"^model.{message}") as caught:
        write_huggingface(folder, bundle)
    assert not folder.exists()
    assert len(caught.value.mistakes) == len(beyond_huggingface(bundle.config))


def test_the_nearest_family_is_named_with_every_choice_in_its_way() -> None:
    found = beyond_huggingface(read_config({**GPT2, "norm": "rms", "embedding_norm": True}))
    assert {mistake.place for mistake in found} == {"norm", "embedding_norm"}
    assert all("; GPT-2 comes closest; train with" in str(mistake) for mistake in found)
    image = {"height": 8, "width": 8, "patch": 2}
    seen = {**SIZES, "architecture": "encoder-only", "head": "class", "images": image}
    del seen["vocabulary"]
    (alone,) = beyond_huggingface(read_config(seen))
    assert str(alone).startswith("images: no family of transformers that is written reads any")


def test_layers_that_differ_are_not_folded_into_one(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with pytest.raises(ModelError, match=r"ALBERT has one .* for all layers, and encoder"):
        write_huggingface(folder, bundle_of(ALBERT))
    assert not folder.exists()


def test_our_choices_beside_theirs_must_say_the_same(tmp_path: Path) -> None:
    write_huggingface(tmp_path, bundle_of(GPT2))
    changed(tmp_path, lambda table: table.update(layer_norm_epsilon=0.5))
    with pytest.raises(ModelError, match=r"dragoman\.model: layer_norm_epsilon is 0\.5 beside it"):
        read_huggingface(tmp_path, ())
    changed(tmp_path, lambda table: table.pop("dragoman"))
    bundle = read_huggingface(tmp_path, ())  # as any other GPT-2, with biases
    assert bundle.config.norm_eps == 0.5  # type: ignore[union-attr]  # a Transformer
    assert "decoder.layers.0.attention.output.bias" in dict(bundle.model.named_parameters())


def test_biases_trained_elsewhere_are_not_dropped(tmp_path: Path) -> None:
    write_huggingface(tmp_path, bundle_of(GPT2))
    state = load_file(tmp_path / "model.safetensors")
    state["transformer.h.1.attn.c_proj.bias"][3] = 0.5
    save_file(state, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=r"h\.1\.attn\.c_proj\.bias is not zero, .*dragoman"):
        read_huggingface(tmp_path, ())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"model": 3}, r"dragoman\.model: is no table"),
        ({"model": {"layers": 0}}, r"dragoman\.model: layers: 0"),
        ({"model": {**GPT2, "norm_order": "post"}}, r"norm_order: GPT-2 has no place"),
    ],
)
def test_damaged_choices_of_ours_are_refused(value: object, message: str, tmp_path: Path) -> None:
    write_huggingface(tmp_path, bundle_of(GPT2))
    changed(tmp_path, lambda table: table.update(dragoman=value))
    with pytest.raises((ConfigError, ModelError), match=message):
        read_huggingface(tmp_path, ())
