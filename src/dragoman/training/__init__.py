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
from dragoman.training.label_smoothing import (
    SmoothingForm,
    label_cross_entropy,
    label_divergence,
    mean_over_targets,
    smoothed_labels,
)
from dragoman.training.loop import Trainer, better, training_loop
from dragoman.training.loss import (
    projected_cross_entropy,
    reference_cross_entropy,
    smoothed_cross_entropy,
    summed_cross_entropy,
)
from dragoman.training.objectives import (
    Counted,
    Objective,
    class_loss,
    language_loss,
    masked_loss,
    piece_loss,
    translation_loss,
)
from dragoman.training.optimizer import AdamConfig, build_optimizer, set_rate
from dragoman.training.schedule import Schedule, constant, inverse_sqrt, linear_decay

__all__ = [
    "AdamConfig",
    "Constant",
    "Counted",
    "Event",
    "Finished",
    "InverseSqrt",
    "LinearDecay",
    "Notice",
    "Objective",
    "Progress",
    "Saved",
    "Schedule",
    "SmoothingForm",
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
    "class_loss",
    "constant",
    "inverse_sqrt",
    "label_cross_entropy",
    "label_divergence",
    "language_loss",
    "linear_decay",
    "load_checkpoint",
    "masked_loss",
    "mean_over_targets",
    "piece_loss",
    "projected_cross_entropy",
    "reference_cross_entropy",
    "regular_checkpoints",
    "save_checkpoint",
    "set_rate",
    "smoothed_cross_entropy",
    "smoothed_labels",
    "summed_cross_entropy",
    "training_loop",
    "translation_loss",
]
