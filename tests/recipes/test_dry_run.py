"""Every recipe of the project says what it is and what it needs, without its data."""

import re
import tomllib
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.errors import ConfigError
from dragoman.recipe import Recipe, parse_recipe, read_recipe
from dragoman.run import dry_run
from dragoman.run.compare import plan_runs
from dragoman.run.comparison.file import read_comparison
from tests.recipes.files import COMPARISONS, FOLDER, PAPER, RECIPES, paper_recipe

PRICE = 2.0


def printed(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> str:
    assert main(["train", str(path), "--dry-run", *options]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def weights(out: str) -> int:
    (found,) = re.findall(r"^# [\w-]+: ([\d,]+) weights$", out, re.MULTILINE)
    return int(found.replace(",", ""))


def test_all_recipes_are_looked_at() -> None:
    assert {*PAPER} == {path.stem[6:] for path in RECIPES if path.stem.startswith("wmt14-")}
    assert len(RECIPES) >= 13
    assert FOLDER / "compare-table3.toml" in COMPARISONS


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_prints_its_choices_its_text_its_memory_and_its_cost(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(capsys, path, "--hardware", "h100:8", "--price", str(PRICE))
    recipe = read_recipe(path)
    assert parse_recipe(tomllib.loads(out)) == recipe  # all of it is a recipe, with comments
    named = re.findall(r"^# (train|validation|test) +(\S.*): (is there|is not there)$", out, re.M)
    assert {one[0] for one in named} >= {"train"}
    for _, file, found in named:
        assert (found == "is there") == Path(file).is_file()
    assert ("# " + " " * 12 + "a training needs the files that are missing" in out) == any(
        found == "is not there" for *_, found in named
    )
    assert "# stand-in    no text was read: below, random pieces stand in for it" in out
    assert weights(out) > 10_000
    assert re.search(r"^#   memory +[\d.,]+ [MG]iB of 74\.51 GiB each", out, re.MULTILINE)
    cost = rf", ([\d.e-]+) at {PRICE:g} an? (device and )?hour$"
    (found,) = re.findall(cost, out, re.MULTILINE)
    assert float(found[0]) >= 0


# By hand: V d for the one table; attention has 4 matrices d x d, the inner network 2 of d x f with
# f + d biases, a norm 2 d; an encoder layer has one attention and 2 norms, a decoder layer 2 and 3.
def count(vocabulary: int, d: int, f: int, layers: int = 6) -> int:
    inner = 2 * d * f + f + d
    encoder, decoder = 4 * d * d + inner + 4 * d, 8 * d * d + inner + 6 * d
    return vocabulary * d + layers * (encoder + decoder)


@pytest.mark.parametrize(
    ("name", "expected", "paper"),
    [
        ("en-de-base", count(37_000, 512, 2048), 65),
        ("en-de-big", count(37_000, 1024, 4096), 213),
        ("en-fr-base", count(32_000, 512, 2048), 65),
        ("en-fr-big", count(32_000, 1024, 4096), 213),
    ],
)
def test_weights_of_the_papers_models_stand_beside_what_the_paper_prints(
    name: str, expected: int, paper: int, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(capsys, paper_recipe(name), "--hardware", "p100:8")
    assert weights(out) == expected
    said = f"# paper       table 3 prints {paper} million for this size, English to German; docs/"
    assert said in out
    assert {"en-de-base": 63_045_632, "en-de-big": 214_171_648}.get(name, expected) == expected


def test_other_sizes_are_compared_with_no_row_of_the_paper() -> None:
    assert dry_run(read_recipe(FOLDER / "multi30k-de-en.toml"), ["h100"]).printed is None
    assert dry_run(read_recipe(FOLDER / "shakespeare.toml"), ["h100"]).printed is None


@pytest.mark.parametrize("path", COMPARISONS, ids=lambda path: path.stem)
def test_the_first_variant_of_a_comparison_can_be_looked_at(path: Path) -> None:
    report = dry_run(plan_runs(read_comparison(path), path)[0].recipe, ["h100"]).report
    assert report.plans[0].work.parameters > 100_000


def table(**training: object) -> Recipe:
    files = {"source": "missing.de", "target": "missing.en"}
    small = {"layers": 1, "d_model": 16, "heads": 2, "d_ff": 32}
    return parse_recipe(
        {
            "data": {"train": files, "hold_out": 7},
            "tokenizer": {"size": 300},
            "model": small,
            "training": {"batch_tokens": 128, **training},
        }
    )


def test_without_hardware_this_machine_and_one_other_are_looked_at() -> None:
    found = dry_run(table(steps=10))
    assert [plan.name for plan in found.report.plans] == ["cpu", "h100"]
    assert "# validation  7 taken out of train" in found.lines()


def test_epochs_cost_what_a_thousand_updates_cost() -> None:
    found = dry_run(table(epochs=2), ["a100:2"], price=3.0)
    (plan,) = found.report.plans
    seconds = 1000 * plan.time.total
    assert found.lines()[-1] == (
        f"# a100:2  1,000 updates: {seconds:.3g} s, {seconds / 3600 * 2 * 3:.2g} at 3 an hour"
    )


def test_wrong_hardware_is_refused() -> None:
    with pytest.raises(ConfigError, match="h1000"):
        dry_run(table(steps=10), ["h1000"])


def test_options_of_a_dry_run_are_refused_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", str(RECIPES[0]), "--price", "2"]) == 2
    assert capsys.readouterr().err == "error: --price: is for --dry-run; leave it out\n"
