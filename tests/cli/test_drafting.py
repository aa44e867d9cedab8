"""The option ``--draft``: the same lines, and what is said beside them."""

import re
from pathlib import Path

import pytest

from dragoman.cli.main import main
from tests.fixtures import GERMAN, tiny_folder

SAID = r"drafted [\d,]+ pieces, accepted [\d,]+ \(\d+%\), \d+\.\d\d pieces a pass\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "in.de"
    path.write_text("".join(f"{line}\n" for line in [*GERMAN, "", "12"]), encoding="utf-8")
    return path


@pytest.mark.parametrize("copies", [True, False])
def test_lines_are_the_same_with_a_draft_and_standard_error_says_what_it_was_worth(
    copies: bool, model: Path, source: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plain = ["translate", str(model), "--input", str(source), "--max-length", "9", "--no-flags"]
    assert main([*plain, "--beam", "1"]) == 0
    expected = capfd.readouterr().out
    drafted = ["--beam", "1", "--draft", "copy" if copies else str(model), "--draft-length", "2"]
    assert main([*plain, *drafted]) == 0
    found = capfd.readouterr()
    assert found.out == expected
    assert re.search(f"{SAID}$", found.err)  # before it, what was compiled
    if not copies:
        assert "(100%)" in found.err


def test_a_document_is_filled_with_a_draft_too(
    model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>der hund schläft .</p>", encoding="utf-8")
    command = ["translate", str(model), "--format", "html", "--input", str(page), "--beam", "1"]
    assert main([*command, "--max-length", "9"]) == 0
    expected = capfd.readouterr().out
    assert main([*command, "--max-length", "9", "--draft", str(model)]) == 0
    found = capfd.readouterr()
    assert found.out == expected
    assert re.search(SAID, found.err)


def test_a_draft_with_a_wider_beam_is_refused_before_anything_is_read(
    model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", str(model), "--draft", "copy"]) == 2
    said = capfd.readouterr().err
    assert said == (
        "error: --draft: verifies one hypothesis, and --beam is 4; give --beam 1, or leave the "
        "draft out\n"
    )


def test_an_engine_that_verifies_no_drafts_is_named(
    model: Path, source: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options = ["--beam", "1", "--draft", "copy", "--engine", "ctranslate2"]
    assert main(["translate", str(model), "--input", str(source), *options]) == 2
    assert "--draft: is verified by the engines torch and fused" in capfd.readouterr().err


def test_a_length_without_a_draft_is_refused(
    model: Path, source: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", str(model), "--input", str(source), "--draft-length", "8"]) == 2
    assert "--draft-length: does nothing alone; add --draft MODEL" in capfd.readouterr().err
