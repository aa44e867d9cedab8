"""From batches to weights; yields events, never prints."""

from dragoman.training.checkpoint import (
    Progress,
    average_checkpoints,
    average_tensors,
    checkpoint_step,
    checkpoints,
    load_checkpoint,
    regular_checkpoints,
    save_checkpoint,
)
from dragoman.training.config import (
    Constant,
    InverseSqrt,
    LinearDecay,
    TrainingConfig,
    ValidationConfig,
)
from dragoman.training.events import (
    Event,
    Finished,
    Notice,
    Saved,
    Started,
    StepDone,
    Stopped,
    Validated,
)
from dragoman.training.loop import Trainer, better, training_loop
from dragoman.training.loss import (
    projected_cross_entropy,
    reference_cross_entropy,
    smoothed_cross_entropy,
    summed_cross_entropy,
)
from dragoman.training.optimizer import AdamConfig, build_optimizer, set_rate
from dragoman.training.schedule import Schedule, constant, inverse_sqrt, linear_decay

__all__ = [
    "AdamConfig",
    "Constant",
    "Event",
    "Finished",
    "InverseSqrt",
    "LinearDecay",
    "Notice",
    "Progress",
    "Saved",
    "Schedule",
    "Started",
    "StepDone",
    "Stopped",
    "Trainer",
    "TrainingConfig",
    "Validated",
    "ValidationConfig",
    "average_checkpoints",
    "average_tensors",
    "better",
    "build_optimizer",
    "checkpoint_step",
    "checkpoints",
    "constant",
    "inverse_sqrt",
    "linear_decay",
    "load_checkpoint",
    "projected_cross_entropy",
    "reference_cross_entropy",
    "regular_checkpoints",
    "save_checkpoint",
    "set_rate",
    "smoothed_cross_entropy",
    "summed_cross_entropy",
    "training_loop",
]
