import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import downloads
from dragoman.cli import get as get_module
from dragoman.cli.download import show
from dragoman.cli.main import main
from dragoman.downloads import PublicCorpus, Ready, Received
from tests.downloads.conftest import _loopback_only, server  # noqa: F401  # fixtures
from tests.downloads.corpora import MEMBERS, served
from tests.downloads.server import Reply, Server


class Terminal(io.StringIO):
    """Standard input of somebody who sits there."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def tiny(server: Server, monkeypatch: pytest.MonkeyPatch) -> PublicCorpus:  # noqa: F811  # fixture
    """A catalogue of one small corpus, on loopback."""
    wanted = served(server)
    monkeypatch.setattr(downloads, "find_corpus", lambda _: wanted)  # pyright: ignore[reportUnknownLambdaType]  # a fake
    return wanted


def test_the_list_shows_sizes_and_licences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "--list"]) == 0
    out = capsys.readouterr().out
    assert "wmt14-de-en           1.7 GB  WMT 2014" in out
    assert "Not for commercial use." in out


def test_the_list_can_be_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "--list", "--json"]) == 0
    found = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert found["multi30k-en-de"]["download_bytes"] == 1_296_271  # six files, summed by hand
    assert found["tatoeba-en-fr"]["download_bytes"] is None


def test_a_corpus_is_fetched_and_a_table_to_paste_is_printed(
    tiny: PublicCorpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    assert main(["get", "tiny-de-en", "--to", str(folder), "--yes"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[:2] == [
        "[data]",
        f'train = {{ source = "{folder}/train.de", target = "{folder}/train.en" }}',
    ]
    assert err.index("licence: For tests only.") < err.index("fetching tiny-")
    assert "train: 4 pairs" in err
    assert (folder / "train.de").read_bytes() == MEMBERS["training/a.de"].encode()


def test_the_answer_can_be_json(
    tiny: PublicCorpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["get", "tiny-de-en", "--to", str(tmp_path), "--yes", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["was_there"]) == ("tiny-de-en", False)
    assert found["files"][0]["path"] == str(tmp_path / "train.de")
    assert [file["pairs"] for file in found["files"]] == [4, 4, 1, 1, 2, 2]


def test_nothing_is_fetched_when_nobody_can_be_asked(
    tiny: PublicCorpus,
    server: Server,  # noqa: F811  # fixture
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["get", "tiny-de-en", "--to", str(tmp_path / "data")]) == 2
    err = capsys.readouterr().err
    assert "licence: For tests only." in err
    assert "error: nobody can be asked about the licence here; agree with --yes" in err
    assert server.asked == []
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("answer", "status", "requests"), [("y\n", 0, 1), ("n\n", 2, 0), ("\n", 2, 0)]
)
def test_a_terminal_is_asked(
    tiny: PublicCorpus,
    server: Server,  # noqa: F811  # fixture
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    status: int,
    requests: int,
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", Terminal())
    assert main(["get", "tiny-de-en", "--to", str(tmp_path / "data")]) == status
    assert len(server.asked) == requests


def test_what_is_complete_needs_no_agreement_and_no_server(
    tiny: PublicCorpus,
    server: Server,  # noqa: F811  # fixture
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["get", "tiny-de-en", "--to", str(tmp_path), "--yes"]) == 0
    first = capsys.readouterr().out
    server.asked.clear()
    assert main(["get", "tiny-de-en", "--to", str(tmp_path)]) == 0
    again = capsys.readouterr()
    assert (again.out, server.asked) == (first, [])
    assert again.err == f"{tmp_path} is complete; nothing was fetched\n"


def test_an_unknown_name_and_no_name_are_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "wmt14-de"]) == 2
    assert "no corpus is called 'wmt14-de'; did you mean wmt14-de-en?" in capsys.readouterr().err
    assert main(["get"]) == 2
    assert "give NAME; dragoman get --list shows what can be had" in capsys.readouterr().err


def test_addresses_that_fail_are_named_with_their_reasons(
    tiny: PublicCorpus,
    server: Server,  # noqa: F811  # fixture
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = server.put("/tiny.tgz", Reply(b"gone", 404))
    assert main(["get", "tiny-de-en", "--to", str(tmp_path), "--yes"]) == 2
    err = capsys.readouterr().err
    assert "error: tiny: no copy could be fetched; try again later" in err
    assert f"  {url}: 404 Not Found" in err


def test_an_interrupt_says_how_to_go_on(
    tiny: PublicCorpus,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> Iterator[object]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(downloads, "get_corpus", interrupted)
    assert main(["get", "tiny-de-en", "--to", str(tmp_path), "--yes"]) == 130
    err = capsys.readouterr().err
    assert f"what has come stays in {tmp_path / 'downloads'}; the same command goes on" in err


def test_a_log_gets_a_line_for_each_tenth_of_a_large_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    events = [
        Received(file=file, have_bytes=part * size // 40, total_bytes=size)
        for file, size in (("large", 200_000_000), ("small", 2_000_000))
        for part in range(1, 41)
    ]
    show([*events, Ready(folder=tmp_path, files=())])
    lines = capsys.readouterr().err.splitlines()
    assert lines[:-1] == [f"large: {tenth}0 % of 200 MB" for tenth in range(1, 11)]


def test_asking_for_help_loads_neither_torch_nor_http() -> None:
    code = (
        "import sys, dragoman.cli.main as m\n"
        "m.main(['get', '--help'])\n"
        "assert not {'torch', 'http.client', 'tarfile'} & set(sys.modules), sorted(sys.modules)\n"
    )
    assert get_module.get.__doc__ is not None
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
