"""Small checkpoints as the trainers lay them out, with weights drawn by name."""

import argparse
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tests.interop.checkpoints.drawn import drawn_state
from tests.interop.checkpoints.make_real import joeynmt_settings, pieces

Json = dict[str, Any]


@cache
def real(trainer: str) -> Json:
    """Read what the trainer's own code said."""
    return json.loads((Path(__file__).parent / "real" / f"{trainer}.json").read_text())


def cases(*trainers: str) -> list[tuple[str, str]]:
    return [(trainer, case) for trainer in trainers for case in real(trainer)["cases"]]


def state_of(trainer: str, case: str) -> dict[str, Tensor]:
    found = real(trainer)["cases"][case]
    state = drawn_state(found["state"], found["same"])
    concat = found["changed"].get("position_encoding_type") == "SinusoidalConcat"
    waves = {name: as_stored(concat) for name in state if name.endswith(".pe")}
    return state | {name: each.view(state[name].shape) for name, each in waves.items()}


def as_stored(concat: bool, *, width: int = 8, length: int = 5000) -> Tensor:
    """Compute sinusoids as OpenNMT-py and JoeyNMT do before they store them."""
    steps = width // 2 - 1 if concat else width // 2
    rates = torch.exp(torch.arange(width // 2).float() * -(math.log(10_000.0) / steps))
    angles = torch.arange(length).unsqueeze(1).float() * rates
    both = (angles.sin(), angles.cos())
    return torch.cat(both, 1) if concat else torch.stack(both, 2).flatten(1)


def logits_of(trainer: str, case: str) -> Tensor:
    return torch.tensor(real(trainer)["cases"][case]["logits"])


def write(folder: Path, trainer: str, case: str, **changed: Any) -> Path:
    """Write a folder as the trainer does; ``changed`` are options of the case changed once more."""
    folder.mkdir(exist_ok=True)
    found = real(trainer)
    options = {**found["cases"][case]["changed"], **changed}
    make = {"fairseq": _fairseq, "joeynmt": _joeynmt, "opennmt_py": _opennmt_py}[trainer]
    return make(folder, found["settings"], options, state_of(trainer, case))


def _fairseq(folder: Path, settings: Json, options: Json, state: dict[str, Tensor]) -> Path:
    args = argparse.Namespace(**{**settings, **options})
    for language, side in (("de", "encoder"), ("en", "decoder")):
        side = "encoder" if options.get("share_all_embeddings") else side
        lines = [f"{piece} 7\n" for piece in pieces("fairseq", side)[4:]]
        (folder / f"dict.{language}.txt").write_text("".join(lines))
    content = {"args": args, "cfg": None, "model": state, "extra_state": {"val_loss": 3.0}}
    return save(folder / "model.pt", content)


def _joeynmt(folder: Path, settings: Json, options: Json, state: dict[str, Tensor]) -> Path:
    model = joeynmt_settings(settings, options)
    data = {"src": {"lang": "de", "level": "word"}, "trg": {"lang": "en", "level": "word"}}
    lines = ["name: small  # as users write it", "", *yaml_lines({"data": data, "model": model})]
    (folder / "config.yaml").write_text("\n".join(lines))
    for name, side in (("src", "encoder"), ("trg", "decoder")):
        side = "encoder" if options.get("tied_embeddings") else side
        (folder / f"{name}_vocab.txt").write_text("\n".join(pieces("joeynmt", side)))
    content = {"steps": 3, "model_state": state, "optim_state": {}, "best_ckpt_score": 1.5}
    return save(folder / "3.ckpt", content)


def _opennmt_py(folder: Path, settings: Json, options: Json, state: dict[str, Tensor]) -> Path:
    ours = {name: weight for name, weight in state.items() if not name.startswith("generator.")}
    output = {name[10:]: weight for name, weight in state.items() if name not in ours}
    target = "encoder" if options.get("share_vocab") else "decoder"
    content = {
        "model": ours,
        "generator": output,
        "opt": argparse.Namespace(**{**settings, **options}),
        "vocab": {
            "src": pieces("opennmt_py", "encoder"),
            "tgt": pieces("opennmt_py", target),
            "data_task": "seq2seq",
            "decoder_start_token": "<s>",
        },
        "optim": {"training_step": 3},
    }
    return save(folder / "model_step_3.pt", content)


def yaml_lines(table: Json, indent: str = "") -> list[str]:
    lines: list[str] = []
    for key, value in table.items():
        if isinstance(value, dict):
            lines += [f"{indent}{key}:", *yaml_lines(value, f"{indent}    ")]
        else:
            lines.append(f"{indent}{key}: {json.dumps(value)}")
    return lines


def save(path: Path, content: object) -> Path:
    torch.save(content, path)
    return path
