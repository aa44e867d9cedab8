"""What one training of one variant came to, and the file that keeps it."""

import json
from dataclasses import dataclass
from pathlib import Path

from dragoman.atomic import write_text
from dragoman.configfile import read_record, record, write_record
from dragoman.errors import ModelError

MEASURED = "measured.json"
HYPOTHESES = "hypotheses.txt"


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """A loss on the way.

    Args:
        step: updates made.
        seconds: of training, validation not counted.
        loss_nats: per target piece; of the validation set, or in training when there is none.
    """

    step: int
    seconds: float
    loss_nats: float


@record
class Measured:
    """Everything a comparison needs of one run but its translations.

    Args:
        parameters: numbers trained, those of tied tables counted once.
        updates: made.
        target_tokens: real target pieces seen.
        training_seconds: validation not counted.
        loss_nats: of the validation set per target piece, end symbols included; None without one.
        validation_pieces: target pieces that the loss is the mean over.
        bleu: of the test set, or of the validation set when there is none.
        chrf: of the same.
        signatures: sacreBLEU's, by metric.
        measured_on: the name of that set.
        target_tokens_per_second: median of the lines of progress, validation not counted.
        peak_memory_bytes: in training: resident on a CPU, allocated on a GPU. None when the
            process that trained ended before it could say.
        device: where it was trained.
        threads: PyTorch's on a CPU.
        minutes: the budget; None when it was in updates.
        weights: which ones the model has, such as "average of the last 5 checkpoints".
        data: digest of the ids trained on.
        curve: losses on the way.
    """

    parameters: int
    updates: int
    target_tokens: int
    training_seconds: float
    loss_nats: float | None
    validation_pieces: int
    bleu: float
    chrf: float
    signatures: dict[str, str]
    measured_on: str
    target_tokens_per_second: float
    peak_memory_bytes: int | None
    device: str
    threads: int
    minutes: float | None
    weights: str
    data: str
    curve: tuple[CurvePoint, ...]


def write_measured(folder: Path, measured: Measured, hypotheses: str) -> None:
    """Keep what was measured; the numbers come last, and say that all is there."""
    write_text(folder / HYPOTHESES, hypotheses)
    write_text(folder / MEASURED, json.dumps(write_record(measured), indent=1) + "\n")


def read_measured(folder: Path) -> Measured | None:
    """Read what a run came to; None when it is not finished.

    Raises:
        ModelError: the file is damaged.
    """
    path = folder / MEASURED
    if not path.exists():
        return None
    try:
        return read_record(Measured, {**_UNSET, **json.loads(path.read_text(encoding="utf-8"))})
    except ValueError as error:
        raise ModelError(
            f"{path}: is damaged; remove it and the same command measures again\n{error}"
        ) from None


def read_hypotheses(folder: Path) -> list[str]:
    """Read the translations of a finished run, one per sentence."""
    return (folder / HYPOTHESES).read_text(encoding="utf-8").split("\n")[:-1]


# What ``write_record`` leaves out.
_UNSET = {"loss_nats": None, "peak_memory_bytes": None, "minutes": None}
