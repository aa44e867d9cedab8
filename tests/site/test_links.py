"""Pages name what exists: files, headings, tests, and every file of the table of the paper."""

import ast
import re
from pathlib import Path

import pytest

from tests.site.pages import ROOT, anchors, links, name_of, pages

CORRECTIONS = ROOT / "docs/concepts/corrections.md"
PROOFS = ROOT / "tests/site/test_corrections.py"
MADE = "docs/reference/"  # by scripts/site.py, when the site is built


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not (name_of(target).startswith(MADE) or target.exists()):
            pytest.fail(f"{name_of(page)}: {link} leads nowhere")
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{name_of(page)}: {link} leads to no heading"


def test_each_correction_names_one_test_and_each_test_proves_one() -> None:
    tree = ast.parse(PROOFS.read_text("utf-8"))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    tests = [name for name in functions if name.startswith("test_")]
    sections = re.split(r"^### ", CORRECTIONS.read_text("utf-8"), flags=re.MULTILINE)[1:]
    proofs = [re.findall(r"^Proof: `(\w+)`$", section, re.MULTILINE) for section in sections]
    assert all(len(named) == 1 for named in proofs)
    assert [name for named in proofs for name in named] == tests  # in the same order
    assert len(tests) > 25
