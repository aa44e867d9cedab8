"""Whole layers and whole models: encoder-decoder, decoder-only, encoder-only."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from dragoman.models import Learned, ModelConfig, build_model
from dragoman.nn import (
    CausalLM,
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderDecoder,
    EncoderLayer,
    EncoderOnly,
    FeedForward,
    InputLayer,
    LayerNorm,
    LearnedPositions,
    MultiHeadAttention,
    causal_mask,
)
from dragoman.training.loss import smoothed_cross_entropy
from tests.golden.case import Case
from tests.golden.kinds.layers import log_softmax
from tests.golden.kinds.weights import (
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
        decoder_layers=len(params["decoder"]),
        d_model=d_model,
        heads=inputs["heads"],
        **widths(inputs["heads"], params["encoder"][0]),
        activation=inputs["activation"],
        dropout=0.0,
        attention_bias=inputs["attention_bias"],
        norm_order=inputs["order"],
        final_norm=inputs["final_norm"],
        norm_eps=inputs["eps"],
        vocabulary=vocabulary,
        padding=vocabulary if inputs["pad"] is None else inputs["pad"],  # no such id: no padding
    )
    model = build_model(config).to(case.dtype)
    assert isinstance(model, EncoderDecoder)
    use_kernel(model, case.kernel)
    model.generator.table.data.copy_(case.real(params["embed"]))
    fill_stack(model.encoder, case, params["encoder"], params.get("encoder_norm"))
    fill_stack(model.decoder, case, params["decoder"], params.get("decoder_norm"))
    return model


def decoder_only(case: Case) -> dict[str, Tensor]:
    config = stack_config(
        case, architecture="decoder-only", norm_order="pre", activation="gelu_tanh"
    )
    model = build_model(config).to(case.dtype).eval()
    assert isinstance(model, CausalLM)
    use_kernel(model, case.kernel)
    model.generator.table.data.copy_(case.tensor("embed"))
    assert isinstance(model.input.positions, LearnedPositions)
    model.input.positions.table.data.copy_(case.tensor("positions"))
    fill_stack(model.decoder, case, case.inputs["layers"], case.inputs["final_norm"])
    tokens = case.ids("tokens")[None]
    return {"hidden": model.hidden(tokens)[0], "logits": model(tokens)[0]}


def encoder_only(case: Case) -> dict[str, Tensor]:
    config = stack_config(
        case, architecture="encoder-only", activation="gelu", embedding_norm=True, head="none"
    )
    model = build_model(config).to(case.dtype).eval()
    assert isinstance(model, EncoderOnly)
    use_kernel(model, case.kernel)
    assert isinstance(model.input, InputLayer)
    model.input.embedding.table.data.copy_(case.tensor("embed"))
    assert isinstance(model.input.positions, LearnedPositions)
    model.input.positions.table.data.copy_(case.tensor("positions"))
    assert isinstance(model.input.norm, LayerNorm)
    fill_norm(model.input.norm, case.reals(case.inputs["embedding_norm"]))
    fill_stack(model.encoder, case, case.inputs["layers"], None)
    return {"hidden": model(case.ids("tokens")[None])[0]}


def stack_config(case: Case, **choices: Any) -> ModelConfig:  # Any: the fields of the record
    """Read the sizes of a model of one stack; nothing is padding, no piece has its id."""
    inputs = case.inputs
    vocabulary, d_model = len(inputs["embed"]), len(inputs["embed"][0])
    return ModelConfig(
        layers=len(inputs["layers"]),
        d_model=d_model,
        heads=inputs["heads"],
        **widths(inputs["heads"], inputs["layers"][0]),
        attention_bias=any(name.startswith("b_") for name in inputs["layers"][0]["self_attn"]),
        dropout=0.0,
        norm_eps=inputs["eps"],
        positions=Learned(max_length=len(inputs["positions"])),
        embedding_scale=False,
        vocabulary=vocabulary,
        padding=vocabulary,
        **choices,
    )


def widths(heads: int, layer: Mapping[str, Any]) -> dict[str, Any]:
    """Read from the weights of a layer what no field of the case says."""
    attention = layer["self_attn"]
    return {
        "d_k": len(attention["W_k"][0]) // heads,
        "d_v": len(attention["W_v"][0]) // heads,
        "d_ff": len(layer["ffn"]["W_1"][0]),
    }


def fill_stack(
    stack: Encoder | Decoder, case: Case, layers: list[Any], final_norm: Mapping[str, Any] | None
) -> None:
    for layer, given in zip(stack.layers, layers, strict=True):
        fill_layer(layer, layer_weights(case, given))
    if stack.final_norm is not None:
        assert isinstance(stack.final_norm, LayerNorm)
        assert final_norm is not None
        fill_norm(stack.final_norm, case.reals(final_norm))


def fill_layer(layer: nn.Module, weights: Mapping[str, Weights]) -> None:
    assert isinstance(layer, EncoderLayer | DecoderLayer)
    residuals = [layer.attention_residual, layer.feed_forward_residual]
    assert isinstance(layer.attention, MultiHeadAttention)
    fill_attention(layer.attention, weights["self_attn"])
    if isinstance(layer, DecoderLayer) and layer.cross_attention is not None:
        assert isinstance(layer.cross_attention, MultiHeadAttention)
        assert layer.cross_attention_residual is not None
        fill_attention(layer.cross_attention, weights["cross_attn"])
        residuals.insert(1, layer.cross_attention_residual)
    assert isinstance(layer.feed_forward, FeedForward)
    fill_feed_forward(layer.feed_forward, weights["ffn"])
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
    "decoder_only": decoder_only,
    "encoder_decoder": encoder_decoder,
    "encoder_layer": encoder_layer,
    "encoder_only": encoder_only,
}
