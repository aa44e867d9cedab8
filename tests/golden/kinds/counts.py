"""Parameter counts, on the meta device: nothing is stored."""

import torch
from torch import nn

from dragoman.models import ModelConfig, build_model
from dragoman.nn import (
    DecoderLayer,
    EncoderDecoder,
    EncoderLayer,
    FeedForward,
    Generator,
    MultiHeadAttention,
)
from tests.golden.case import Case


def count(*modules: nn.Module | None) -> int:
    """Count numbers in the parameters of modules; shared ones once."""
    weights = {id(w): w.numel() for module in modules if module for w in module.parameters()}
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
    config = ModelConfig(
        layers=inputs["layers"],
        d_model=inputs["d_model"],
        heads=inputs["heads"],
        d_ff=inputs["d_ff"],
        attention_bias=inputs.get("attn_bias", False),
        final_norm=inputs.get("final_norm", False),
        vocabulary=inputs["vocab"],
        target_vocabulary=None if tied else inputs["vocab"],
    )
    model = build_model(config)
    if not tied:
        model.generator = Generator(nn.Parameter(torch.empty_like(model.generator.table)))
    if "d_k" in inputs or "d_v" in inputs:
        for layer in (*model.encoder.layers, *model.decoder.layers):
            assert isinstance(layer, EncoderLayer | DecoderLayer)
            layer.attention = _attention(case, config)
            if isinstance(layer, DecoderLayer):
                layer.cross_attention = _attention(case, config)
    return model


def _attention(case: Case, config: ModelConfig) -> MultiHeadAttention:
    width = config.d_model // config.heads
    return MultiHeadAttention(
        config.d_model,
        config.heads,
        d_k=case.inputs.get("d_k", width),
        d_v=case.inputs.get("d_v", width),
        bias=config.attention_bias,
    )


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


KINDS = {
    "gqa_params": gqa_params,
    "head_table": head_table,
    "projection_params": projection_params,
    "transformer_params": transformer_params,
}
