"""Parameter counts, on the meta device so that nothing is stored; and costs by formula."""

from dataclasses import asdict
from itertools import starmap

import torch
from torch import nn

from dragoman.inspection import (
    ConvolutionCost,
    ConvolutionWindow,
    attention_multiplications,
    compare_separable_convolution,
    compare_spatially_separable_convolution,
    complexity_table,
    contiguous_layers_to_cover,
    convolutional_cost,
    dilated_convolutional_cost,
    dilated_layers_to_cover,
    layers_to_cover,
    pointwise_feed_forward_cost,
    receptive_fields,
    recurrent_parameters,
    self_attention_cost,
    self_attention_is_cheaper,
    separable_convolution_cost,
)
from dragoman.models import ModelConfig, build_model
from dragoman.nn import (
    EncoderDecoder,
    FeedForward,
    Generator,
    MultiHeadAttention,
)
from tests.golden.case import Case


def count(*parts: object) -> int:
    """Count numbers in the parameters of those parts that are modules; shared ones once."""
    modules = [part for part in parts if isinstance(part, nn.Module)]
    weights = {id(w): w.numel() for module in modules for w in module.parameters()}
    return sum(weights.values())


def transformer_params(case: Case) -> dict[str, object]:
    with torch.device("meta"):
        model = _model(case)
    tables = (model.source_input.embedding, model.target_input.embedding, model.generator)
    counts = {
        "embedding": count(*tables),
        "positions": count(model.source_input.positions, model.target_input.positions),
        "encoder_layer": count(model.encoder.layers[0]),
        "decoder_layer": count(model.decoder.layers[0]),
        "encoder": count(model.encoder.layers),
        "decoder": count(model.decoder.layers),
        "final_norms": count(model.encoder.final_norm, model.decoder.final_norm),
        "total": count(model),
    }
    values: dict[str, object] = {"counts": counts}
    if "paper_says" in case.raw["expected"]:  # what the paper prints is not ours to compute
        printed = case.raw["expected"]["paper_says"]
        values |= {"paper_says": printed, "relative_gap": counts["total"] / printed - 1}
    return values


def _model(case: Case) -> EncoderDecoder:
    inputs = case.inputs
    tied = inputs.get("tied", True)
    width = inputs["d_model"] // inputs["heads"]
    config = ModelConfig(
        layers=inputs["layers"],
        d_model=inputs["d_model"],
        heads=inputs["heads"],
        d_k=inputs.get("d_k", width),
        d_v=inputs.get("d_v", width),
        d_ff=inputs["d_ff"],
        attention_bias=inputs.get("attn_bias", False),
        final_norm=inputs.get("final_norm", False),
        vocabulary=inputs["vocab"],
        target_vocabulary=None if tied else inputs["vocab"],
    )
    model = build_model(config)
    assert isinstance(model, EncoderDecoder)
    if not tied:
        model.generator = Generator(nn.Parameter(torch.empty_like(model.generator.table)))
    return model


def head_table(case: Case) -> dict[str, list[int]]:
    table: dict[str, list[int]] = {
        "d_k": [],
        "attention_weights_4d2": [],
        "three_d2": [],
        "layer_weights_12d2": [],
    }
    for row in case.inputs["rows"]:
        with torch.device("meta"):
            attention = MultiHeadAttention(row["d_model"], row["heads"])
            feed_forward = FeedForward(row["d_model"], 4 * row["d_model"], bias=False)
        table["d_k"].append(attention.d_k)
        table["attention_weights_4d2"].append(count(attention))
        table["three_d2"].append(count(attention.query_key_value))
        table["layer_weights_12d2"].append(count(attention, feed_forward))
    return table


def projection_params(case: Case) -> dict[str, int]:
    d_model, heads = case.inputs["d_model"], case.inputs["heads"]
    with torch.device("meta"):
        one, many = MultiHeadAttention(d_model, 1), MultiHeadAttention(d_model, heads)
    return {
        "qkv_single_head": count(one.query_key_value),
        "qkv_multi_head": count(many.query_key_value),
        "with_output": count(many),
        "note_formula_wrong": heads * 3 * many.d_k**2,
    }


