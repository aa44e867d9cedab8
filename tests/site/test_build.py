"""The site is built without a warning, asks nobody for anything, and its reference is complete."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from dragoman.cli.main import app
from tests.site.conftest import build
from tests.site.pages import ROOT

REFERENCE = ["", ".nn", ".models", ".data", ".tokenization", ".training", ".decoding"]
REFERENCE += [".evaluation", ".inspection"]
LOADED = re.compile(
    r"""<(?:script|img|iframe|link(?![^>]*rel="?(?:next|prev|canonical)))[^>]*"""
    r"""(?:src|href)\s*=\s*["']?((?:https?:)?//[^"'\s>]+)|url\(\s*["']?((?:https?:)?//[^)]+)"""
)


@pytest.mark.slow
def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = [path for path in site.rglob("*") if path.suffix in (".html", ".css")]
    assert len(pages) > 80
    for path in pages:
        found = LOADED.search(path.read_text("utf-8"))
        assert found is None, f"{path.relative_to(site)} loads {found[0]}"


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://a.example/x.js"></script>',
        "<img alt=x src=//a.example/x.png>",
        '<link rel="stylesheet" href="https://fonts.example/css">',
        "@font-face { src: url(https://fonts.example/x.woff2) }",
    ],
)
def test_what_loads_from_elsewhere_would_be_found(html: str) -> None:
    assert LOADED.search(html) is not None


def test_a_link_for_readers_loads_nothing() -> None:
    assert LOADED.search('<a href="https://arxiv.org/abs/1706.03762">the paper</a>') is None


@pytest.mark.slow
def test_a_link_to_a_missing_page_or_heading_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = "# Here\n\n[a](nowhere.md) [b](#nothing)\n"
    (tmp_path / "docs/index.md").write_text(page, encoding="utf-8")
    text = f"INHERIT: {ROOT}/mkdocs.yml\ndocs_dir: {tmp_path}/docs\nhooks: []\nnav: [index.md]\n"
    (tmp_path / "mkdocs.yml").write_text(text, encoding="utf-8")
    built = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert built.returncode == 1
    assert "'nowhere.md'" in built.stdout
    assert "'#nothing'" in built.stdout


@pytest.mark.slow
@pytest.mark.parametrize("folder", REFERENCE)
def test_the_reference_has_every_public_name(site: Path, folder: str) -> None:
    page = site / f"reference/{folder[1:] or 'dragoman'}.html"
    text = page.read_text("utf-8")
    names: list[str] = import_module(f"dragoman{folder}").__all__
    missing = [name for name in names if not re.search(rf'id="dragoman[\w.]*\.{name}"', text)]
    assert missing == []


@pytest.mark.slow
def test_the_reference_has_every_command(site: Path) -> None:
    text = (site / "reference/commands.html").read_text("utf-8")
    for name in (*commands(), "inspect attention", "inspect complexity"):
        assert f'id="dragoman-{name.replace(" ", "-")}"' in text, name


def commands() -> Iterator[str]:
    for each in app.registered_commands:
        assert each.callback is not None
        yield each.name or each.callback.__name__.replace("_", "-").strip("-")
