"""Small models of one text or image, with random weights."""

from pathlib import Path
from typing import Literal

import torch

from dragoman.bundle import Bundle, save_bundle
from dragoman.classifier import Classifier
from dragoman.language_model import LanguageModel
from dragoman.models import Images, Learned, ModelConfig, Sinusoidal, build_model
from dragoman.nn import CausalLM
from dragoman.tokenization import TokenizerConfig, learn_tokenizer
from tests.fixtures import ENGLISH, GERMAN

Kind = Literal["bpe", "wordpiece", "character", "word"]
LABELS = ("animal", "other", "person")


def language_bundle(
    *, learned: int | None = None, tokenizer: Kind = "bpe", ends: float = 0.0, seed: int = 1
) -> Bundle:
    """Make a decoder alone; ``ends`` is added to the logit of the end symbol."""
    learnt = learn_tokenizer(ENGLISH * 4, TokenizerConfig(kind=tokenizer, size=300))
    config = ModelConfig(
        architecture="decoder-only",
        layers=2,
        d_model=16,
        heads=2,
        d_ff=32,
        output_bias=True,
        vocabulary=learnt.size,
        positions=Sinusoidal() if learned is None else Learned(max_length=learned),
    )
    model = build_model(config, torch.Generator().manual_seed(seed))
    assert isinstance(model, CausalLM)
    assert model.generator.bias is not None
    with torch.no_grad():
        model.generator.bias[learnt.special.end] += ends
    return Bundle(config, model.eval(), (learnt,))


def language_model(
    *, learned: int | None = None, tokenizer: Kind = "bpe", ends: float = 0.0
) -> LanguageModel:
    """Wrap ``language_bundle``."""
    return LanguageModel(language_bundle(learned=learned, tokenizer=tokenizer, ends=ends))


def encoder_bundle(
    head: Literal["pieces", "class", "tags", "none"],
    *,
    learned: int | None = None,
    tokenizer: Kind = "bpe",
) -> Bundle:
    """Make an encoder alone, of text."""
    learnt = learn_tokenizer(GERMAN * 4 + ENGLISH * 4, TokenizerConfig(kind=tokenizer, size=300))
    config = ModelConfig(
        architecture="encoder-only",
        head=head,
        layers=2,
        d_model=16,
        heads=2,
        d_ff=32,
        vocabulary=learnt.size,
        classes=LABELS if head in ("class", "tags") else None,
        positions=Sinusoidal() if learned is None else Learned(max_length=learned),
    )
    model = build_model(config, torch.Generator().manual_seed(1))
    return Bundle(config, model.eval(), (learnt,))


def image_bundle(*, channels: int = 1) -> Bundle:
    """Make an encoder of images of 4 x 6 pixels."""
    config = ModelConfig(
        architecture="encoder-only",
        head="class",
        layers=1,
        d_model=16,
        heads=2,
        d_ff=32,
        images=Images(height=4, width=6, channels=channels, patch=2),
        classes=LABELS,
    )
    return Bundle(config, build_model(config, torch.Generator().manual_seed(1)).eval(), ())


def classifier(
    head: Literal["pieces", "class", "tags", "none"] = "class",
    *,
    learned: int | None = None,
    tokenizer: Kind = "bpe",
) -> Classifier:
    """Wrap ``encoder_bundle``."""
    return Classifier(encoder_bundle(head, learned=learned, tokenizer=tokenizer))


def folder_of(path: Path, bundle: Bundle) -> Path:
    """Write a model folder."""
    save_bundle(path, bundle, "# card\n")
    return path
