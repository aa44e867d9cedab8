"""A model that saw capitals in training translates them (field report "All caps untranslated")."""

import numpy as np
import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.data import CaseAugmentation, IdStore, Redraw, pair_batches
from dragoman.models import ModelConfig
from dragoman.tokenization import TokenizerConfig, learn_tokenizer
from dragoman.training import translation_loss
from dragoman.translator import Translator
from tests.fixtures import build_encoder_decoder

WORDS = {"hund": "dog", "mann": "man", "baum": "tree", "fisch": "fish", "stein": "stone"}
PAIRS = [
    (f"{number} {first} {verb} {second}", f"{count} {WORDS[first]} {does} {WORDS[second]}")
    for number, count in (("ein", "a"), ("kein", "no"))
    for verb, does in (("sieht", "sees"), ("hat", "has"))
    for first in WORDS
    for second in WORDS
]


def trained(case: CaseAugmentation) -> Translator:
    """Train a small model on all pairs, some of them in capitals."""
    lines = [line for pair in PAIRS for line in pair]
    # The vocabulary knows the capitals as characters only, as that of ordinary text does.
    config = TokenizerConfig(size=340, byte_fallback=True)
    tokenizer = learn_tokenizer([*lines, *map(str.upper, lines[:20])], config)
    sizes = ModelConfig(layers=1, d_model=64, heads=4, d_ff=128, vocabulary=tokenizer.size)
    model = build_encoder_decoder(sizes, torch.Generator().manual_seed(1))
    sources, targets = (
        IdStore.from_sequences(tokenizer.encode_many(side)) for side in zip(*PAIRS, strict=True)
    )
    redraw = Redraw((tokenizer,), sampling=None, case=case)
    batches = pair_batches(
        sources, targets, budget=1_000, special=tokenizer.special, seed=1, redraw=redraw
    )
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    torch.manual_seed(1)
    for _ in range(700):
        batch = batches.next_batch()
        optimizer.zero_grad()
        (translation_loss(model, batch, smoothing=0.0) / batch.target_tokens).backward()
        optimizer.step()
    return Translator(Bundle(sizes, model.eval(), (tokenizer,)))


@pytest.mark.slow
def test_a_model_that_saw_capitals_translates_them() -> None:
    chosen = [PAIRS[int(place)] for place in np.linspace(0, len(PAIRS) - 1, 20)]
    sources, targets = [pair[0] for pair in chosen], [pair[1] for pair in chosen]
    translator = trained(CaseAugmentation(upper=0.5))
    plain = [found.text for found in translator.translate(sources)]
    capitals = [found.text for found in translator.translate([*map(str.upper, sources)])]
    assert np.mean([text == target for text, target in zip(plain, targets, strict=True)]) >= 0.9
    targets = [target.upper() for target in targets]
    assert np.mean([text == target for text, target in zip(capitals, targets, strict=True)]) >= 0.8
