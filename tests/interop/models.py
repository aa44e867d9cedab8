"""Small models whose every weight matters, and what our own search makes of them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from dragoman.bundle import Bundle
from dragoman.data import pad_rows
from dragoman.decoding import BeamSearch, Hypothesis, ModelSession, Symbols, search
from dragoman.models import ModelConfig, build_model, read_config
from dragoman.nn import EncoderDecoder
from dragoman.tokenization import SpecialIds, Tokenizer, TokenizerConfig, learn_bpe
from tests.fixtures import ENGLISH, GERMAN

SIZES = {"layers": 2, "d_model": 32, "heads": 4, "d_ff": 48, "dropout": 0.0}
SPECIAL = SpecialIds()


@cache
def tokenizers() -> tuple[Tokenizer, Tokenizer]:
    """Make vocabularies of different size."""
    texts = GERMAN * 4 + ENGLISH * 4
    smaller, larger = (learn_bpe(texts, TokenizerConfig(size=size)) for size in (290, 300))
    return smaller, larger


def random_bundle(choices: dict[str, Any], *, seed: int = 3, joint: bool = True) -> Bundle:
    """Draw every weight large: first values hide mistakes, since biases are zero."""
    source, target = tokenizers()
    table = {**SIZES, "vocabulary": source.size, **choices}
    if not joint:
        table["target_vocabulary"] = target.size
    config = read_config(table)
    model = build_model(config).eval()
    rng = torch.Generator().manual_seed(seed)
    for name, weight in model.named_parameters():
        weight.data.normal_(1.0 if name.endswith("gain") else 0.0, 0.25, generator=rng)
    if isinstance(model, EncoderDecoder):
        _let_end(model)
    return Bundle(config, model, (source,) if joint else (source, target))


@torch.no_grad()
def _let_end(model: EncoderDecoder) -> None:
    """Make the end symbol likely now and then, so that translations differ in length."""
    source = pad_rows([[*each, SPECIAL.end] for each in sources()], SPECIAL.padding)
    target = pad_rows([[SPECIAL.start, *each] for each in sources(seed=7)], SPECIAL.padding)
    hidden = model.decode(target, model.encode(source))[target != SPECIAL.padding]
    logits = model.generator(hidden)
    mean = model.generator.project(hidden).mean(0)
    model.generator.table[SPECIAL.end] = mean / mean.square().sum() * logits.amax(1).mean() * 0.8


def sources(count: int = 12, *, seed: int = 5, pieces: int = 290) -> list[list[int]]:
    """Draw sources of 1 to 12 pieces."""
    rng = torch.Generator().manual_seed(seed)
    lengths = [1 + (7 * number) % 12 for number in range(count)]
    return [torch.randint(4, pieces, (n,), generator=rng).tolist() for n in lengths]


def our_search(
    bundle: Bundle, source: Sequence[int], config: BeamSearch, limit: int
) -> list[Hypothesis]:
    """Search with nothing banned, as other libraries do unless told."""
    assert isinstance(bundle.model, EncoderDecoder)
    assert isinstance(bundle.config, ModelConfig)
    ids = pad_rows([[*source, SPECIAL.end]], SPECIAL.padding)
    symbols = Symbols(SPECIAL.start, SPECIAL.end)
    with torch.inference_mode():
        session = ModelSession.start(bundle.model, ids)
    return search(session, config, symbols, [limit])[0]
