"""The process of one variant: train, finish, measure. ``job.py`` starts it and listens.

    python -m dragoman.run.comparison.variant < JOB.json

Events go to standard output, a line each; what was measured goes into the folder of the run.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import torch

from dragoman.configfile import read_record
from dragoman.device import choose_device
from dragoman.errors import DragomanError
from dragoman.evaluation import corpus_score
from dragoman.recipe import Recipe
from dragoman.run.comparison.job import Job, as_trained, event_line, failure_line
from dragoman.run.comparison.log import RunLog
from dragoman.run.comparison.measured import Measured, write_measured
from dragoman.run.comparison.sentences import read_test, read_validation
from dragoman.run.folder import RunFolder
from dragoman.run.train import train
from dragoman.training import Event, StepDone, Stopped, checkpoint_step, checkpoints
from dragoman.translator import Translator, one_line

OUT_OF_TIME = "the minutes are over"


def run_variant(job: Job, *, should_stop: Callable[[], str] = lambda: "") -> Iterator[Event]:
    """Train and measure a variant in this process; an unfinished run in its folder is continued.

    Yields:
        What happens; Finished comes before the measuring, Stopped is the end of a sitting.
    """
    trained = stopped = False
    for event in _training(job, should_stop):
        trained = trained or isinstance(event, StepDone)
        stopped = isinstance(event, Stopped)
        yield event
    if not stopped:
        _measure(job, peak_memory_bytes(choose_device(job.device)) if trained else None)


def peak_memory_bytes(device: torch.device) -> int | None:
    """Say how much memory this process has needed at most; None where the system does not say.

    On a GPU that of tensors there, otherwise what was resident.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    status = Path("/proc/self/status")
    if status.exists():  # ``ru_maxrss`` of Linux begins with that of the process it comes from
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="utf-8"))
        if found:
            return 1024 * int(found[1])
    try:
        import resource  # not on every system
    except ImportError:
        return None
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else 1024 * largest


def main() -> int:
    """Do the job on standard input.

    Returns:
        Exit status: 0 done or stopped, 2 something the user can mend.
    """
    events = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", newline="\n")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what others print is no event
    interrupted: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    try:
        job = read_record(Job, json.load(sys.stdin))
        for event in run_variant(job, should_stop=lambda: "interrupted" if interrupted else ""):
            events.write(event_line(event))
            events.flush()
    except DragomanError as error:
        events.write(failure_line(error))
        events.close()
        return 2
    events.close()
    return 0


def _training(job: Job, should_stop: Callable[[], str]) -> Iterator[Event]:
    recipe = as_trained(job.recipe)
    if job.minutes is None:
        yield from train(recipe, job.folder, device=job.device, should_stop=should_stop)
        return
    if RunFolder(job.folder).status() == "finished":
        return
    budget = 60 * job.minutes
    log = RunLog(job.folder, until=_updates_saved(job.folder))
    stop = lambda: OUT_OF_TIME if log.seconds >= budget else should_stop()  # noqa: E731  # asked after each update
    if log.seconds < budget:
        interrupted = False
        # The number of updates changes to those made once time is up: not a change of the run.
        for event in train(
            recipe, job.folder, device=job.device, accept_changes=True, should_stop=stop
        ):
            if isinstance(event, StepDone):
                log.take(event)
            if not (isinstance(event, Stopped) and event.reason == OUT_OF_TIME):
                interrupted = isinstance(event, Stopped)
                yield event
        if interrupted:
            return
    training = replace(recipe.training, steps=_updates_saved(job.folder))
    ended = replace(recipe, training=training)
    yield from train(ended, job.folder, device=job.device, accept_changes=True)


def _updates_saved(folder: Path) -> int:
    return max(map(checkpoint_step, checkpoints(folder / "checkpoints")), default=0)


def _measure(job: Job, peak: int | None) -> None:
    """Translate the test set, score the validation set, and keep it all."""
    translator, search = (
        Translator.load(job.folder, device=job.device, engine="torch"),
        job.recipe.decoding,
    )
    test, log = read_test(job.recipe), RunLog(job.folder)
    found = translator.translate(test.sources, **asdict(search))
    hypotheses = [one_line(translation.text) for translation in found]
    loss, pieces = _validation_loss(translator, job.recipe)
    scores = [corpus_score(name, hypotheses, test.references) for name in ("bleu", "chrf")]
    newest = checkpoints(job.folder / "checkpoints")[-1]
    state = json.loads((newest / "state.json").read_bytes())
    measured = Measured(
        parameters=sum(weight.numel() for weight in translator.model.parameters()),
        updates=checkpoint_step(newest),
        target_tokens=state["target_tokens"],
        training_seconds=log.seconds,
        loss_nats=loss,
        validation_pieces=pieces,
        bleu=scores[0].value,
        chrf=scores[1].value,
        signatures={score.metric: score.signature for score in scores},
        measured_on=test.name,
        target_tokens_per_second=log.tokens_per_second,
        peak_memory_bytes=peak,
        device=str(next(translator.model.parameters()).device),
        threads=torch.get_num_threads(),
        minutes=job.minutes,
        weights=log.weights,
        data=state["data"],
        curve=log.curve,
    )
    write_measured(job.folder, measured, "".join(f"{line}\n" for line in hypotheses))


def _validation_loss(translator: Translator, recipe: Recipe) -> tuple[float | None, int]:
    """Score the validation set; give the loss per target piece, and how many pieces it has.

    Pairs that the positions do not reach are left out; the number of pieces tells.
    """
    held_out, bundle = read_validation(recipe), translator.bundle
    pairs = list(zip(held_out.sources, held_out.references, strict=True))
    limit = bundle.config.max_length
    if limit is not None:
        sources = bundle.source_tokenizer.encode_many(held_out.sources)
        targets = bundle.target_tokenizer.encode_many(held_out.references)
        lengths = map(max, map(len, sources), map(len, targets))
        pairs = [pair for pair, length in zip(pairs, lengths, strict=True) if length < limit]
    scored = translator.score([source for source, _ in pairs], [target for _, target in pairs])
    pieces = sum(len(found.log_probs) for found in scored)
    return (-sum(found.log_prob for found in scored) / pieces if pieces else None), pieces


if __name__ == "__main__":
    sys.exit(main())
