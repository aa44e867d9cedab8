"""Combinations that cannot work: told at their place, with a remedy that works."""

from typing import Any

import pytest

from dragoman.errors import ConfigError
from dragoman.models import read_config

ONE = {"d_model": 32, "heads": 4, "d_ff": 64, "layers": 1}

CASES: list[tuple[dict[str, Any], str, dict[str, Any]]] = [  # Any: as TOML would hold it
    ({"heads": 6}, "heads: 6 does not divide d_model 32; try 4 or 8", {"heads": 8}),
    ({"kv_heads": 3}, "kv_heads: 3 does not divide heads 4; try 2 or 4", {"kv_heads": 2}),
    (
        {"multiple_of": 8},
        'multiple_of: is for gated networks; set feedforward = "gated" or d_ff itself',
        {"feedforward": "gated"},
    ),
    (
        {"d_model": 33, "heads": 3},
        "d_model: 33 is odd, and sinusoids come in pairs; try 30 or 36",
        {"d_model": 36},
    ),
    (
        {"positions": {"kind": "rotary"}, "d_k": 5},
        "positions: rotary positions turn pairs, and a head is 5 wide; set d_k = 6",
        {"d_k": 6},
    ),
    (
        {"positions": {"kind": "alibi"}, "attention": {"kind": "linear"}},
        "positions: alibi changes scores, and linear attention has none; try sinusoidal or learned",
        {"positions": {"kind": "learned"}},
    ),
    (
        {"decoder_positions": {"kind": "shaw"}, "attention": {"kind": "additive"}},
        "decoder_positions: shaw needs dot products, and additive attention has none; try t5 or "
        "alibi",
        {"decoder_positions": {"kind": "t5"}},
    ),
    (
        {"attention": {"kind": "linear"}, "attention_dropout": 0.1},
        "attention_dropout: linear attention has no weights to drop; set it to 0",
        {"attention_dropout": 0.0},
    ),
    (
        {"attention": {"kind": "local", "keys": 8}},
        "attention.keys: 8 is even, and the keys are centred on the query; try 7 or 9",
        {"attention": {"kind": "local", "keys": 9}},
    ),
    (
        {"positions": {"kind": "t5", "buckets": 64, "max_distance": 32}},
        "positions.max_distance: 32 is less than the 64 buckets; try 256",
        {"positions": {"kind": "t5", "buckets": 64, "max_distance": 256}},
    ),
    (
        {"tied": "all", "vocabulary": 9, "target_vocabulary": 9},
        "tied: all needs one vocabulary for both sides; set tokenizer.joint = true, or try output",
        {"tied": "output"},
    ),
    (
        {"architecture": "decoder-only", "decoder_layers": 2},
        "decoder_layers: decoder-only has one stack; say it by layers",
        {"decoder_layers": None},
    ),
    (
        {"architecture": "decoder-only", "decoder_positions": {"kind": "none"}},
        "decoder_positions: decoder-only has one stack; say it by positions",
        {"decoder_positions": None},
    ),
    (
        {"architecture": "decoder-only", "tied": "input"},
        "tied: decoder-only has one input; try all or none",
        {"tied": "none"},
    ),
    (
        {"architecture": "encoder-only", "target_vocabulary": 9},
        "target_vocabulary: encoder-only has one vocabulary; leave it out",
        {"target_vocabulary": None},
    ),
    (
        {"initialization": "deepnorm", "norm_order": "pre"},
        'initialization: deepnorm is for norms after the sum; set norm_order = "post", or try '
        "depth-scaled",
        {"initialization": "depth-scaled"},
    ),
    (
        {"head": "class"},
        'head: is for encoder-only; set architecture = "encoder-only"',
        {"architecture": "encoder-only"},
    ),
    (
        {
            "architecture": "encoder-only",
            "head": "tags",
            "images": {"height": 8, "width": 8, "patch": 2},
        },
        'head: tags is for text, and images is set; set head = "class"',
        {"head": "class"},
    ),
    (
        {
            "architecture": "encoder-only",
            "head": "class",
            "images": {"height": 8, "width": 8, "patch": 3},
        },
        "images.patch: 3 does not divide 8 x 8 pixels; choose a divisor of both",
        {"images": {"height": 8, "width": 8, "patch": 4}},
    ),
    (
        {
            "architecture": "encoder-only",
            "head": "class",
            "images": {"height": 8, "width": 8, "patch": 2},
            "positions": {"kind": "learned", "max_length": 16},
        },
        "positions.max_length: 16 positions are less than the 17 of an image's patches and class; "
        "set it to 17",
        {"positions": {"kind": "learned", "max_length": 17}},
    ),
    (
        {"architecture": "encoder-only", "segments": 2}
        | {"head": "class", "images": {"height": 8, "width": 8, "patch": 2}},
        "segments: are for text, and images is set; leave one out",
        {"segments": 0},
    ),
    (
        {"embedding_width": 16, "embedding_projection": "last"},
        "embedding_projection: last is for encoder-only models of text; leave it out",
        {"embedding_projection": "first"},
    ),
    (
        {"architecture": "encoder-only", "embedding_projection": "last"},
        "embedding_projection: last projects tables of a width of their own; set embedding_width",
        {"embedding_width": 16},
    ),
    (
        {"architecture": "encoder-only", "embedding_projection": "last", "embedding_width": 15},
        "embedding_width: 15 is odd, and sinusoids come in pairs; try 16",
        {"embedding_width": 16},
    ),
]


@pytest.mark.parametrize(("table", "message", "remedy"), CASES)
def test_what_cannot_work_is_told_at_its_place_and_the_hint_works(
    table: dict[str, Any], message: str, remedy: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config({**ONE, **table}, file="r.toml")
    assert f"r.toml: {message}" in str(caught.value).splitlines()
    mended = {**ONE, **table, **remedy}
    read_config({key: value for key, value in mended.items() if value is not None})


def test_every_impossible_choice_is_reported_at_once() -> None:
    table = {"heads": 6, "kv_heads": 4, "multiple_of": 8, "head": "tags", "initialization": "zero"}
    with pytest.raises(ConfigError) as caught:
        read_config({**ONE, **table})
    places = {line.partition(":")[0] for line in str(caught.value).splitlines()}
    assert places == {"heads", "kv_heads", "multiple_of", "head", "initialization"}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"architecture": "decoder_only"}, "architecture: 'decoder_only' is not a choice; did you"),
        ({"positions": {"kind": "rotray"}}, "positions.kind: 'rotray' is not a choice; did you"),
        ({"attention": {"kind": "flash"}}, "attention.kind: 'flash' is not a choice; choose from"),
        ({"architecture": "recurrent", "heads": 4}, "heads: unknown key; choose from"),
        ({"architecture": "convolutional", "kernel": 4}, "kernel: 4 is even"),
    ],
)
def test_a_wrong_word_is_told_with_what_was_meant(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(table)
    assert str(caught.value).startswith(message)
