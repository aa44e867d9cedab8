"""Command lines read without running them: does the program take these options?"""

import re
import shlex
import tomllib
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from dragoman.cli.main import app
from tests.site.pages import ROOT

_OPERATORS = re.compile(r"[|&;<>()]+")
_PLAIN = {"cat", "cd", "cp", "curl", "echo", "head", "ls", "mkdir", "printf", "tail", "tar", "wc"}
_PLAIN |= {
    "diff",
    "export",
    "sacrebleu",
    "scripts/check",
    "sort",
    "seq",
    "paste",
    "tr",
    "sed",
    "awk",
    "unzip",
    "gzip",
}
_PREFIXES = {"nice", "time", "sudo", "env"}


def faults(text: str) -> list[str]:
    """Say what is wrong with the commands of a block: unknown programs, options, files."""
    return [fault for words in commands(text) for fault in _faults(words)]


def commands(text: str) -> Iterator[list[str]]:
    """Cut a block into simple commands, each its words without redirections."""
    for line in text.replace("\\\n", " ").split("\n"):
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, "#"
        words, redirected = list[str](), False
        for word in lexer:
            if not _OPERATORS.fullmatch(word):
                if not redirected:
                    words.append(word)
                redirected = False
            elif set(word) <= set("<>&") and set(word) & set("<>"):
                redirected = True
            else:
                yield words
                words = []
        yield words


def _faults(words: list[str]) -> Iterator[str]:
    while words and (re.match(r"\w+=", words[0]) or words[0] in _PREFIXES):
        words = words[1:]
    if not words:
        return
    program, arguments = words[0].rpartition("/")[2], words[1:]
    if program == "torchrun":
        start = arguments.index("dragoman") if "dragoman" in arguments else len(arguments)
        yield from _of_dragoman(arguments[start + 1 :])
    elif program == "dragoman":
        yield from _of_dragoman(arguments)
    elif program in ("python", "python3"):
        yield from _of_python(arguments)
    elif program == "pip":
        yield from _of_pip(arguments)
    elif program == "make":
        yield from (f"make has no target {name}" for name in arguments if not _has_target(name))
    elif program not in _PLAIN and words[0] not in _PLAIN:
        yield f"nobody knows the program {words[0]}"


def _of_dragoman(arguments: list[str]) -> Iterator[str]:
    command: Any = get_command(app)  # Any: typer does not make its classes public
    parent, name = None, "dragoman"
    while hasattr(command, "commands"):
        if not arguments or arguments[0] not in command.commands:
            if arguments[:1] != ["--version"]:
                yield f"{name} has no command {(*arguments, '(none)')[0]}"
            return
        name, arguments = arguments[0], arguments[1:]
        command = command.commands[name]
    try:
        command.make_context(name, list(arguments), parent=parent)
    except Exception as error:  # of click, whose classes typer hides
        say = getattr(error, "format_message", None)
        message = say() if say else repr(error)
        yield f"dragoman {name}: {message}"


def _of_python(arguments: list[str]) -> Iterator[str]:
    if arguments[:1] == ["-m"]:
        if arguments[1] == "dragoman":
            yield from _of_dragoman(arguments[2:])
        elif arguments[1] != "venv":
            yield f"nobody knows python -m {arguments[1]}"
        return
    script = ROOT / arguments[0]
    if not script.is_file():
        yield f"there is no {arguments[0]}"
        return
    sources = "".join(each.read_text("utf-8") for each in script.parent.glob("*.py"))
    for option in filter(lambda word: word.startswith("--"), arguments):
        if f'"{option.partition("=")[0]}"' not in sources:
            yield f"{arguments[0]} has no option {option}"


def _of_pip(arguments: list[str]) -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for named in re.findall(r"(?:dragoman|^\.)\[([\w,]+)\]", "\n".join(arguments), re.MULTILINE):
        for extra in named.split(","):
            if extra not in project["optional-dependencies"]:
                yield f"there is no extra {extra}"


def _has_target(name: str) -> bool:
    return re.search(f"^{re.escape(name)}:", (ROOT / "Makefile").read_text(), re.M) is not None
