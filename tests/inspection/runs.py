"""A run written by hand."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

Line = dict[str, object]

STARTED: Line = {"event": "Started", "step": 0, "steps": 400, "parameters": 9, "pairs": 8}
UPDATES: list[Line] = [
    {
        "event": "StepDone",
        "step": step,
        "epoch": epoch,
        "loss_nats": loss,
        "learning_rate": rate,
        "gradient_norm": None,
        "target_tokens": 10 * step,
        "target_tokens_per_second": speed,
        "seconds": seconds,
    }
    for step, epoch, loss, rate, speed, seconds in (
        (100, 1, 6.0, 1e-3, 1000.0, 60.0),
        (200, 1, 4.0, 2e-3, 3000.0, 120.0),
        (300, 2, 3.5, 1e-3, 1500.0, 180.0),
    )
]
VALIDATIONS: list[Line] = [
    {
        "event": "Validated",
        "step": step,
        "loss_nats": loss,
        "perplexity": perplexity,
        "scores": {"bleu": bleu, "chrf": chrf},
        "signatures": {},
        "best": best,
        "seconds": seconds,
    }
    for step, loss, perplexity, bleu, chrf, best, seconds in (
        (100, 5.0, 148.41, 1.25, 12.5, True, 66.0),
        (200, 3.0, 20.09, 21.5, 40.0, True, 132.0),
        (300, 3.25, 25.79, 20.75, 41.5, False, 198.0),
    )
]
FINISHED: Line = {
    "event": "Finished",
    "step": 300,
    "path": "run",
    "weights": "best weights, of update 200",
    "seconds": 210.0,
}
WHOLE: list[Line] = [
    STARTED,
    {"event": "Notice", "text": "4 pairs dropped"},
    *(UPDATES[0], VALIDATIONS[0], {"event": "Saved", "step": 100, "path": "step-00000100"}),
    *(UPDATES[1], VALIDATIONS[1], UPDATES[2], VALIDATIONS[2]),
    FINISHED,
]


def write_run(folder: Path, events: Sequence[Mapping[str, object]], tail: str = "") -> Path:
    """Write ``metrics.jsonl`` as a run does, and ``tail`` after its last line."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(event) + "\n" for event in events)
    (folder / "metrics.jsonl").write_text(lines + tail, encoding="utf-8")
    return folder
