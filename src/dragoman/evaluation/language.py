"""How surprised models of one side are: by running text, by gaps, by classes."""

import math
from collections.abc import Iterable

import torch

from dragoman.data import ClassBatch, ImageBatch, MaskedBatch, StreamBatch
from dragoman.evaluation.metrics import Score
from dragoman.evaluation.scoring import target_log_probs
from dragoman.evaluation.validation import Validation
from dragoman.nn import CausalLM, EncoderOnly


@torch.inference_mode()
def validate_language(
    model: CausalLM, batches: Iterable[StreamBatch], *, characters: int
) -> Validation:
    """Score running text, window by window.

    Args:
        model: is run in evaluation mode.
        batches: windows that say every piece once.
        characters: of the text, for bits per character; end symbols cost bits and count as none.
    """
    model.eval()
    device = model.generator.table.device
    nats, pieces = 0.0, 0
    for batch in batches:
        targets = batch.targets.to(device)
        found = target_log_probs(model(batch.inputs.to(device)), targets)
        nats -= float(found[targets != model.padding].double().sum())
        pieces += batch.target_tokens
    bits = nats / math.log(2) / max(characters, 1)
    return Validation(nats / max(pieces, 1), (Score("bits", bits, "per:character|dragoman"),))


@torch.inference_mode()
def validate_masked(model: EncoderOnly, batches: Iterable[MaskedBatch]) -> Validation:
    """Score the pieces that fill gaps: loss, and how many of the best guesses are right."""
    model.eval()
    device = next(model.parameters()).device
    nats, right, pieces = 0.0, 0, 0
    for batch in batches:
        targets, logits = batch.targets.to(device), model(batch.inputs.to(device))
        asked = targets != model.padding
        nats -= float(target_log_probs(logits, targets)[asked].double().sum())
        right += int((logits.argmax(-1) == targets)[asked].sum())
        pieces += batch.target_tokens
    return _with_accuracy(nats, right, pieces, "of:masked pieces")


@torch.inference_mode()
def validate_classes(
    model: EncoderOnly, batches: Iterable[ClassBatch | ImageBatch], *, what: str
) -> Validation:
    """Score classes of sequences, positions or images: loss and accuracy.

    Args:
        model: is run in evaluation mode.
        batches: examples with their classes; -1 is none.
        what: has a class, for the signature.
    """
    model.eval()
    device = next(model.parameters()).device
    nats, right, count = 0.0, 0, 0
    for batch in batches:
        classes, logits = batch.classes.to(device), model(batch.inputs.to(device))
        asked = classes >= 0
        found = target_log_probs(logits, classes.clamp(min=0))
        nats -= float(found[asked].double().sum())
        right += int((logits.argmax(-1) == classes)[asked].sum())
        count += batch.target_tokens
    return _with_accuracy(nats, right, count, f"of:{what}")


def _with_accuracy(nats: float, right: int, count: int, signature: str) -> Validation:
    accuracy = Score("accuracy", 100 * right / max(count, 1), f"{signature}|dragoman")
    return Validation(nats / max(count, 1), (accuracy,))
