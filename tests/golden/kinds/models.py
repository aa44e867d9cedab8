"""Whole layers and the whole encoder-decoder."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from dragoman.models import ModelConfig, build_model
from dragoman.nn import (
    DecoderLayer,
    EncoderDecoder,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    causal_mask,
)
from dragoman.training.loss import smoothed_cross_entropy
from tests.golden.case import Case
from tests.golden.kinds.layers import log_softmax
from tests.golden.kinds.weights import (
    ACTIVATIONS,
    Weights,
    decoder_layer_from,
    encoder_layer_from,
    fill_attention,
    fill_feed_forward,
    fill_norm,
    use_kernel,
)


def encoder_layer(case: Case) -> dict[str, Tensor]:
    layer = encoder_layer_from(case.inputs, layer_weights(case, case.inputs["layer"]))
    use_kernel(layer, case.kernel)
    return {"output": layer(case.tensor("x")[None], case.mask())[0]}


def decoder_layer(case: Case) -> dict[str, Tensor]:
    layer = decoder_layer_from(case.inputs, layer_weights(case, case.inputs["layer"]))
    use_kernel(layer, case.kernel)
    x = case.tensor("x")[None]
    return {"output": layer(x, case.tensor("memory")[None], causal_mask(x.size(1)))[0]}


def encoder_decoder(case: Case) -> dict[str, object]:
    model = encoder_decoder_from(case).eval()
    encoded, decoded = record_outputs(model.encoder.layers), record_outputs(model.decoder.layers)
    source, target_in = case.ids("src")[None], case.ids("tgt_in")[None]
    memory = model.encode(source)
    hidden = model.decode(target_in, memory)
    logits = model.generator(hidden)[0]
    values: dict[str, object] = {
        "encoder_layers": [output[0] for output in encoded],
        "memory": memory.states[0],
        "decoder_layers": [output[0] for output in decoded],
        "decoder_output": hidden[0],
        "logits": logits,
        "log_probs": log_softmax(logits),
    }
    if "labels" in case.inputs:
        values["mean_nll"] = smoothed_cross_entropy(
            logits, case.ids("labels"), smoothing=0.0, padding=model.padding
        )
    return values


def encoder_decoder_from(case: Case) -> EncoderDecoder:
    inputs, params = case.inputs, case.inputs["params"]
    vocabulary, d_model = len(params["embed"]), len(params["embed"][0])
    config = ModelConfig(
        layers=len(params["encoder"]),
        d_model=d_model,
        heads=inputs["heads"],
        d_ff=len(params["encoder"][0]["ffn"]["W_1"][0]),
        dropout=0.0,
        attention_bias=inputs["attention_bias"],
        norm_order=inputs["order"],
        final_norm=inputs["final_norm"],
        norm_eps=inputs["eps"],
        vocabulary=vocabulary,
        padding=vocabulary if inputs["pad"] is None else inputs["pad"],  # no such id: no padding
    )
    model = build_model(config).to(case.dtype)
    use_kernel(model, case.kernel)
    model.generator.table.data.copy_(case.real(params["embed"]))
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        for layer, given in zip(stack.layers, params[side], strict=True):
            fill_layer(layer, layer_weights(case, given), inputs["activation"])
        if isinstance(stack.final_norm, LayerNorm):
            fill_norm(stack.final_norm, case.reals(params[f"{side}_norm"]))
    return model


def fill_layer(layer: nn.Module, weights: Mapping[str, Weights], activation: str) -> None:
    assert isinstance(layer, EncoderLayer | DecoderLayer)
    residuals = [layer.attention_residual, layer.feed_forward_residual]
    fill_attention(layer.attention, weights["self_attn"])
    if isinstance(layer, DecoderLayer):
        fill_attention(layer.cross_attention, weights["cross_attn"])
        residuals.insert(1, layer.cross_attention_residual)
    feed_forward = layer.feed_forward
    assert isinstance(feed_forward, FeedForward)
    fill_feed_forward(feed_forward, weights["ffn"])
    feed_forward.activation = ACTIVATIONS[activation]
    for number, residual in enumerate(residuals, start=1):
        assert isinstance(residual.norm, LayerNorm)
        fill_norm(residual.norm, weights[f"norm_{number}"])


def layer_weights(case: Case, layer: Mapping[str, Any]) -> dict[str, dict[str, Tensor]]:
    return {name: case.reals(table) for name, table in layer.items()}


def record_outputs(layers: nn.ModuleList) -> list[Tensor]:
    """Give a list that grows by the output of each layer as it runs."""
    outputs: list[Tensor] = []

    def keep(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        outputs.append(output.detach())

    for layer in layers:
        layer.register_forward_hook(keep)
    return outputs


KINDS = {
    "decoder_layer": decoder_layer,
    "encoder_decoder": encoder_decoder,
    "encoder_layer": encoder_layer,
}
