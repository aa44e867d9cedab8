"""Our models against those of ``transformers`` with the same weights, drawn here by a seed."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman.configfile import read_record
from dragoman.interop.huggingface.bert import bert_rows
from dragoman.interop.huggingface.gpt2 import gpt2_rows
from dragoman.interop.huggingface.llama import llama_rows
from dragoman.interop.huggingface.marian import marian_rows
from dragoman.interop.huggingface.names import Row
from dragoman.interop.huggingface.t5_names import t5_1_1_rows, t5_rows
from dragoman.models import PRESETS, ModelConfig, build_model
from dragoman.nn import CausalLM, EncoderDecoder, EncoderOnly, T5Bias
from tests.parity.names import copy_weights, vit_rows

transformers = pytest.importorskip("transformers", reason="needs transformers: the extra hf")

LAYERS, WIDTH, HEADS, INNER, PIECES = 2, 32, 4, 48, 50
LONG = 40  # positions, so that T5's far offsets share buckets
SIZES = {"layers": LAYERS, "d_model": WIDTH, "heads": HEADS, "d_ff": INNER, "dropout": 0.0}


def assert_same(got: Tensor, expected: Tensor, limit: float = 1e-5) -> None:
    torch.testing.assert_close(got, expected, atol=limit, rtol=limit)


def spread(theirs: nn.Module) -> nn.Module:
    """Draw every weight anew and large: first values hide mistakes, since biases are zero."""
    rng = torch.Generator().manual_seed(3)
    for name, weight in [*theirs.named_parameters(), *theirs.named_buffers()]:
        if weight.is_floating_point() and "embed_positions" not in name and "inv_freq" not in name:
            shift = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
            weight.data.normal_(shift, 0.25, generator=rng)
    return theirs.eval()


def state(theirs: nn.Module) -> dict[str, Tensor]:
    """Give what they learned, each tied table under one name, and Marian's bias, a buffer."""
    buffers = {name: x for name, x in theirs.named_buffers() if name == "final_logits_bias"}
    return dict(theirs.named_parameters()) | buffers


def ours_like(
    theirs: nn.Module,
    rows: Callable[[ModelConfig], list[Row]],
    choices: dict[str, Any],
    unused: str = "",
) -> Any:
    config = read_record(ModelConfig, {**SIZES, "vocabulary": PIECES, **choices})
    model = build_model(config).eval()
    copy_weights(model, state(theirs), rows(config), unused=unused)
    return model


