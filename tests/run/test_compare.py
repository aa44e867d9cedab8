"""Variants side by side: the same data, order and budget; what comes out; going on."""

import json
import math
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import pytest
import torch

from dragoman.data import Files
from dragoman.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    DragomanError,
    MissingExtraError,
)
from dragoman.evaluation import Validation
from dragoman.models import SequenceToSequence, build_model
from dragoman.recipe import read_recipe
from dragoman.run import compare, draw_comparison, evaluate
from dragoman.run.compare import default_folder
from dragoman.run.comparison.events import (
    CompareEvent,
    ComparisonDone,
    VariantDone,
    VariantStarted,
)
from dragoman.run.comparison.file import plan_runs, read_comparison
from dragoman.run.comparison.job import Job, run_job
from dragoman.run.comparison.log import RunLog
from dragoman.run.comparison.sentences import read_validation
from dragoman.run.comparison.variant import run_variant
from dragoman.run.example_batch import planned_config
from dragoman.run.tasks import prepare_task
from dragoman.run.tasks.pairs import read_all_pairs
from dragoman.run.tasks.translation import Translation
from dragoman.training import Notice, StepDone, Stopped
from dragoman.translator import Translator
from tests.fixtures import write_corpus

RECIPES = Path(__file__).parents[2] / "recipes"
RECIPE = """
[data]
train = { source = "train.de", target = "train.en" }
validation = { source = "train.de", target = "train.en" }
test = { source = "test.de", target = "test.en" }
[tokenizer]
size = 300
[model]
layers = 1
d_model = 16
heads = 2
d_ff = 32
[training]
batch_tokens = 96
warmup = 2
log_every = 4
checkpoint_every = 3
schedule = { kind = "constant", peak = 1e-2 }
[validation]
every = 3
metrics = []
[decoding]
beam = 2
max_length = 8
"""
VARIANTS = """
[[variant]]
name = "base"
[[variant]]
name = "N = 2"
set = ["model.layers=2"]
group = "C"
[[variant]]
name = "LSTM"
set = ['model={ architecture = "recurrent", layers = 1, d_model = 16 }']
group = "others"
"""
SELDOM = 'set = ["training.checkpoint_every=50", "validation.every=60"]'


def write_files(folder: Path, variants: str = VARIANTS, head: str = "updates = 6") -> Path:
    folder.mkdir(exist_ok=True)
    write_corpus(folder)
    for side in ("de", "en"):
        lines = (folder / f"train.{side}").read_text(encoding="utf-8").split("\n")
        (folder / f"test.{side}").write_text("\n".join(lines[:8]) + "\n", encoding="utf-8")
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    file = folder / "three.toml"
    file.write_text(f'recipe = "recipe.toml"\n{head}\n{variants}', encoding="utf-8")
    return file


@pytest.fixture(autouse=True)
def _in_this_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train here, since a process for each variant takes seconds to load; one test does not."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(sys.modules["dragoman.run.compare"], "run_job", run_variant)


