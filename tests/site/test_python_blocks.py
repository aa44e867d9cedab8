"""The Python of the pages can be read, and takes from Dragoman only what it has."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.site.pages import Block, blocks, name_of, pages


def faults(code: str) -> list[str]:
    """Say which names of Dragoman a program uses that do not exist."""
    found = list[str]()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dragoman"):
            module = import_module(node.module or "")
            names = (each.name for each in node.names)
            found += [f"{node.module}.{name}" for name in names if not hasattr(module, name)]
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if re.fullmatch(r"dragoman[.\w]+", name) and not _exists(name):
                found.append(name)
    return found


def _exists(name: str) -> bool:
    value: object = import_module("dragoman")
    for part in name.split(".")[1:]:
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def python_blocks(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.language in ("python", "py")]


PAGES = [page for page in pages() if python_blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_python_of_a_page_uses_what_there_is(page: Path) -> None:
    assert {
        block.place: found for block in python_blocks(page) if (found := faults(block.text))
    } == {}


def test_a_name_that_does_not_exist_is_found() -> None:
    code = "from dragoman.nn import Nope\nimport dragoman\ndragoman.Translator.nope('a').text"
    assert faults(code) == ["dragoman.nn.Nope", "dragoman.Translator.nope"]
