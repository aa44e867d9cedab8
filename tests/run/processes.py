"""What ``torchrun`` starts in test_processes.py.

    -m tests.run.processes together LIST.json    several runs one after another, as starting is slow
    -m tests.run.processes FAULT train ...       the command line, with a fault in process 2

LIST.json holds pairs of a recipe file and a run folder. Errors are kept beside the run folder.
"""

import json
import os
import signal
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import torch

from dragoman.cli.main import main
from dragoman.errors import DragomanError
from dragoman.run import train
from dragoman.training import Trainer, Update
from dragoman.training.distributed import join_group

FAULTY_UPDATE = 3


def together(runs: list[tuple[str, str]]) -> int:
    """Train all in one group of processes, which is not left in between."""
    group = join_group("cpu", timeout_seconds=60)
    with group.guard(), patch("dragoman.run.train.join_group", lambda *_, **__: group):
        with patch.multiple(group, leave=group.wait, guard=nullcontext):
            for recipe, run in runs:
                try:
                    events = list(train(recipe, run))
                    assert group.leader or not events
                except DragomanError as error:
                    said = f"{type(error).__name__}: {error}"
                    Path(f"{run}.error-{group.rank}").write_text(said, encoding="utf-8")
        group.leave()
    return 0


def odd_sentence() -> None:
    raise ValueError("odd sentence")


def hang() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # or torchrun gives it 30 s to save
    time.sleep(300)


def faulty(fault: str, arguments: list[str]) -> int:
    """Run the command line; process 2 has a fault in its third update, or other data."""
    if os.environ["RANK"] != "1":
        return main(arguments)
    if fault == "over-long":
        return main([*arguments, "--set", "data.max_length=4", "--set", 'data.too_long="error"'])
    plain, work = Trainer.update, {"raises": odd_sentence, "hangs": hang}[fault]

    def update(trainer: Trainer) -> Update:
        if trainer.progress.step + 1 == FAULTY_UPDATE:
            work()
        return plain(trainer)

    with patch.object(Trainer, "update", update):
        return main(arguments)


if __name__ == "__main__":
    torch.set_num_threads(1)
    kind, *rest = sys.argv[1:]
    if kind == "together":
        sys.exit(together(json.loads(Path(rest[0]).read_text(encoding="utf-8"))))
    sys.exit(faulty(kind, rest))
