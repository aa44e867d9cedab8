"""The commands of the paper's recipes from end to end, scaled down: get, torchrun, evaluate.

The text is newstest2013 where ../shared/data has it, and the built-in corpus elsewhere, packed as
the archives of WMT 2014 are and served from this machine.
"""

import gzip
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman import downloads
from dragoman.cli.main import main
from dragoman.data.sample import sample_corpus
from dragoman.downloads import Archive, PublicCorpus, find_corpus
from dragoman.recipe import read_recipe
from tests.downloads.conftest import _loopback_only, server  # noqa: F401  # fixtures
from tests.downloads.corpora import copy, tar
from tests.downloads.server import Server
from tests.recipes.files import paper_recipe
from tests.run.test_processes import environment, torchrun

NEWS = Path(__file__).parents[3] / "shared/data/wmt-newstest"
PAIRS, HELD_OUT = 360, 12
UPDATES = 6
SCALED = {
    "model.layers": 1,
    "model.d_model": 32,
    "model.heads": 2,
    "model.d_ff": 64,
    "tokenizer.size": 700,
    "training.batch_tokens": 1500,
    "training.steps": UPDATES,
    "training.checkpoint_every": 1,
    "training.log_every": 1,
    "training.process_timeout": 120,
    "validation.every": 3,
    "decoding.max_length": 12,
}
SETTINGS = [part for key, value in SCALED.items() for part in ("--set", f"{key}={value}")]


def text(language: str) -> tuple[list[str], list[str]]:
    """Give English lines and their translations."""
    if language == "de" and not NEWS.is_dir():
        pairs = sample_corpus(train=PAIRS, validation=0, test=0).train
        return [english for _, english in pairs], [german for german, _ in pairs]
    if not NEWS.is_dir():
        pytest.skip("needs ../shared/data/wmt-newstest")
    sides: list[list[str]] = []
    for side in ("en", language):
        with gzip.open(NEWS / f"newstest2013.{side}.gz", "rt", encoding="utf-8") as file:
            sides.append(file.read().split("\n")[:PAIRS])
    return sides[0], sides[1]


def sgm(lines: Sequence[str], language: str) -> str:
    rows = "".join(
        f'<seg id="{number}">{line.replace("&", "&amp;").replace("<", "&lt;")}</seg>\n'
        for number, line in enumerate(lines, start=1)
    )
    head = f'<refset setid="t" srclang="any" trglang="{language}">'
    return f'{head}\n<doc docid="d">\n{rows}</doc>\n</refset>\n'


def stand_in(server: Server, name: str) -> PublicCorpus:  # noqa: F811  # no fixture here
    """Describe the corpus of the catalogue, with a little text under the names it has there."""
    real = find_corpus(name)
    english, other = text(real.source_language)
    train, held = slice(0, PAIRS - HELD_OUT), slice(PAIRS - HELD_OUT, PAIRS)
    cut = len(english[train]) // len(real.train)
    members: dict[str, dict[str, str]] = {archive.name: {} for archive in real.archives}
    for number, piece in enumerate(real.train):
        last = number == len(real.train) - 1
        here = slice(number * cut, PAIRS - HELD_OUT if last else (number + 1) * cut)
        members[piece.archive][piece.source] = "\n".join(other[here]) + "\n"
        members[piece.archive][piece.target] = "\n".join(english[here]) + "\n"
    (dev,), (test,) = real.validation, real.test
    members[dev.archive][dev.source] = "\n".join(other[held]) + "\n"
    members[dev.archive][dev.target] = "\n".join(english[held]) + "\n"
    members[test.archive][test.source] = sgm(other[held], real.source_language)
    members[test.archive][test.target] = sgm(english[held], "en")
    archives: list[Archive] = []
    for archive in real.archives:
        data = tar(members[archive.name])
        url = server.put(f"/{archive.name}.tgz", data)
        archives.append(replace(archive, copies=(copy(url, data),)))
    return replace(
        real,
        archives=tuple(archives),
        train=tuple(replace(piece, pairs=None) for piece in real.train),
        validation=(replace(dev, pairs=HELD_OUT),),
        test=(replace(test, pairs=HELD_OUT),),
        train_pairs=PAIRS - HELD_OUT,
        text_bytes=1_000_000,
    )


@pytest.fixture
def project(
    server: Server,  # noqa: F811  # fixture
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Make a folder laid out as the repository is, in which commands of recipes can be given."""
    monkeypatch.setattr(downloads, "find_corpus", lambda name: stand_in(server, name))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    return tmp_path


def command(path: Path, verb: str) -> list[str]:
    """Read a command from the head of a recipe, without what would make it large."""
    head = path.read_text("utf-8").replace("\\\n#", "")
    (line,) = re.findall(rf"^#   (?:torchrun .*)?dragoman ({verb} [^#\n]*)", head, re.MULTILINE)
    return str(line).split()


def with_text(project: Path, name: str) -> Path:
    """Put a recipe into the folder, and fetch its text as its head says."""
    path = paper_recipe(name)
    shutil.copy(path, project / "recipes")
    assert main(command(path, "get")) == 0
    return path


def test_the_commands_of_a_recipe_work_in_two_processes(
    warm: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = with_text(project, "en-de-base")
    done = subprocess.run(
        torchrun(warm, 2, "dragoman", *command(path, "train"), *SETTINGS),
        cwd=project,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    run = project / "runs/wmt14-en-de-base"
    events = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    steps = [event["step"] for event in events if event["event"] == "StepDone"]
    assert steps == list(range(1, UPDATES + 1))
    assert "average of the last 5 checkpoints" in done.stderr
    assert [*(project / "data/wmt14-de-en/ids").glob("pairs-*")]
    pytest.importorskip("sacremoses", reason="needs sacremoses: the extra moses")
    capsys.readouterr()
    assert main([*command(path, "evaluate"), "--max-length", "12", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sentences"] == HELD_OUT
    assert "tok:13a" in found["metrics"]["bleu"]["signature"]
    assert "split:hyphens" in found["metrics"]["paper-bleu-de"]["signature"]


def test_the_big_french_model_averages_twenty_and_has_word_pieces(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = with_text(project, "en-fr-big")
    more = ["--set", "training.steps=22", "--set", "validation.every=22"]
    assert main([*command(path, "train"), *SETTINGS, *more]) == 0
    assert "average of the last 20 checkpoints" in capsys.readouterr().err
    assert read_recipe(project / "runs/wmt14-en-fr-big/recipe.toml").tokenizer.kind == "wordpiece"