def ids(rows: int, length: int, seed: int, *, padding: int = 0, shortest: int = 1) -> Tensor:
    """Draw pieces, none of them padding, in rows of different lengths, padded on the right."""
    rng = torch.Generator().manual_seed(seed)
    drawn = torch.randint(1, PIECES - 1, (rows, length), generator=rng)
    for row in range(1, rows):  # the first is full
        drawn[row, max(shortest, length * (rows - row) // rows) :] = padding
    return drawn


def real(x: Tensor, padding: int = 0) -> Tensor:
    return x != padding


def by_steps(model: EncoderDecoder, source: Tensor, target: Tensor) -> Tensor:
    """Decode with a cache: one piece, then two at once, and so on by turns."""
    cache, start, parts = model.start(model.encode(source)), 0, list[Tensor]()
    while start < target.size(1):
        logits, cache = model.step(target[:, start : start + 1 + len(parts) % 2], cache)
        parts.append(logits)
        start += logits.size(1)
    return torch.cat(parts, 1)


def by_steps_alone(model: CausalLM, x: Tensor) -> Tensor:
    cache, start, parts = model.start(x.size(0)), 0, list[Tensor]()
    while start < x.size(1):
        logits, cache = model.step(x[:, start : start + 1 + len(parts) % 2], cache)
        parts.append(logits)
        start += logits.size(1)
    return torch.cat(parts, 1)


# Encoder-decoder


def marian() -> tuple[nn.Module, EncoderDecoder]:
    config = transformers.MarianConfig(
        vocab_size=PIECES,
        decoder_vocab_size=PIECES,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
        activation_function="swish",
        max_position_embeddings=64,
        scale_embedding=True,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
        decoder_start_token_id=0,
        forced_eos_token_id=1,
    )
    theirs = spread(transformers.MarianMTModel(config))
    choices = {
        "activation": "silu",
        "attention_bias": True,
        "norm_eps": 1e-5,
        "positions": {"kind": "sinusoidal", "layout": "halves"},
        "output_bias": True,
        "starts_with_padding": True,
    }
    return theirs, ours_like(theirs, marian_rows, choices)


def t5(*, gated: bool) -> tuple[nn.Module, EncoderDecoder]:
    config = transformers.T5Config(
        vocab_size=PIECES,
        d_model=WIDTH,
        d_kv=6,
        d_ff=INNER,
        num_layers=LAYERS,
        num_heads=HEADS,
        feed_forward_proj="gated-gelu" if gated else "relu",
        tie_word_embeddings=not gated,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    theirs = transformers.T5ForConditionalGeneration(config)
    if gated:  # the package ties all it makes; a checkpoint of 1.1 brings a table of its own
        theirs.lm_head.weight = nn.Parameter(torch.empty(PIECES, WIDTH))
    spread(theirs)
    choices = PRESETS["t5"] | SIZES | {"d_k": 6, "starts_with_padding": True}
    if gated:
        choices |= {
            "feedforward": "gated",
            "activation": "gelu_tanh",
            "tied": "input",
            "embedding_scale": False,
        }
    return theirs, ours_like(theirs, t5_1_1_rows if gated else t5_rows, choices)


TRANSLATORS = {
    "marian": marian,
    "t5 1.0": lambda: t5(gated=False),
    "t5 1.1": lambda: t5(gated=True),
}


# Their norm of T5 rounds to float32 in every precision: with 1.1, whose output is not divided by
# √D, the difference is 2e-5 in float64 too, and 2e-14 once that norm is computed in float64.
LIMITS = {"t5 1.1": 1e-4}


@pytest.mark.parametrize("name", TRANSLATORS)
@torch.no_grad()
def test_translators_agree_on_padded_batches(name: str) -> None:
    theirs, ours = TRANSLATORS[name]()
    source, target = ids(3, LONG, 1), ids(3, LONG - 7, 2)
    expected = theirs(
        input_ids=source, attention_mask=real(source).long(), decoder_input_ids=target
    ).logits
    limit = LIMITS.get(name, 1e-5)
    assert_same(ours(source, target)[real(target)], expected[real(target)], limit)


@pytest.mark.parametrize("name", TRANSLATORS)
@torch.no_grad()
def test_translators_agree_at_once_and_piece_by_piece_after_a_start_that_is_padding(
    name: str,
) -> None:
    theirs, ours = TRANSLATORS[name]()
    source, target = ids(3, 9, 1), ids(3, LONG - 7, 2, shortest=LONG)
    target[:, 0] = 0  # both families start a target with the padding piece
    expected = theirs(
        input_ids=source, attention_mask=real(source).long(), decoder_input_ids=target
    ).logits
    assert_same(by_steps(ours, source, target), expected, LIMITS.get(name, 1e-5))
    assert_same(ours(source, target), expected, LIMITS.get(name, 1e-5))


@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_puts_every_offset_into_the_same_bucket(bidirectional: bool) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    theirs = T5Attention(transformers.T5Config(d_model=8, num_heads=2, d_kv=4), True)
    theirs.is_decoder = not bidirectional
    ours = T5Bias(2, bidirectional=bidirectional)
    ours.table.data.copy_(theirs.relative_attention_bias.weight)
    torch.testing.assert_close(ours.bias(600, 600), theirs.compute_bias(600, 600))


# Decoder-only


def gpt2() -> tuple[nn.Module, CausalLM]:
    config = transformers.GPT2Config(
        vocab_size=PIECES,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        n_inner=INNER,
        n_positions=64,
        bos_token_id=1,
        eos_token_id=1,
    )
    theirs = spread(transformers.GPT2LMHeadModel(config))
    choices = PRESETS["gpt2"] | SIZES | {"attention_dropout": 0.0}
    choices["positions"] = {"kind": "learned", "max_length": 64}
    return theirs, ours_like(theirs, gpt2_rows, choices)


def llama() -> tuple[nn.Module, CausalLM]:
    config = transformers.LlamaConfig(
        vocab_size=PIECES,
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=2,
        rms_norm_eps=1e-6,
        tie_word_embeddings=False,
    )
    theirs = spread(transformers.LlamaForCausalLM(config))
    choices = {**PRESETS["llama"], **SIZES, "kv_heads": 2}
    del choices["multiple_of"]  # the inner width is given as it is
    return theirs, ours_like(theirs, llama_rows, choices)


LANGUAGE_MODELS = {"gpt2": gpt2, "llama": llama}


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
@torch.no_grad()
def test_language_models_agree_on_padded_batches(name: str) -> None:
    theirs, ours = LANGUAGE_MODELS[name]()
    x = ids(3, LONG, 1)
    expected = theirs(input_ids=x, attention_mask=real(x).long()).logits
    assert_same(ours(x)[real(x)], expected[real(x)])


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
@torch.no_grad()
def test_language_models_agree_when_they_write_piece_by_piece(name: str) -> None:
    theirs, ours = LANGUAGE_MODELS[name]()
    x = ids(2, LONG, 1, shortest=LONG)
    assert_same(by_steps_alone(ours, x), theirs(input_ids=x).logits)


# Encoder-only


def bert(kind: str, choices: dict[str, Any]) -> tuple[nn.Module, EncoderOnly]:
    config = transformers.BertConfig(
        vocab_size=PIECES,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        max_position_embeddings=64,
        num_labels=3,
    )
    theirs = spread(getattr(transformers, kind)(config))
    choices = PRESETS["bert"] | SIZES | {"attention_dropout": 0.0} | choices
    choices["positions"] = {"kind": "learned", "max_length": 64}
    return theirs, ours_like(theirs, bert_rows, choices)


def segments_of(x: Tensor) -> Tensor:
    return (torch.arange(x.size(1)) >= x.size(1) // 3).long().expand(x.shape)


def asked(x: Tensor) -> dict[str, Tensor]:
    return {
        "input_ids": x,
        "attention_mask": real(x).long(),
        "token_type_ids": segments_of(x),
    }


@torch.no_grad()
def test_bert_fills_in_the_same_pieces() -> None:
    theirs, ours = bert("BertForMaskedLM", {})
    x = ids(3, LONG, 1)
    got, expected = ours(x, segments_of(x)), theirs(**asked(x)).logits
    assert_same(got[real(x)], expected[real(x)])


@torch.no_grad()
def test_bert_gives_the_same_vectors_and_one_for_a_whole_sequence() -> None:
    theirs, ours = bert("BertModel", {"head": "pooled"})
    x = ids(3, LONG, 1)
    expected = theirs(**asked(x))
    hidden = ours.hidden(x, segments_of(x))
    assert_same(hidden[real(x)], expected.last_hidden_state[real(x)])
    assert_same(ours(x, segments_of(x)), expected.pooler_output)


@torch.no_grad()
def test_bert_chooses_the_same_classes_with_or_without_segments() -> None:
    choices = {"head": "class", "classes": ["a", "b", "c"]}
    theirs, ours = bert("BertForSequenceClassification", choices)
    x = ids(3, LONG, 1)
    assert_same(ours(x, segments_of(x)), theirs(**asked(x)).logits)
    expected = theirs(input_ids=x, attention_mask=real(x).long()).logits
    assert_same(ours(x), expected)


@torch.no_grad()
def test_vit_chooses_the_same_classes() -> None:
    config = transformers.ViTConfig(
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        image_size=(8, 12),
        patch_size=4,
        num_channels=3,
        num_labels=3,
        layer_norm_eps=1e-6,
    )
    theirs = spread(transformers.ViTForImageClassification(config))
    choices = PRESETS["vit"] | SIZES
    choices |= {
        "images": {"height": 8, "width": 12, "channels": 3, "patch": 4},
        "positions": {"kind": "learned", "max_length": 7},
        "classes": ["a", "b", "c"],
    }
    del choices["attention_dropout"]
    ours = ours_like(theirs, lambda config: vit_rows(config.layers), choices)
    images = torch.randn(2, 8, 12, 3, generator=torch.Generator().manual_seed(1))
    expected = theirs(pixel_values=images.permute(0, 3, 1, 2)).logits
    assert_same(ours(images), expected)
