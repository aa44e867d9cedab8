"""Every shell block of the README and the site runs, with small data, or says why it does not."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.site.command_line import commands, faults
from tests.site.pages import Block, blocks, name_of, pages, shell_blocks
from tests.site.stage import set_stage, train_model

ELSEWHERE = {  # programs that no block runs here
    "make": "tests/run/test_quickstart.py runs the quickstart, and make test runs this",
    "pip": "installs from the network",
    "venv": "installs from the network",
}
SMALLER = {  # sizes in the commands, and what they are here
    "--nproc-per-node 8": "--nproc-per-node 2",
    "--nnodes 2": "--nnodes 1",
    "first:29500": "localhost:0",
    "training.steps=3000": "training.steps=4",
    "seeds = [1, 2, 3]": "seeds = [1]",
    "--n 256 --d 256 --k 9": "--n 8 --d 16 --k 9 --longest 16",
    "--n 128 --d 256 --k 9 --batch 32 --longest 1024": "--n 8 --d 16 --k 9 --batch 2 --longest 16",
    "--seconds 120 --rounds 6 --requests 10000": "--seconds 1 --rounds 1 --requests 100 --warm 0.1",
    "speed recipes/compare-table2.toml --rounds 6": "speed recipes/compare-table2.toml --rounds 1"
    " --updates 1 --slots 256",
    "benchmarks/sequences.py": "benchmarks/sequences.py --train 300 --test 4",
    "extrapolation.py": "extrapolation.py --steps 4 --windows 2",
    "--sentences 200 --passes 3": "--sentences 2 --passes 1",
    "--sentences 120 --passes 2": "--sentences 2 --passes 1",
}
CHANGED_BY = "tests.site.stage:cut_down"
SECONDS = 300  # for one block


def reason(block: Block) -> str:
    """Say why a block is not run; empty if it is."""
    words = {word.rpartition("/")[2] for each in commands(block.text) for word in each[:3]}
    return block.not_run or next((ELSEWHERE[word] for word in ELSEWHERE if word in words), "")


def all_blocks() -> list[Block]:
    return [block for page in pages() for block in shell_blocks(page)]


RUN = [page for page in pages() if any(not reason(block) for block in shell_blocks(page))]
NOT_RUN = [block for block in all_blocks() if reason(block)]


@pytest.fixture(scope="session")
def programs(warm: Path) -> Path:
    head = warm / "head"  # reads to the end, so that only a fault ends what writes to it
    head.write_text(f'#!/bin/sh\n{shutil.which("head")} "$@"\ncat > /dev/null\n')
    head.chmod(0o755)
    return warm


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_model(tmp_path_factory.mktemp("model"))


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_the_shell_blocks_of_a_page_run(
    page: Path, tmp_path: Path, programs: Path, model: Path
) -> None:
    folder = tmp_path / "repository"
    set_stage(page, folder, model)
    ports = [free_port()]  # a page asks its first server
    with ExitStack() as running:
        for block in shell_blocks(page):
            if reason(block):
                continue
            text = re.sub(r"((?:localhost|127\.0\.0\.1):)5000", rf"\g<1>{ports[0]}", block.text)
            for size, less in SMALLER.items():
                text = text.replace(size, less)
            text = text.replace("dragoman serve", f"dragoman serve --port {ports[-1]}")
            if block.mark == "keeps running":
                running.enter_context(kept_running(block, text, folder, programs, ports[-1]))
                ports.append(free_port())
            else:
                started = start(text, folder, programs)
                output = started.communicate(timeout=SECONDS)[0].decode(errors="replace")
                assert started.returncode == 0, f"{block.place}:\n{text}\n\n{output}"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def start(text: str, folder: Path, programs: Path) -> subprocess.Popen[bytes]:
    """Start a shell; any command that fails ends it, and what is said goes into one stream."""
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=folder,
        env={**os.environ, "PATH": path, "TERM": "dumb", "CHANGED_BY": CHANGED_BY},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


@contextmanager
def kept_running(
    block: Block, text: str, folder: Path, programs: Path, port: int
) -> Iterator[None]:
    """Serve while the blocks below run; Ctrl-C must end it with status 0."""
    server = start(text, folder, programs)
    try:
        deadline = time.monotonic() + 60
        while True:
            assert server.poll() is None, f"{block.place}: {server.communicate()[0].decode()}"
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5).close()
                break
            except OSError:
                assert time.monotonic() < deadline, f"{block.place}: does not answer"
                time.sleep(0.1)
        yield
    finally:
        os.killpg(server.pid, signal.SIGINT)
        output = server.communicate(timeout=60)[0].decode(errors="replace")
    assert server.returncode == 0, f"{block.place}: {output}"


@pytest.mark.parametrize("size", SMALLER)
def test_a_size_that_is_made_smaller_stands_in_a_block_that_runs(size: str) -> None:
    assert any(size in block.text for block in all_blocks() if not reason(block))


@pytest.mark.parametrize("block", NOT_RUN, ids=lambda block: block.place)
def test_a_block_that_is_not_run_asks_programs_for_what_they_have(block: Block) -> None:
    assert faults(block.text) == []
    pytest.skip(f"{block.place} is read, not run: {reason(block)}")


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_no_command_hides_in_a_block_without_a_language(page: Path) -> None:
    hidden = [
        f"{block.place} runs a command: begin it with ```sh"
        for block in blocks(page)
        if block.language in ("", "shell", "console")
        and re.search(r"^\$? ?(dragoman|torchrun|pip|python|make) ", block.text, re.MULTILINE)
    ]
    assert hidden == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("dragoman train a.toml --stpes 3", "dragoman train: No such option: --stpes"),
        ("cat a | dragoman transalte m", "dragoman has no command transalte"),
        ("dragoman inspect atention m", "inspect has no command atention"),
        ("dragoman translate m --beam no", "dragoman translate: Invalid value for '--beam'"),
        ("dragoman evaluate", "dragoman evaluate: Missing argument 'MODEL'"),
        ("torchrun --nproc-per-node 8 -m -- dragoman train --nope", "No such option: --nope"),
        ("python benchmarks/nothing.py", "there is no benchmarks/nothing.py"),
        ("python benchmarks/train.py --nope", "benchmarks/train.py has no option --nope"),
        ("pip install 'dragoman[nope]'", "there is no extra nope"),
        ("make nope", "make has no target nope"),
        ("frobnicate --all", "nobody knows the program frobnicate"),
        ("A=1 nice dragoman train \\\n  --nope > log 2>&1 &", "No such option: --nope"),
    ],
)
def test_a_wrong_command_is_found_without_running_it(text: str, fault: str) -> None:
    assert fault in " ".join(faults(text))


def test_redirections_and_comments_are_no_arguments() -> None:
    text = "dragoman translate m < a > b  # words: --nope\nOMP_NUM_THREADS=1 dragoman doctor"
    assert faults(text) == []
    assert next(filter(None, commands(text))) == ["dragoman", "translate", "m"]