class Ticking:
    """A clock that goes on by 0.05 seconds whenever it is looked at, on every machine."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        self.seconds += 0.05
        return self.seconds


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Ticking:
    clock = Ticking()
    monkeypatch.setattr("dragoman.training.meter.time", clock)
    return clock


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[CompareEvent]]:
    file = write_files(tmp_path_factory.mktemp("straight"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["dragoman.run.compare"], "run_job", run_variant)
        return file, list(compare(file, file.parent / "run"))


def done(events: list[CompareEvent]) -> ComparisonDone:
    last = events[-1]
    assert isinstance(last, ComparisonDone)
    return last


def losses(run: Path) -> list[tuple[int, float]]:
    return [(point.step, point.loss_nats) for point in RunLog(run).curve]


def test_each_row_holds_what_its_model_does(
    straight: tuple[Path, list[CompareEvent]],
) -> None:
    file, events = straight
    found = done(events)
    test = Files(source=file.parent / "test.de", target=file.parent / "test.en")
    train = Files(source=file.parent / "train.de", target=file.parent / "train.en")
    for row, place in zip(found.compared.rows, ("base", "n-2", "lstm"), strict=True):
        translator = Translator.load(found.folder / place)
        weights = sum(weight.numel() for weight in translator.model.parameters())
        assert (row.parameters, row.updates) == (weights, 6)
        recipe = plan_runs(read_comparison(file), file)[0].recipe
        scored = evaluate(translator, test, search=recipe.decoding)
        values, signatures = scored.by_metric()
        assert (row.bleu, row.chrf) == (values["bleu"], values["chrf"])
        assert row.runs[0].signatures == signatures
        assert row.perplexity is not None
        # The training text is the validation set here.
        loss = evaluate(translator, train, metrics=["bleu"], search=recipe.decoding).loss_nats
        assert row.perplexity == pytest.approx(math.exp(loss), rel=1e-6)
        assert row.bleu_low <= row.bleu_high
        assert row.target_tokens_per_second > 0
        assert row.peak_memory_bytes is not None
    assert [row.group for row in found.compared.rows] == ["", "C", "others"]


def test_differences_are_from_the_first_variant(
    straight: tuple[Path, list[CompareEvent]],
) -> None:
    first, *others = done(straight[1]).compared.rows
    assert (first.bleu_difference, first.perplexity_difference, first.p_value) == (None,) * 3
    for row in others:
        assert row.bleu_difference == row.bleu - first.bleu
        assert row.perplexity is not None
        assert first.perplexity is not None
        assert row.perplexity_difference == row.perplexity - first.perplexity
        assert row.p_value is not None
        assert 0 < row.p_value <= 1


def test_the_folder_holds_table_numbers_and_picture(
    straight: tuple[Path, list[CompareEvent]],
) -> None:
    found = done(straight[1])
    numbers = json.loads((found.folder / "comparison.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in numbers["rows"]] == ["base", "N = 2", "LSTM"]
    assert numbers["rows"][1]["settings"] == ["model.layers=2"]
    assert [point["step"] for point in numbers["rows"][0]["runs"][0]["curve"]] == [3, 6]
    page = (found.folder / "comparison.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1
    assert "test.de and test.en" in page
    assert str(found.folder.parent) not in page  # no paths of this machine
    assert (found.folder / "comparison.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert (found.folder / "n-2/hypotheses.txt").read_text(encoding="utf-8").count("\n") == 8


def test_the_text_table_has_aligned_columns_and_a_heading_for_each_group(
    straight: tuple[Path, list[CompareEvent]],
) -> None:
    lines = done(straight[1]).compared.lines()
    head = lines[0]
    for name in ("weights", "updates", "perplexity", "BLEU", "chrF", "tokens/s"):
        end = head.index(name) + len(name)
        for line in (line for line in lines if line.startswith(("base", "  N = 2", "  LSTM"))):
            assert line[end - 1] != " "
            assert line[end : end + 1] == " "
    assert [line for line in lines if line in ("C", "others")] == ["C", "others"]


def test_every_variant_sees_the_same_batches(tmp_path: Path) -> None:
    file = write_files(tmp_path)
    seen: list[list[list[int]]] = []
    for one in plan_runs(read_comparison(file), file):
        batches = prepare_task(one.recipe, tmp_path / "run" / one.place).batches()
        made = [batches.next_batch() for _ in range(2 * batches.batches_in_epoch)]
        seen.append([[*batch.pairs.tolist(), *batch.source.flatten().tolist()] for batch in made])
    assert len(seen) == 3
    assert seen[0] == seen[1] == seen[2]
    half = len(seen[0]) // 2
    assert seen[0][:half] != seen[0][half:]  # each epoch in an order of its own


@pytest.mark.parametrize("stop_at", ["after the first variant", "within the second"])
def test_an_interrupted_comparison_goes_on_and_ends_the_same(
    stop_at: str, straight: tuple[Path, list[CompareEvent]], tmp_path: Path
) -> None:
    file = write_files(tmp_path)
    seen: list[CompareEvent] = []

    def stop() -> str:
        finished = sum(isinstance(event, VariantDone) for event in seen)
        began = sum(isinstance(event, VariantStarted) for event in seen)
        steps = isinstance(seen[-1], StepDone)
        within = began == 2 and steps
        return "interrupted" if finished and (within or stop_at.startswith("after")) else ""

    for event in compare(file, tmp_path / "run", should_stop=stop):
        seen.append(event)
    assert isinstance(seen[-1], Stopped)
    assert not (tmp_path / "run/comparison.json").exists()
    again = list(compare(file, tmp_path / "run"))
    earlier = [event.earlier for event in again if isinstance(event, VariantDone)]
    assert earlier == [True, False, False]
    assert [event.name for event in again if isinstance(event, VariantStarted)] == ["N = 2", "LSTM"]
    whole, resumed = done(straight[1]).compared.rows, done(again).compared.rows
    assert [row.bleu for row in whole] == [row.bleu for row in resumed]
    assert [row.perplexity for row in whole] == [row.perplexity for row in resumed]
    for place in ("base", "n-2", "lstm"):
        assert losses(tmp_path / "run" / place) == losses(straight[0].parent / "run" / place)


def test_a_finished_comparison_trains_nothing(straight: tuple[Path, list[CompareEvent]]) -> None:
    file, _ = straight
    again = list(compare(file, file.parent / "run"))
    assert [type(event) for event in again] == [VariantDone] * 3 + [ComparisonDone]


def test_settings_given_beside_the_file_are_those_of_all_variants_unless_they_set_them(
    tmp_path: Path,
) -> None:
    file = write_files(tmp_path, head='updates = 6\nset = ["model.layers=3", "model.d_ff=8"]')
    given = ["model.layers=4", "training.warmup=5"]
    plan = plan_runs(read_comparison(file, overrides=given), file)
    found = [one.recipe for one in plan[:2]]  # an LSTM has no inner width
    assert [recipe.model.layers for recipe in found] == [4, 2]
    assert [recipe.training.warmup for recipe in found] == [5, 5]
    events = compare(file, tmp_path / "run", overrides=["model.heeds=3"])
    with pytest.raises(ConfigError, match=r"heeds: unknown key; did you mean heads"):
        list(events)


def test_a_wrong_variant_is_named_before_anything_is_trained(tmp_path: Path) -> None:
    variants = VARIANTS.replace("model.layers=2", "model.heeds=3") + (
        '[[variant]]\nname = "odd"\nset = ["model.heads=3", "training.optimiser.beta1=2"]\n'
    )
    file = write_files(tmp_path, variants)
    with pytest.raises(ConfigError) as caught:
        next(compare(file, tmp_path / "run"))
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"{file}: variant 'N = 2': model.heeds: unknown key; did you mean")
    assert any(line.startswith(f"{file}: variant 'odd': model.heads: 3 does not") for line in lines)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        ("training.batch_tokens=64", "training.batch_tokens"),
        ("training.steps=9", "training.steps"),
        ("training.seed=2", "training.seed"),
        ("tokenizer.size=290", "tokenizer.size"),
        ("data.max_length=9", "data.max_length"),
    ],
)
def test_what_all_variants_share_cannot_be_a_variant(
    setting: str, key: str, tmp_path: Path
) -> None:
    file = write_files(tmp_path, VARIANTS.replace("model.layers=2", setting))
    with pytest.raises(ConfigError, match=rf"variant 'N = 2': {key}: .*set it for all variants"):
        next(compare(file, tmp_path / "run"))


@pytest.mark.parametrize(
    ("head", "variants", "message"),
    [
        ("udpates = 3", VARIANTS, "udpates: unknown key; did you mean updates?"),
        ("updates = 3\nminutes = 2.0", VARIANTS, "minutes: updates is given too"),
        ("updates = 0", VARIANTS, "updates: 0 should be greater than or equal to 1"),
        ("seeds = [1, 1]", VARIANTS, "seeds: 2 are called 1"),
        ("", VARIANTS.replace("LSTM", "n 2"), "variant: 2 are called n-2"),
        ("", VARIANTS.replace("LSTM", "?!"), "variant.3.name: '?!' has no letter"),
        ("", VARIANTS.replace("group", "grup"), "variant.2.grup: unknown key; did you mean group?"),
        ("variant = []", "", "variant: there is none; add a [[variant]] table"),
        ('set = ["model.heads=3"]', VARIANTS, "model.heads: 3 does not divide d_model 16"),
        ("minutes = 0.1", VARIANTS.replace("model.layers=2", "training.schedule.kind=linear"), ""),
    ],
)
def test_mistakes_in_the_file_are_located(
    head: str, variants: str, message: str, tmp_path: Path
) -> None:
    file = write_files(tmp_path, variants, head)
    expected = message or "variant 'N = 2': training.schedule: linear ends at the last update"
    with pytest.raises(ConfigError) as caught:
        next(compare(file, tmp_path / "run"))
    assert expected in str(caught.value)


def test_a_missing_recipe_is_an_error_of_the_file(tmp_path: Path) -> None:
    file = write_files(tmp_path)
    file.write_text(file.read_text().replace('"recipe.toml"', '"recpe.toml"'))
    with pytest.raises(ConfigError, match=r"three\.toml: recipe: there is no file .*did you mean"):
        next(compare(file, tmp_path / "run"))


def test_there_must_be_something_to_measure_on(tmp_path: Path) -> None:
    file = write_files(tmp_path)
    lines = [line for line in RECIPE.split("\n") if not line.startswith(("validation", "test"))]
    (tmp_path / "recipe.toml").write_text("\n".join(lines))
    with pytest.raises(ConfigError, match="data: there is nothing to measure on"):
        next(compare(file, tmp_path / "run"))


def test_models_that_do_not_translate_are_refused(tmp_path: Path) -> None:
    setting = "model.architecture=decoder-only"
    file = write_files(tmp_path, VARIANTS.replace("model.layers=2", setting))
    with pytest.raises(ConfigError, match=r"'N = 2': data\.train: .* decoder-only does not learn"):
        next(compare(file, tmp_path / "run"))
    text = '{ text = "train.de" }'
    (tmp_path / "recipe.toml").write_text(
        f"[data]\ntrain = {text}\nvalidation = {text}\n"
        '[model]\narchitecture = "decoder-only"\n[training]\nsteps = 2\n'
    )
    file.write_text('recipe = "recipe.toml"\n[[variant]]\nname = "base"\n')
    with pytest.raises(ConfigError, match=r"model\.architecture: decoder-only does not translate"):
        next(compare(file, tmp_path / "run"))


@pytest.mark.usefixtures("ticking")
def test_minutes_end_each_variant_which_is_finished_then(tmp_path: Path) -> None:
    two = '[[variant]]\nname = "base"\n[[variant]]\nname = "wide"\nset = ["model.d_ff=64"]\n'
    file = write_files(tmp_path, two, f"updates = 6\n{SELDOM}")
    events = list(compare(file, tmp_path / "run", minutes=0.0195))  # 1.2 seconds
    rows = done(events).compared.rows
    assert not any(isinstance(event, Stopped) for event in events)
    for row in rows:
        run, log = row.runs[0], RunLog(tmp_path / "run" / row.name)
        assert run.minutes == 0.0195
        assert run.training_seconds == log.seconds >= 1.17
        last = (log.lines[-1].target_tokens - log.lines[-2].target_tokens) / log.lines[
            -1
        ].target_tokens_per_second
        assert log.seconds - last < 1.17  # it ends with the first line after its time
        assert run.updates == row.updates == log.lines[-1].step
        assert "update" in run.weights
    assert any("0.0195 minutes of training" in line for line in done(events).compared.lines())
    again = list(compare(file, tmp_path / "run", minutes=0.0195))
    assert [event.earlier for event in again if isinstance(event, VariantDone)] == [True, True]
    with pytest.raises(CheckpointError, match=r"minutes: 0\.04 was 0\.0195"):
        next(compare(file, tmp_path / "run", minutes=0.04))


def test_validation_takes_nothing_from_a_budget_in_minutes(
    tmp_path: Path, ticking: Ticking, monkeypatch: pytest.MonkeyPatch
) -> None:
    validate = Translation.validate

    def slow(task: Translation, model: SequenceToSequence) -> Validation:
        ticking.seconds += 60
        return validate(task, model)

    monkeypatch.setattr(Translation, "validate", slow)
    file = write_files(tmp_path, '[[variant]]\nname = "base"\n', f"minutes = 0.0195\n{SELDOM}")
    (often := tmp_path / "often.toml").write_text(file.read_text().replace("every=60", "every=4"))
    seldom = done(list(compare(file, tmp_path / "one"))).compared.rows[0]
    validated = done(list(compare(often, tmp_path / "two"))).compared.rows[0]
    assert seldom.updates == validated.updates
    assert seldom.runs[0].training_seconds == pytest.approx(validated.runs[0].training_seconds)
    assert validated.runs[0].training_seconds < 2
    assert [point.step for point in validated.runs[0].curve[:2]] == [4, 8]


@pytest.mark.usefixtures("ticking")
def test_interrupted_minutes_count_the_time_before(tmp_path: Path) -> None:
    head = f"minutes = 0.0195\n{SELDOM}"
    file = write_files(tmp_path, '[[variant]]\nname = "base"\n', head)
    straight = done(list(compare(file, tmp_path / "straight"))).compared.rows[0]
    lines: list[StepDone] = []
    first: list[CompareEvent] = []
    stop: Callable[[], str] = lambda: "interrupted" if len(lines) == 2 else ""  # noqa: E731  # one line says it
    for event in compare(file, tmp_path / "run", should_stop=stop):
        first.append(event)
        if isinstance(event, StepDone):
            lines.append(event)
    assert isinstance(first[-1], Stopped)
    assert RunLog(tmp_path / "run/base").seconds == pytest.approx(0.4, abs=0.2)
    resumed = done(list(compare(file, tmp_path / "run"))).compared.rows[0]
    assert abs(resumed.updates - straight.updates) <= 4  # a line more or less
    assert 1.17 <= resumed.runs[0].training_seconds < 1.17 + 0.3


def test_time_that_is_not_positive_is_refused(tmp_path: Path) -> None:
    file = write_files(tmp_path)
    for minutes in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ConfigError, match=r"--minutes: .* is not a time"):
            next(compare(file, tmp_path / "run", minutes=minutes))


def test_a_variant_whose_length_limit_drops_other_pairs_is_found_out(tmp_path: Path) -> None:
    learned = 'model.positions={ kind = "learned", max_length = 15 }'
    variants = VARIANTS.replace('"model.layers=2"', f"'{learned}'")
    file = write_files(tmp_path, variants)
    with pytest.raises(ConfigError, match="variant 'N = 2': did not see the same pairs"):
        list(compare(file, tmp_path / "run"))


def test_a_folder_of_another_comparison_is_refused_before_training(
    straight: tuple[Path, list[CompareEvent]], tmp_path: Path
) -> None:
    file, _ = straight
    other = tmp_path / "other.toml"
    text = file.read_text().replace("recipe.toml", str(file.parent / "recipe.toml"))
    other.write_text(text.replace("model.layers=2", "model.layers=3"))
    with pytest.raises(CheckpointError, match=r"model\.layers: 3 was 2") as caught:
        next(compare(other, file.parent / "run"))
    assert "--restart" in str(caught.value)


def test_restart_trains_again(tmp_path: Path) -> None:
    file = write_files(tmp_path, '[[variant]]\nname = "base"\n', "updates = 3")
    list(compare(file, tmp_path / "run"))
    file.write_text(file.read_text().replace("updates = 3", "updates = 4"))
    events = list(compare(file, tmp_path / "run", restart=True))
    assert done(events).compared.rows[0].updates == 4
    (tmp_path / "train.en").unlink()
    with pytest.raises(DataError, match=r"train\.en: no such file"):
        next(compare(file, tmp_path / "run", restart=True))
    assert (tmp_path / "run/base/measured.json").exists()  # what was there is still there


def test_several_seeds_give_means_and_a_spread(tmp_path: Path) -> None:
    file = write_files(tmp_path, '[[variant]]\nname = "base"\n', "updates = 4\nseeds = [3, 5]")
    found = done(list(compare(file, tmp_path / "run"))).compared
    row = found.rows[0]
    assert (tmp_path / "run/base/seed-3").is_dir()
    assert (tmp_path / "run/base/seed-5").is_dir()
    one, two = row.runs
    assert one.loss_nats != two.loss_nats
    assert row.bleu == pytest.approx((one.bleu + two.bleu) / 2)
    # With two values the standard deviation is their distance by the root of 2.
    assert row.bleu_spread == pytest.approx(abs(one.bleu - two.bleu) / math.sqrt(2))
    assert any("seeds 3, 5" in line for line in found.lines())
    assert "±" in found.lines()[1]


def test_without_a_test_set_the_validation_set_is_measured_on(tmp_path: Path) -> None:
    file = write_files(tmp_path, '[[variant]]\nname = "base"\n', "updates = 2")
    lines = [line for line in RECIPE.split("\n") if not line.startswith(("validation", "test"))]
    recipe = "\n".join(lines).replace("[data]", "[data]\nhold_out = 5")
    (tmp_path / "recipe.toml").write_text(recipe)
    run = done(list(compare(file, tmp_path / "run"))).compared.rows[0].runs[0]
    assert run.measured_on == "5 pairs held out of train.de and train.en"
    assert run.loss_nats is not None


def test_without_matplotlib_the_rest_is_written(
    straight: tuple[Path, list[CompareEvent]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file, events = straight
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"dragoman\[plot\]"):
        draw_comparison(done(events).compared, tmp_path / "picture.png")
    picture = file.parent / "run/comparison.png"
    picture.unlink()
    monkeypatch.setattr(sys.modules["dragoman.run.compare"], "find_spec", lambda _: None)
    again = list(compare(file, file.parent / "run"))
    notice = next(event for event in again if isinstance(event, Notice))
    assert "dragoman[plot]" in notice.text
    assert not picture.exists()


def test_many_variants_of_many_groups_have_looks_of_their_own(
    straight: tuple[Path, list[CompareEvent]], tmp_path: Path
) -> None:
    from dragoman.run.comparison.picture import _looks  # pyright: ignore[reportPrivateUsage]  # no other way in

    first = done(straight[1]).compared.rows[0]
    rows = [first]
    rows += [
        replace(first, name=f"{group} {n}", group=group) for group in "ABCDEFGH" for n in range(4)
    ]
    looks = _looks(rows)
    assert len({(look.colour, look.marker) for look in looks}) == len(rows)
    places = [look.place for look in looks]
    assert min(after - before for before, after in pairwise(places)) >= 1
    compared = replace(done(straight[1]).compared, rows=tuple(rows))
    draw_comparison(compared, tmp_path / "many.png")
    assert (tmp_path / "many.png").stat().st_size > 20_000


def test_the_default_folder_is_named_after_the_file() -> None:
    assert default_folder(Path("recipes/compare-table3.toml")) == Path("runs/compare-table3")
    assert default_folder(Path("mine.toml")) == Path("runs/compare-mine")


@pytest.mark.slow
def test_a_variant_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    file = write_files(tmp_path, '[[variant]]\nname = "base"\n', "updates = 3")
    ballast = bytearray(os.urandom(1024)) * (700 * 1024)  # 700 MB in this process
    events = list(compare(file, tmp_path / "run"))
    run = done(events).compared.rows[0].runs[0]
    # What the process needed, not what this one holds: torch takes some 250 MB.
    assert run.peak_memory_bytes is not None
    assert 100e6 < run.peak_memory_bytes < len(ballast)
    kinds = [type(event).__name__ for event in events]
    assert kinds[0] == "VariantStarted"
    assert {"Notice", "Started", "Validated", "Saved", "Finished"} <= set(kinds)
    assert kinds[-2:] == ["VariantDone", "ComparisonDone"]


@pytest.mark.slow
def test_errors_of_the_process_are_those_of_the_variant(tmp_path: Path) -> None:
    file = write_files(tmp_path, '[[variant]]\nname = "base"\n', "updates = 3")
    (tmp_path / "train.de").write_bytes(b"der hund\n\xff\n")
    with pytest.raises(DragomanError, match=r"variant 'base': .*train\.de: line 2: not UTF-8"):
        list(compare(file, tmp_path / "run"))


@pytest.mark.slow
def test_a_process_that_is_killed_is_an_error_and_an_asked_one_saves(tmp_path: Path) -> None:
    file = write_files(tmp_path, '[[variant]]\nname = "base"\n', "updates = 100000")
    one = plan_runs(read_comparison(file), file)[0]
    job = Job(recipe=one.recipe, folder=tmp_path / "run")
    stopped = list(run_job(job, should_stop=after_a_line()))
    assert isinstance(stopped[-1], Stopped)
    assert stopped[-1].path.is_dir()
    events = run_job(job)
    list(islice(events, 3))
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    os.kill(int(children[-1]), signal.SIGKILL)
    with pytest.raises(DragomanError, match="ended with status -9"):
        list(events)


def after_a_line() -> Callable[[], str]:
    asked: list[int] = []

    def stop() -> str:
        asked.append(1)
        return "interrupted" if len(asked) > 5 else ""

    return stop


def test_the_comparisons_of_the_project_read() -> None:
    found: dict[str, int] = {}
    for file in RECIPES.glob("compare-*.toml"):
        planned = plan_runs(read_comparison(file), file)
        found[file.stem] = len({one.variant.name for one in planned})
        assert len(planned) == found[file.stem]
    assert found == {
        "compare-table2": 3,
        "compare-table3": 19,
        "compare-successors": 17,
        "compare-long-range": 4,
        "compare-recall": 6,
    }


@pytest.mark.parametrize("name", ["compare-table2", "compare-long-range", "compare-recall"])
def test_families_are_compared_with_about_as_many_weights(name: str) -> None:
    file = RECIPES / f"{name}.toml"
    counts: dict[str, int] = {}
    for one in plan_runs(read_comparison(file), file):
        with torch.device("meta"):
            model = build_model(planned_config(one.recipe))
        counts[one.variant.name] = sum(weight.numel() for weight in model.parameters())
    assert max(counts.values()) < 1.1 * min(counts.values())


ONE = 'train = { source = "train.de", target = "train.en" }'
TAGGED = '{ source = "train.de", target = "train.en", target_language = "%s" }'


def test_several_corpora_are_compared_and_measured_on_all_sets(tmp_path: Path) -> None:
    file = write_files(tmp_path, '[[variant]]\nname = "one"\n[[variant]]\nname = "two"\n')
    both = (
        '{ source = "train.de", target = "train.en" }, { source = "test.de", target = "test.en" }'
    )
    text = RECIPE.replace(ONE, f"train = [{both}]").replace(
        'test = { source = "test.de", target = "test.en" }', f"test = [{both}]"
    )
    (tmp_path / "recipe.toml").write_text(text, encoding="utf-8")
    list(compare(file, tmp_path / "run"))
    found = [*(tmp_path / "run").rglob("hypotheses.txt")]
    assert len(found) == 2
    assert {len(path.read_text("utf-8").splitlines()) for path in found} == {40 + 8}


def test_several_target_languages_have_no_common_measure(tmp_path: Path) -> None:
    file = write_files(tmp_path)
    parts = ", ".join(TAGGED % language for language in ("de", "en"))
    text = RECIPE.replace(ONE, f"train = [{parts}]")
    for name in ("validation", "test"):
        text = text.replace(f"{name} = {{", f'{name} = {{ target_language = "de",')
    (tmp_path / "recipe.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"data\.train: 2 target languages have no common"):
        next(compare(file, tmp_path / "run"))


def test_what_is_held_out_is_drawn_again_behind_the_same_filters(tmp_path: Path) -> None:
    write_files(tmp_path)
    text = RECIPE.replace('validation = { source = "train.de", target = "train.en" }\n', "")
    text = text.replace(
        "[tokenizer]", 'hold_out = 5\nfilters = { drop = ["overlap"] }\n[tokenizer]'
    )
    (tmp_path / "recipe.toml").write_text(text, encoding="utf-8")
    recipe = read_recipe(tmp_path / "recipe.toml")
    held_out = read_all_pairs(recipe, tmp_path / "run").validation
    assert held_out is not None
    found = read_validation(recipe)
    assert found.sources == tuple(pair.source for pair in held_out.pairs)
    assert len(found.sources) == 5
