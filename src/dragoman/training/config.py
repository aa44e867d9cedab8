"""Records of a run's training and validation; the defaults are those of section 5."""

import math
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field

from dragoman.configfile import record
from dragoman.errors import ConfigError, Mistake
from dragoman.evaluation import MetricName
from dragoman.training.optimizer import AdamConfig, AdamWConfig, OptimizerConfig
from dragoman.training.schedule import (
    Schedule,
    constant,
    cosine_decay,
    inverse_sqrt,
    linear_decay,
)
from dragoman.training.weights import Precision

LARGEST_BUDGET = 25_000  # tokens of each side (section 5.1)


def _number_or_auto(value: object) -> object:
    """Say in one sentence what pydantic would say of each kind of value by itself."""
    if value == "auto" or (type(value) is int and value >= 2):
        return value
    raise ValueError('should be a whole number of at least 2, or "auto"')


Count = Annotated[int, Field(ge=1)]
Budget = Annotated[int | Literal["auto"], BeforeValidator(_number_or_auto)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@record
class InverseSqrt:
    """Equation 3: up for ``warmup`` updates, then down with the root of the step."""

    kind: Literal["inverse_sqrt"] = "inverse_sqrt"
    factor: Positive = 1.0


@record
class LinearDecay:
    """Up for ``warmup`` updates to ``peak``, then straight down to 0 at the end of the run."""

    kind: Literal["linear"] = "linear"
    peak: Positive = 1e-3


@record
class Constant:
    """Up for ``warmup`` updates to ``peak``, then level."""

    kind: Literal["constant"] = "constant"
    peak: Positive = 1e-3


@record
class Cosine:
    """Up for ``warmup`` updates to ``peak``, then along half a cosine to ``floor`` at the end."""

    kind: Literal["cosine"] = "cosine"
    peak: Positive = 1e-3
    floor: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    def __post_init__(self) -> None:
        """Check what no single field can."""
        if self.floor > self.peak:
            raise ConfigError(
                "floor",
                f"{self.floor} is above the peak {self.peak}",
                f"try floor = {self.peak} or less",
            )


ScheduleConfig = Annotated[InverseSqrt | LinearDecay | Cosine | Constant, Discriminator("kind")]


@record
class TrainingConfig:
    """The ``[training]`` table of a recipe; the defaults are those of section 5.

    Args:
        steps: updates in the run; 100,000 unless ``epochs`` is given.
        epochs: passes over the data, instead of ``steps``.
        batch_tokens: most target, and most source, slots in one batch: rows x longest row; ``auto``
            is the most that fits in memory, up to the paper's 25,000, found when a run begins.
        accumulate: batches whose gradients make one update.
        optimizer: which optimizer, with its constants; the paper's Adam.
        schedule: learning rate over time.
        warmup: updates until the highest rate; 0 means none.
        freeze: patterns of names of weights that do not learn, such as ``encoder.layers.0.*``.
        precision: what forward and backward run in, beside float32 originals: ``fp32``, ``bf16``,
            ``fp16`` (with a scaled loss), or ``auto``: bf16 where it is measured to be faster.
        activation_checkpointing: compute the insides of layers again in backward instead of keeping
            them: the same result with less memory, in about a third more time.
        ema: share that an exponential moving average of the weights keeps at each update, such as
            0.999; it is then what is validated and what the finished model holds.
        max_skipped: updates in a row that may be left out, since their loss or gradient was not a
            number, before the run stops.
        compile: compile the layers with ``torch.compile``; the first updates wait for it.
        deterministic: take no kernel by measuring, and none whose result may vary.
        tensorboard: keep the curves for TensorBoard too; needs the extra.
        sharding: what each of several processes keeps of weights, gradients and moments: all
            (``none``), or its share of the rows (``full``), for models too large for one device.
        process_timeout: seconds that one of several processes waits for another before all end;
            reading the data, a validation and a save, done by one of them, must be shorter.
        label_smoothing: share of each label spread over the vocabulary.
        clip_norm: gradients are scaled down to this norm; unset means never, as in the paper.
        seed: draws weights, order and dropout.
        checkpoint_every: updates between checkpoints.
        keep: newest checkpoints that stay.
        average_last: the finished model is the average of this many (6.1), if it is better.
        log_every: updates between two lines of progress.
        stop_after: end this sitting at this update; save, and go on another time.
        max_minutes: end this sitting after this long; save, and go on another time.
    """

    steps: Count | None = None
    epochs: Count | None = None
    batch_tokens: Budget = LARGEST_BUDGET
    accumulate: Count = 1
    optimizer: OptimizerConfig = AdamConfig()
    schedule: ScheduleConfig = InverseSqrt()
    warmup: Annotated[int, Field(ge=0)] = 4_000
    freeze: tuple[str, ...] = ()
    precision: Precision = "fp32"
    activation_checkpointing: bool = False
    ema: Annotated[float, Field(gt=0, lt=1)] | None = None
    max_skipped: Count = 10
    compile: bool = False
    deterministic: bool = False
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.1
    clip_norm: Positive | None = None
    tensorboard: bool = False
    sharding: Literal["none", "full"] = "none"
    process_timeout: Positive = 600.0
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    checkpoint_every: Count = 1_000
    keep: Count = 5
    average_last: Count = 5
    log_every: Count = 50
    stop_after: Count | None = None
    max_minutes: Positive | None = None

    def __post_init__(self) -> None:
        """Check what no single field can."""
        mistakes: list[Mistake] = []
        if self.steps is not None and self.epochs is not None:
            mistakes.append(Mistake("epochs", "steps is given too", "leave one of them out"))
        if self.average_last > self.keep:
            problem = (
                f"{self.average_last} checkpoints cannot be averaged when {self.keep} are kept"
            )
            mistakes.append(Mistake("average_last", problem, f"try keep = {self.average_last}"))
        if self.sharding == "full" and not isinstance(self.optimizer, AdamConfig | AdamWConfig):
            problem = f"full cannot split what {self.optimizer.kind} remembers"
            mistakes.append(Mistake("sharding", problem, 'try adam or adamw, or sharding = "none"'))
        if mistakes:
            raise ConfigError.together(mistakes)

    @property
    def largest_budget(self) -> int:
        """The most that ``batch_tokens`` can turn out to be, known before anything is measured."""
        return LARGEST_BUDGET if self.batch_tokens == "auto" else self.batch_tokens

    def last_step(self, batches_in_epoch: int) -> int:
        """Say how many updates the run has; the last may have fewer batches than the others."""
        if self.epochs is not None:
            return math.ceil(self.epochs * batches_in_epoch / self.accumulate)
        return self.steps or 100_000

    def learning_rate(self, d_model: int, steps: int) -> Schedule:
        """Make the function from step to rate in a run of ``steps`` updates."""
        warmup = self.warmup
        match self.schedule:
            case InverseSqrt(factor=factor):
                return lambda step: inverse_sqrt(
                    step, d_model=d_model, warmup=warmup, factor=factor
                )
            case LinearDecay(peak=peak):
                return lambda step: linear_decay(step, peak=peak, warmup=warmup, steps=steps)
            case Cosine(peak=peak, floor=floor):
                return lambda step: cosine_decay(
                    step, peak=peak, warmup=warmup, steps=steps, floor=floor
                )
            case Constant(peak=peak):
                return lambda step: constant(step, peak=peak, warmup=warmup)


@record
class ValidationConfig:
    """The ``[validation]`` table of a recipe.

    Args:
        every: updates between validations.
        metrics: the first decides what is best; without any, the loss does. Those of translations
            are computed with the real search. Unset means what suits the model: BLEU and chrF for
            translations, accuracy for classes, the loss alone for language models.
        patience: end the run after this many validations without a better one; unset means never.
        keep_best: whether the finished model may be the best validated one.
    """

    every: Count = 1_000
    metrics: tuple[MetricName, ...] | None = None
    patience: Count | None = None
    keep_best: bool = True
