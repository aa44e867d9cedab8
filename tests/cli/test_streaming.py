"""``dragoman translate`` as a process: what is left when something ends it early."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from dragoman.cli.lines import lines_out, whole_lines, whole_part
from dragoman.cli.main import main
from tests.fixtures import GERMAN, tiny_folder, tiny_translator


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("streaming") / "model")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More lines than a machine translates while the test waits; two of three are copied."""
    path = tmp_path_factory.mktemp("many") / "lines"
    path.write_text("".join(f"{n}\n\nder hund {n}\n" for n in range(200_000)), encoding="utf-8")
    return path


def command(model: Path, source: Path, *options: str) -> list[str]:
    given = ["--input", str(source), "--beam", "1", "--max-length", "3", "--no-flags"]
    return [sys.executable, "-m", "dragoman", "translate", str(model), *given, *options]


def wait_until_written(path: Path) -> None:
    """Wait until some of ``path`` is on disk under the name it has while it is written."""
    for _ in range(1200):
        if any(part.stat().st_size for part in path.parent.glob(f".{path.name}.writing-*")):
            return
        time.sleep(0.1)
    pytest.fail("nothing is written")


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_signal_leaves_whole_lines_beside_the_output_and_says_how_many(
    number: int, status: int, said: str, model: Path, many: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    with subprocess.Popen(
        command(model, many, "--output", str(output)), stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until_written(output)
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
    assert process.returncode == status, err
    partial = tmp_path / "out.partial"
    assert list(tmp_path.iterdir()) == [partial]
    written = partial.read_bytes()
    assert written.endswith(b"\n")
    count = written.count(b"\n")
    assert err == f"{said}; {partial} holds the first {count:,} lines\n"
    for place, line in enumerate(written.split(b"\n")[:-1]):  # in order
        assert place % 3 == 2 or line == (b"" if place % 3 else str(place // 3).encode())


def test_an_interrupt_leaves_whole_lines_on_standard_output(model: Path, many: Path) -> None:
    with subprocess.Popen(
        command(model, many), bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert first[:2] == [b"0\n", b"\n"]
    assert rest == b"" or rest.endswith(b"\n")
    count = 3 + rest.count(b"\n")
    assert err == f"interrupted; {count:,} whole lines were written\n".encode()


def test_a_reader_that_goes_away_is_no_error(model: Path, many: Path) -> None:
    with subprocess.Popen(
        command(model, many), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"0\n"
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 0


def test_a_signal_in_the_middle_of_a_line_waits_until_it_is_whole(tmp_path: Path) -> None:
    class Interrupting:
        """Writes half a line, gets Ctrl-C, and writes the rest."""

        def __init__(self, file: BinaryIO) -> None:
            self.file = file

        def write(self, data: bytes) -> int:
            self.file.write(data[:3])
            signal.raise_signal(signal.SIGINT)
            return self.file.write(data[3:])

    path = tmp_path / "out"
    file = path.open("wb")
    interrupting = cast("BinaryIO", Interrupting(file))
    with file, whole_lines(interrupting) as lines, pytest.raises(KeyboardInterrupt):
        lines.write("a whole line")
    assert path.read_bytes() == b"a whole line\n"
    assert lines.count == 1


def fail(path: Path, *lines: str, error: str) -> None:
    with lines_out(path) as write:
        for line in lines:
            write(line)
        raise ValueError(error)


def test_an_error_after_some_lines_keeps_them_and_one_before_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out"
    path.write_text("of before\n", encoding="utf-8")
    with pytest.raises(ValueError, match="late"):
        fail(path, "one", "two", error="late")
    assert path.read_text(encoding="utf-8") == "of before\n"
    partial = tmp_path / "out.partial"
    assert partial.read_bytes() == b"one\ntwo\n"
    assert capsys.readouterr().err == f"{partial} holds the first 2 lines\n"
    partial.unlink()
    with pytest.raises(ValueError, match="early"):
        fail(path, error="early")
    assert list(tmp_path.iterdir()) == [path]
    assert capsys.readouterr().err == ""


def test_what_a_full_disk_took_is_kept_in_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "part"
    path.write_bytes(b"one\ntwo\nthr")
    assert whole_part(path) == (2, 8)


def test_the_window_ends_at_a_million_characters() -> None:
    read: list[int] = []

    def supply() -> "object":
        for number in range(4):
            read.append(number)
            yield " " * 600_000  # blank, so that the model is not called

    found = tiny_translator().stream(supply())  # type: ignore[arg-type]  # a generator
    next(found)
    assert read == [0, 1]
    assert len(list(found)) == 3


# Field reports 6 and 12: as many lines out as in, the odd ones named.
def test_lines_that_look_wrong_are_named_and_counted(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text(f"{GERMAN[0]} 4711\n\n12\n" + f"{GERMAN[0]}\n" * 30, encoding="utf-8")
    options = ["--input", str(source), "--output", str(output), "--max-length", "3"]
    assert main(["translate", str(model), *options, "--json"]) == 0
    found = [json.loads(line) for line in output.read_bytes().split(b"\n")[:-1]]
    assert len(found) == 33
    assert {"truncated", "lost-number"} <= set(found[0]["flags"])
    assert [found[1]["flags"], found[2]["flags"]] == [[], []]
    err = capsys.readouterr().err.splitlines()
    assert err[0] == f"{source}: line 1: {', '.join(found[0]['flags'])}"
    assert not any(f"line {n}:" in line for line in err for n in (2, 3, 33))
    assert f"{source}: more lines with truncated are only counted; --json has all" in err
    assert err[-1].startswith(f"{source}: 31 of 33 lines look wrong: ")
    assert "truncated 31" in err[-1]
    assert main(["translate", str(model), *options, "--no-flags"]) == 0
    assert capsys.readouterr().err == ""


def test_an_explanation_adds_up(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text(f"{GERMAN[0]}\n\n", encoding="utf-8")
    options = ["--input", str(source), "--output", str(output), "--max-length", "6", "--explain"]
    assert main(["translate", str(model), *options, "--alpha", "0.7", "--beam", "3"]) == 0
    lines = output.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"line 1: {GERMAN[0]}"
    assert lines[-2:] == ["line 2: ", "  copied: blank or without letters, the model was not asked"]
    scored = [line.split() for line in lines if line.startswith("     score ")]
    assert len(scored) == 3  # the beam
    for words in scored:
        score, total = float(words[1]), float(words[words.index("=") + 1])
        length = int(words[words.index("+") + 1].rstrip(")"))
        assert score == pytest.approx(total / ((5 + length) / 6) ** 0.7, abs=2e-4)
    assert "  search: beam 3, alpha 0.7, n_best 3, max_length 6" in lines
    assert any(line.startswith("  stopped after step ") for line in lines)
    assert main(["translate", str(model), *options, "--json"]) == 0
    first, second = map(json.loads, output.read_text(encoding="utf-8").splitlines())
    assert len(first["traces"]) == 1
    assert len(first["traces"][0]["steps"]) == first["traces"][0]["stop"]["step"]
    assert second["traces"] == []
    assert main(["translate", str(model), *options, "--format", "po"]) == 2
    assert "--explain: is for lines of text, not for documents" in capsys.readouterr().err
