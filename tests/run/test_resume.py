"""A run that was stopped, killed or interrupted goes on as if it had never stopped (FR 17, 21)."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from dragoman.configfile import write_record
from dragoman.errors import CheckpointError
from dragoman.recipe import Recipe, parse_recipe
from dragoman.run import train
from dragoman.training import Finished, Notice, Saved, Started, Stopped
from tests.fixtures import write_corpus


def recipe_for(folder: Path, **training: object) -> Recipe:
    """40 pairs in 6 batches an epoch; with accumulation 2 an update takes two of them."""
    folder.mkdir(exist_ok=True)
    source, target = write_corpus(folder)
    return parse_recipe(
        {
            "data": {
                "train": {"source": str(source), "target": str(target)},
                "hold_out": 4,
            },
            "tokenizer": {"size": 300},
            "model": {"layers": 1, "d_model": 16, "heads": 2, "d_ff": 32, "dropout": 0.2},
            "training": {
                "steps": 12,
                "batch_tokens": 96,
                "accumulate": 2,
                "warmup": 4,
                "checkpoint_every": 100,
                "log_every": 1,
                **training,
            },
            "validation": {"every": 4, "metrics": ["bleu"]},
            "decoding": {"beam": 2, "max_length": 8},
        }
    )


def tensors(run: Path, step: int = 12) -> dict[str, torch.Tensor]:
    checkpoint = run / f"checkpoints/step-{step:08d}"
    weights = load_file(checkpoint / "model.safetensors")
    moments = load_file(checkpoint / "optimizer.safetensors")
    return {f"weights {k}": v for k, v in weights.items()} | moments


def assert_same_bits(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> None:
    assert one.keys() == two.keys()
    different = [name for name in one if not torch.equal(one[name], two[name])]
    assert not different


def rates_and_losses(run: Path) -> list[tuple[object, ...]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if line["event"] == "StepDone"]
    return [(s["step"], s["epoch"], s["loss_nats"], s["learning_rate"]) for s in steps]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("straight")
    list(train(recipe_for(folder), folder / "run"))
    return folder / "run"


def test_the_test_crosses_epoch_ends(straight: Path) -> None:
    epochs = {epoch for _, epoch, *_ in rates_and_losses(straight)}
    assert len(epochs) > 2


@pytest.mark.parametrize("stop", [1, 5, 8])
def test_stopping_and_going_on_gives_the_same_bits(
    stop: int, straight: Path, tmp_path: Path
) -> None:
    first = list(train(recipe_for(tmp_path, stop_after=stop), tmp_path / "run"))
    assert isinstance(first[-1], Stopped)
    second = list(train(recipe_for(tmp_path), tmp_path / "run"))
    assert isinstance(second[-1], Finished)
    assert_same_bits(tensors(straight), tensors(tmp_path / "run"))
    assert rates_and_losses(straight) == rates_and_losses(tmp_path / "run")


EVERY_SETTING: dict[str, dict[str, object]] = {
    "fp16": {"precision": "fp16"},
    "bf16 with a moving average": {"precision": "bf16", "ema": 0.9},
    "epochs with a partial last window": {"steps": None, "epochs": 3, "accumulate": 5},
    "linear, clipping, frozen": {
        "schedule": {"kind": "linear", "peak": 1e-2},
        "clip_norm": 0.1,
        "freeze": ["encoder.*"],
    },
    "cosine, adamw": {
        "schedule": {"kind": "cosine", "peak": 1e-2},
        "optimizer": {"kind": "adamw", "weight_decay": 0.1},
    },
    "averaging": {"checkpoint_every": 2, "average_last": 3},
    "adafactor": {"optimizer": "adafactor"},
    "deterministic": {"deterministic": True},
}
EVERY_MODEL: dict[str, list[str]] = {
    "dropout everywhere": ["model.feedforward_dropout=0.3", "model.attention_dropout=0.3"],
    "recurrent": ['model={architecture="recurrent", layers=1, d_model=16}'],
}


def everything_left_behind(run: Path) -> dict[str, object]:
    """All bits of the last checkpoint and of the finished model, and all that was reported."""
    last = sorted((run / "checkpoints").iterdir())[-1]
    state = json.loads((last / "state.json").read_text(encoding="utf-8"))
    files = [last / "model.safetensors", last / "optimizer.safetensors", run / "model.safetensors"]
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    kinds = ("StepDone", "Validated", "Skipped")
    return {
        **{str(path.relative_to(run)): path.read_bytes() for path in files},
        # The digest of the state covers the seconds.
        "state": {key: value for key, value in state.items() if key not in ("seconds", "sha256")},
        "events": [
            {key: value for key, value in line.items() if "second" not in key}
            for line in lines
            if line["event"] in kinds
        ],
    }


def assert_stops_change_nothing(recipe: Recipe, folder: Path, *stops: int) -> None:
    recipe = parse_recipe(write_record(recipe), ["validation.metrics=[]"])  # a search takes long
    list(train(recipe, folder / "straight"))
    for stop in stops:
        stopped = parse_recipe(write_record(recipe), [f"training.stop_after={stop}"])
        assert isinstance(list(train(stopped, folder / "run"))[-1], Stopped)
    assert isinstance(list(train(recipe, folder / "run"))[-1], Finished)
    straight, run = (everything_left_behind(folder / name) for name in ("straight", "run"))
    assert straight.keys() == run.keys()
    assert not [name for name in straight if straight[name] != run[name]]


@pytest.mark.parametrize("name", EVERY_SETTING)
def test_every_setting_goes_on_bit_for_bit(name: str, tmp_path: Path) -> None:
    # Update 2 is during warm-up, and stops in a row must not add up to anything.
    stops = (1,) if "partial" in name else (2, 3)
    assert_stops_change_nothing(recipe_for(tmp_path, **EVERY_SETTING[name]), tmp_path, *stops)


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_every_source_of_chance_goes_on_bit_for_bit(name: str, tmp_path: Path) -> None:
    recipe = parse_recipe(write_record(recipe_for(tmp_path)), EVERY_MODEL[name])
    assert_stops_change_nothing(recipe, tmp_path, 5)


def test_right_after_a_validation_the_best_and_patience_are_kept(tmp_path: Path) -> None:
    # Nothing gets better at this rate, so patience ends both runs at update 8 or 12 alike.
    recipe = parse_recipe(
        write_record(recipe_for(tmp_path, schedule={"kind": "constant", "peak": 1e-12}, steps=40)),
        ["validation.patience=2", "validation.metrics=[]"],
    )
    assert_stops_change_nothing(recipe, tmp_path, 4)
    state = json.loads(
        (sorted((tmp_path / "run/checkpoints").iterdir())[-1] / "state.json").read_text()
    )
    assert state["step"] < 40


def test_a_run_out_of_patience_trains_no_further_when_its_end_was_cut_off(tmp_path: Path) -> None:
    recipe = parse_recipe(
        write_record(recipe_for(tmp_path, schedule={"kind": "constant", "peak": 1e-12}, steps=40)),
        ["validation.patience=2", "validation.metrics=[]"],
    )
    list(train(recipe, tmp_path / "run"))
    metrics = tmp_path / "run/metrics.jsonl"
    before = metrics.read_text(encoding="utf-8").splitlines()
    assert json.loads(before[-1])["event"] == "Finished"
    metrics.write_text("".join(f"{line}\n" for line in before[:-1]), encoding="utf-8")
    events = list(train(recipe, tmp_path / "run"))
    assert isinstance(events[-1], Finished)
    assert events[-1].step == json.loads(before[-1])["step"]


def test_where_a_sitting_stopped_does_not_change_the_averaged_model(tmp_path: Path) -> None:
    # The checkpoint of update 10 is there only because the sitting ended; 3, 6, 9, 12 are regular.
    every = {"checkpoint_every": 3, "average_last": 3, "keep": 3}
    plain = parse_recipe(write_record(recipe_for(tmp_path, **every)), ["data.hold_out=0"])
    stopped = parse_recipe(write_record(plain), ["training.stop_after=10"])
    list(train(plain, tmp_path / "straight"))
    list(train(stopped, tmp_path / "run"))
    assert (tmp_path / "run/checkpoints/step-00000010").is_dir()
    list(train(plain, tmp_path / "run"))
    kept = sorted(path.name for path in (tmp_path / "run/checkpoints").iterdir())
    assert kept == ["step-00000006", "step-00000009", "step-00000012"]
    one, two = (tmp_path / name / "model.safetensors" for name in ("straight", "run"))
    assert one.read_bytes() == two.read_bytes()


def test_stopping_exactly_at_an_epoch_end_gives_the_same_bits(tmp_path: Path) -> None:
    plain = recipe_for(tmp_path, accumulate=1)
    started = next(e for e in train(plain, tmp_path / "straight") if isinstance(e, Started))
    stop = started.batches_per_epoch
    assert 1 < stop < 12
    list(train(recipe_for(tmp_path, accumulate=1, stop_after=stop), tmp_path / "run"))
    state = json.loads((tmp_path / f"run/checkpoints/step-{stop:08d}/state.json").read_text())
    assert state["batches"] == {"epoch": 2, "batch": 0}
    list(train(plain, tmp_path / "straight"))
    list(train(plain, tmp_path / "run"))
    assert_same_bits(tensors(tmp_path / "straight"), tensors(tmp_path / "run"))


def test_a_killed_process_goes_on_from_its_last_checkpoint_bit_for_bit(
    straight: Path, tmp_path: Path
) -> None:
    recipe = recipe_for(tmp_path, checkpoint_every=5)
    code = (
        "import os, signal, sys\n"
        "from tests.run.test_resume import recipe_for\n"
        "from pathlib import Path\n"
        "from dragoman.run import train\n"
        "folder = Path(sys.argv[1])\n"
        "for event in train(recipe_for(folder, checkpoint_every=5), folder / 'run'):\n"
        "    if getattr(event, 'step', 0) == 7:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())},
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    events = list(train(recipe, tmp_path / "run"))
    assert any(isinstance(e, Notice) and "from update 5" in e.text for e in events)
    assert_same_bits(tensors(straight), tensors(tmp_path / "run"))
    assert rates_and_losses(straight) == rates_and_losses(tmp_path / "run")


def test_a_damaged_checkpoint_is_skipped_with_a_message(straight: Path, tmp_path: Path) -> None:
    list(train(recipe_for(tmp_path, checkpoint_every=3, stop_after=6), tmp_path / "run"))
    weights = tmp_path / "run/checkpoints/step-00000006/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    events = list(train(recipe_for(tmp_path, checkpoint_every=3), tmp_path / "run"))
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert any("step-00000006" in text and "skipped" in text for text in notices)
    assert any("from update 3" in text for text in notices)
    assert_same_bits(tensors(straight), tensors(tmp_path / "run"))


def test_what_a_killed_write_left_is_not_taken_for_a_checkpoint(tmp_path: Path) -> None:
    list(train(recipe_for(tmp_path, stop_after=2), tmp_path / "run"))
    half = tmp_path / "run/checkpoints/.step-00000009.writing-1"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    events = list(train(recipe_for(tmp_path), tmp_path / "run"))
    assert isinstance(events[-1], Finished)
    assert not half.exists()


def test_should_stop_saves_after_the_update_in_hand(tmp_path: Path) -> None:
    asked: list[int] = []

    def interrupted() -> str:
        asked.append(1)
        return "interrupted" if len(asked) == 3 else ""

    events = list(train(recipe_for(tmp_path), tmp_path / "run", should_stop=interrupted))
    saved = [event for event in events if isinstance(event, Saved)]
    assert [event.step for event in saved] == [3]
    assert saved[0].path.is_dir()
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    assert (stopped.step, stopped.steps, stopped.reason) == (3, 12, "interrupted")


def test_a_finished_run_is_left_alone(straight: Path) -> None:
    recipe = recipe_for(straight.parent)
    before = tensors(straight)
    events = list(train(recipe, straight))
    assert [type(event) for event in events] == [Notice]
    assert_same_bits(before, tensors(straight))


def test_another_recipe_is_refused_with_its_differences(straight: Path) -> None:
    with pytest.raises(CheckpointError, match=r"training\.warmup: 3 was 4") as caught:
        list(train(recipe_for(straight.parent, warmup=3), straight))
    assert "--accept-changes" in str(caught.value)


def test_changes_are_accepted_when_asked(tmp_path: Path) -> None:
    list(train(recipe_for(tmp_path), tmp_path / "run"))
    longer = recipe_for(tmp_path, steps=14)
    events = list(train(longer, tmp_path / "run", accept_changes=True))
    assert isinstance(events[-1], Finished)
    assert (tmp_path / "run/checkpoints/step-00000014").is_dir()


def test_a_readme_that_is_no_model_card_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    for restart in (False, True):
        with pytest.raises(CheckpointError, match="choose a new folder"):
            list(train(recipe_for(tmp_path), tmp_path, restart=restart))
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "mine"


def test_two_processes_never_train_in_one_folder(tmp_path: Path) -> None:
    first = train(recipe_for(tmp_path), tmp_path / "run")
    next(first)
    with pytest.raises(CheckpointError, match="another process is training here"):
        list(train(recipe_for(tmp_path), tmp_path / "run"))
    assert isinstance(list(first)[-1], Finished)


def test_a_restart_that_is_refused_leaves_the_tokenizer_of_the_run_in_progress(
    tmp_path: Path,
) -> None:
    first = train(recipe_for(tmp_path), tmp_path / "run")
    next(first)
    before = (tmp_path / "run/tokenizer.json").read_bytes()
    other = parse_recipe(write_record(recipe_for(tmp_path)), ["tokenizer.size=290"])
    with pytest.raises(CheckpointError, match="another process is training here"):
        list(train(other, tmp_path / "run", restart=True))
    assert (tmp_path / "run/tokenizer.json").read_bytes() == before
    first.close()  # type: ignore[attr-defined]  # a generator


def test_the_shape_of_a_model_cannot_change_in_a_run(straight: Path) -> None:
    wider = parse_recipe(write_record(recipe_for(straight.parent)), ["model.d_ff=64"])
    with pytest.raises(
        CheckpointError, match=r"cannot change in a run.*\n.*model\.d_ff: 64 was 32"
    ):
        list(train(wider, straight, accept_changes=True))


def test_a_tokenizer_without_its_recipe_is_not_taken_over(straight: Path, tmp_path: Path) -> None:
    # What a kill between the two files leaves behind.
    list(train(recipe_for(tmp_path, stop_after=1), tmp_path / "run"))
    tokenizer = (tmp_path / "run/tokenizer.json").read_bytes()
    (tmp_path / "next").mkdir()
    (tmp_path / "next/tokenizer.json").write_bytes(tokenizer.replace(b"hund", b"hand"))
    list(train(recipe_for(tmp_path, stop_after=1), tmp_path / "next"))
    assert (tmp_path / "next/tokenizer.json").read_bytes() == tokenizer


def test_other_training_text_is_refused(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path, stop_after=3)
    list(train(recipe, tmp_path / "run"))
    text = (tmp_path / "train.de").read_text(encoding="utf-8").replace("hund", "fuchs")
    (tmp_path / "train.de").write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError, match="not what this run began with"):
        list(train(recipe, tmp_path / "run"))


def test_a_restart_throws_the_old_run_away(straight: Path, tmp_path: Path) -> None:
    list(train(recipe_for(tmp_path, seed=2), tmp_path / "run"))
    list(train(recipe_for(tmp_path), tmp_path / "run", restart=True))
    assert_same_bits(tensors(straight), tensors(tmp_path / "run"))
