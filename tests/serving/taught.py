"""A small model that learned the four sentences of the fixtures."""

from collections.abc import Callable

import torch
from torch.nn import functional

from dragoman.data import pad_rows
from dragoman.tokenization import Tokenizer
from dragoman.translator import Translator
from tests.fixtures import ENGLISH, GERMAN, encoder_decoder, tiny_bundle


def by_letter(tokenizer: Tokenizer, text: str) -> list[int]:
    """Cut a text at every letter, as its tokenizer does not."""
    ids = dict(zip(tokenizer.pieces(range(tokenizer.size)), range(tokenizer.size), strict=True))
    return [ids.get(letter, ids[f"<0x{ord(letter):02X}>"]) for letter in f" {text}"]


def taught(seed: int, cut: Callable[[Tokenizer, str], list[int]] = Tokenizer.encode) -> Translator:
    """Teach a tiny model the four sentences of the fixtures by heart, ``cut`` so."""
    bundle = tiny_bundle(layers=2, seed=seed)
    model, tokenizer = encoder_decoder(bundle), bundle.target_tokenizer
    start, end, padding = tokenizer.special.start, tokenizer.special.end, bundle.config.padding
    sources = pad_rows([[*tokenizer.encode(text), end] for text in GERMAN], padding)
    targets = pad_rows([[start, *cut(tokenizer, text), end] for text in ENGLISH], padding)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(80):
        logits = model(sources, targets[:, :-1]).flatten(0, 1)
        wanted = targets[:, 1:].flatten()
        optimizer.zero_grad()
        functional.cross_entropy(logits, wanted, ignore_index=padding).backward()
        optimizer.step()
    return Translator(bundle)