def gqa_params(case: Case) -> dict[str, int]:
    inputs = case.inputs
    with torch.device("meta"):
        attention = MultiHeadAttention(
            inputs["d_model"], inputs["heads"], kv_heads=inputs["kv_heads"]
        )
        known = attention.project_memory(torch.empty(1, 1, inputs["d_model"]))
    cached = known.keys.numel() + known.values.numel()
    return {"weights": count(attention), "cache_numbers_per_token_per_layer": cached}


def multiplications(case: Case) -> dict[str, int]:
    found = attention_multiplications(case.inputs["n"], case.inputs["d"])
    return {**asdict(found), "total": found.total}


def table_1(case: Case) -> dict[str, object]:
    n, d, k, r = (case.inputs[name] for name in ("n", "d", "k", "r"))
    table = {name: asdict(cost) for name, cost in complexity_table(n, d, k=k, r=r).items()}
    convolutional = table["convolutional"]
    convolutional["max_path_contiguous"] = convolutional["max_path"]
    convolutional["max_path_dilated"] = table["dilated_convolutional"]["max_path"]
    pair = self_attention_cost(n, d).per_layer + pointwise_feed_forward_cost(n, d).per_layer
    return {
        "table": table,
        "self_attention_cheaper_than_recurrent": self_attention_is_cheaper(n, d),
        "separable_k_equals_n": separable_convolution_cost(n, d, k=n).per_layer,
        "attention_plus_pointwise": pair,
    }


def recurrent_params(case: Case) -> dict[str, dict[str, int]]:
    sizes = case.inputs["input"], case.inputs["hidden"]
    return {
        kind: {
            "one_bias": recurrent_parameters(kind, *sizes),
            "two_biases": recurrent_parameters(kind, *sizes, biases=2),
        }
        for kind in ("rnn", "gru", "lstm")
    }


def cover(case: Case) -> dict[str, float]:
    n, k = case.inputs["n"], case.inputs["k"]
    return {
        "contiguous": contiguous_layers_to_cover(n, k),
        "dilated": dilated_layers_to_cover(n, k),
        "big_o_contiguous": convolutional_cost(n, 1, k).max_path,
        "big_o_dilated": dilated_convolutional_cost(n, 1, k).max_path,
    }


def receptive_field(case: Case) -> dict[str, object]:
    inputs, length = case.inputs, case.inputs["sequence_length"]
    sizes = zip(inputs["kernels"], inputs["strides"], inputs["dilations"], strict=True)
    layers = list(starmap(ConvolutionWindow, sizes))
    found: dict[str, object] = {"receptive_field": receptive_fields(layers)}
    if "layers_to_cover" in case.raw["expected"]:
        found["layers_to_cover"] = layers_to_cover(length, layers)
    return found


def separable_counts(case: Case) -> dict[str, object]:
    names = ("height", "width", "c_in", "c_out", "k")
    found = compare_separable_convolution(*(case.inputs[name] for name in names))
    return {
        "standard": _counts(found.standard),
        "depthwise": _counts(found.depthwise),
        "pointwise": _counts(found.pointwise),
        "separable_mults": found.multiplications,
        "separable_params": found.parameters,
        "ratio": found.ratio,
    }


def _counts(cost: ConvolutionCost) -> dict[str, object]:
    return {"output": cost.output, "mults": cost.multiplications, "params": cost.parameters}


def spatial_separable(case: Case) -> dict[str, int]:
    return asdict(compare_spatially_separable_convolution(case.inputs["k"]))


KINDS = {
    "attention_mults": multiplications,
    "complexity_table": table_1,
    "gqa_params": gqa_params,
    "head_table": head_table,
    "layers_to_cover": cover,
    "projection_params": projection_params,
    "receptive_field": receptive_field,
    "recurrent_params": recurrent_params,
    "separable_counts": separable_counts,
    "spatial_separable": spatial_separable,
    "transformer_params": transformer_params,
}
