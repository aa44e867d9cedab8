"""What happened in a run, as records with units in their names.

Training yields these and never prints. The console, ``metrics.jsonl`` and a test read one stream.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something worth a line: what was chosen, dropped, continued or skipped."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The run is about to make its first update of this sitting."""

    step: int  # updates made before
    steps: int  # updates in the whole run
    parameters: int
    pairs: int
    batches_per_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDone:
    """A group of updates, one ``log_every`` long."""

    step: int
    epoch: int
    loss_nats: float  # per target piece since the last event, label smoothing included
    learning_rate: float  # used in this update
    gradient_norm: float  # of this update, before clipping
    target_tokens: int  # real target pieces seen since the run began
    target_tokens_per_second: float
    seconds: float  # training time since the run began, earlier sittings included
    order: str = ""  # digest of which examples were learned from until here, in their order


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """An update that did nothing, since its loss or its gradient was not a number."""

    step: int
    loss_nats: float  # per target piece, label smoothing included
    gradient_norm: float
    in_a_row: int  # such updates one after the other; 0 when only the scale of fp16 was too large
    loss_scale: float | None  # of fp16 from here on


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """The validation set was scored, and translated with the real search."""

    step: int
    loss_nats: float  # per target piece, end symbol included, unsmoothed
    perplexity: float
    scores: dict[str, float]  # by metric
    signatures: dict[str, str]  # sacreBLEU's, by metric
    best: bool  # better than every validation before
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A checkpoint stands on disk, whole."""

    step: int
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """This sitting ended before the run did; the same command goes on."""

    step: int
    steps: int
    reason: str
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The run is complete and its folder holds the model."""

    step: int
    path: Path
    weights: str  # which weights the folder holds, such as "average of 5 checkpoints"
    seconds: float  # training time, all sittings


Event = Notice | Started | StepDone | Skipped | Validated | Saved | Stopped | Finished
