"""Small text, and a small tokenizer and model with random weights."""

from pathlib import Path

import torch

from dragoman.bundle import Bundle, save_bundle
from dragoman.models import Learned, ModelConfig, Sinusoidal, build_model
from dragoman.nn import EncoderDecoder
from dragoman.tokenization import TokenizerConfig, learn_bpe
from dragoman.translator import Translator

GERMAN = [
    "der hund schläft .",
    "die katze trinkt milch .",
    "ein mann liest ein buch .",
    "wir gehen .",
]
ENGLISH = ["the dog sleeps .", "the cat drinks milk .", "a man reads a book .", "we go ."]


def build_encoder_decoder(
    config: ModelConfig, rng: torch.Generator | None = None
) -> EncoderDecoder:
    """Build the model of the paper, known as such."""
    model = build_model(config, rng)
    assert isinstance(model, EncoderDecoder)
    return model


def encoder_decoder(bundle: Bundle) -> EncoderDecoder:
    """Give the model of a bundle as what it is."""
    assert isinstance(bundle.model, EncoderDecoder)
    return bundle.model


def tiny_bundle(*, learned: int | None = None, layers: int = 1, seed: int = 1) -> Bundle:
    """Make a model with random weights; with ``learned`` positions if their number is given."""
    tokenizer = learn_bpe(GERMAN * 4 + ENGLISH * 4, TokenizerConfig(size=300))
    config = ModelConfig(
        layers=layers,
        d_model=16,
        heads=2,
        d_ff=32,
        vocabulary=tokenizer.size,
        positions=Sinusoidal() if learned is None else Learned(max_length=learned),
    )
    model = build_encoder_decoder(config, torch.Generator().manual_seed(seed))
    return Bundle(config, model.eval(), (tokenizer,))


def tiny_translator(*, learned: int | None = None, layers: int = 1, seed: int = 1) -> Translator:
    """Wrap ``tiny_bundle``."""
    return Translator(tiny_bundle(learned=learned, layers=layers, seed=seed))


def tiny_folder(path: Path, *, learned: int | None = None) -> Path:
    """Write ``tiny_bundle`` to a model folder."""
    save_bundle(path, tiny_bundle(learned=learned), "# card\n")
    return path


def write_corpus(folder: Path, repeat: int = 10) -> tuple[Path, Path]:
    """Write a corpus of 4 x ``repeat`` distinct pairs as two files."""
    source, target = folder / "train.de", folder / "train.en"
    numbered = [
        (f"{number} {g}", f"{number} {e}")
        for number in range(repeat)
        for g, e in zip(GERMAN, ENGLISH, strict=True)
    ]
    source.write_text("".join(f"{german}\n" for german, _ in numbered), encoding="utf-8")
    target.write_text("".join(f"{english}\n" for _, english in numbered), encoding="utf-8")
    return source, target
