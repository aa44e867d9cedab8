"""The events of a run for TensorBoard, beside ``metrics.jsonl``."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from dragoman.errors import ConfigError
from dragoman.training import Event, Finished, Saved, Started, StepDone, Stopped, Validated


def check_tensorboard() -> None:
    """See that the library is there, before hours of training rely on it.

    Raises:
        ConfigError: it is not installed.
    """
    _writer_class()


def mirror(events: Iterable[Event], run: Path) -> Iterator[Event]:
    """Pass events on, and write their numbers to the folder ``tensorboard`` of a run.

    Args:
        events: those of one sitting.
        run: its folder; nothing is made there before training starts.

    Raises:
        ConfigError: TensorBoard is not installed; raised by the call, not by the first event.
        OSError: the folder cannot be written.
    """
    return _mirrored(events, TensorBoard(run / "tensorboard"))


def _mirrored(events: Iterable[Event], board: "TensorBoard") -> Iterator[Event]:
    try:
        for event in events:
            board.write(event)
            yield event
    finally:
        board.close()


class TensorBoard:
    """Writes the numbers of events where TensorBoard finds them.

    A run that goes on makes some updates again. Their earlier numbers, and those of updates that
    were lost, are declared void when ``Started`` says where it goes on.

    Args:
        folder: of the event files; made when there is something to write.

    Raises:
        ConfigError: TensorBoard is not installed.
    """

    def __init__(self, folder: Path) -> None:
        self._writer_class = _writer_class()
        self._folder = folder
        self._writer: Any = None  # Any: the class is known only when installed

    def write(self, event: Event) -> None:
        """Write what an event says in numbers, at its update.

        Raises:
            OSError: the folder cannot be written.
        """
        match event:
            case Started():
                self._open(event.step + 1)
            case StepDone():
                numbers = {
                    "training/loss_nats": event.loss_nats,
                    "training/learning_rate": event.learning_rate,
                    "training/gradient_norm": event.gradient_norm,
                    "training/target_tokens_per_second": event.target_tokens_per_second,
                    "training/epoch": event.epoch,
                }
                self._add(event.step, numbers)
            case Validated():
                scores = {f"validation/{name}": value for name, value in event.scores.items()}
                loss = {
                    "validation/loss_nats": event.loss_nats,
                    "validation/perplexity": event.perplexity,
                }
                self._add(event.step, loss | scores)
            case Saved() | Stopped() | Finished():
                self._flush()  # what goes on from here must find the numbers up to here
            case _:
                pass

    def close(self) -> None:
        """Write what is still held back; writing again opens another file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _open(self, step: int) -> Any:  # Any: known only when installed
        """Begin an event file in which ``step`` and all after it are new."""
        self.close()
        self._writer = self._writer_class(str(self._folder), purge_step=step)
        return self._writer

    def _add(self, step: int, numbers: dict[str, float]) -> None:
        writer = self._open(step) if self._writer is None else self._writer
        for name, value in numbers.items():
            writer.add_scalar(name, value, step)

    def _flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()


def _writer_class() -> Any:  # Any: known only when installed
    try:
        return import_module("torch.utils.tensorboard").SummaryWriter
    except ImportError:
        hint = "install it with: pip install 'dragoman[tensorboard]', or leave the key out"
        raise ConfigError("training.tensorboard", "needs TensorBoard", hint) from None
