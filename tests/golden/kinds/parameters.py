"""Parameters of named models, counted through their presets."""

from dragoman.configfile import read_record
from dragoman.inspection import count_parameters
from dragoman.models import PRESETS, Images, ModelConfig
from tests.golden.case import Case


def stack_params(case: Case) -> dict[str, int]:
    """BERT and GPT: one stack with biases, learned positions, and segments where there are any."""
    inputs = case.inputs
    encoder = inputs["segments"] > 0 or inputs["pooler"]
    choices = {
        "layers": inputs["layers"],
        "d_model": inputs["d"],
        "heads": 1,  # their number changes no count
        "d_ff": inputs["d_ff"],
        "positions": {"kind": "learned", "max_length": inputs["positions"]},
        "vocabulary": inputs["vocab"],
    }
    if encoder:  # what the case counts has no head for pieces, so no bias of theirs either
        choices |= {
            "segments": inputs["segments"],
            "head": "pooled" if inputs["pooler"] else "none",
        }
    return {"total": count_parameters(preset("bert" if encoder else "gpt2", choices)).total}


def t5_params(case: Case) -> dict[str, int]:
    inputs = case.inputs
    choices = {
        "layers": inputs["layers"],
        "d_model": inputs["d"],
        "heads": inputs["heads"],
        "d_k": inputs["d_kv"],
        "d_ff": inputs["d_ff"],
        "vocabulary": inputs["vocab"],
    }
    return {"total": count_parameters(preset("t5", choices)).total}


def vit_params(case: Case) -> dict[str, int]:
    inputs = case.inputs
    side, channels, patch = inputs["image"], inputs["channels"], inputs["patch"]
    images = Images(height=side, width=side, channels=channels, patch=patch)
    choices = {
        "layers": inputs["layers"],
        "d_model": inputs["d"],
        "heads": 1,  # their number changes no count
        "d_ff": inputs["d_ff"],
        "images": {"height": side, "width": side, "channels": channels, "patch": patch},
        "positions": {"kind": "learned", "max_length": images.patches + 1},
        "classes": [str(number) for number in range(inputs["classes"])],
    }
    return {
        "patches": images.patches,
        "total": count_parameters(preset("vit", choices)).total,
    }


def preset(name: str, choices: dict[str, object]) -> ModelConfig:
    return read_record(ModelConfig, {**PRESETS[name], **choices})


KINDS = {"stack_params": stack_params, "t5_params": t5_params, "vit_params": vit_params}
