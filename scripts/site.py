"""What the site holds beside docs/: files of the repository that pages link to, and the reference.

A page links to a file as it lies in the repository (``../../recipes/small.toml``), so that the link
works where the repository is read. On the site the same link leads to a page that shows the file.
"""

import ast
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
SOURCES = "source/"
REFERENCE = ("nn", "models", "data", "tokenization", "training", "decoding", "evaluation")
REFERENCE += ("inspection",)
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)#\s]+)(?=[)#])")
_ASIDE = "---\nsearch:\n  exclude: true\nhide: [navigation, toc]\n---\n\n"  # no part of the text
_LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".yml": "yaml"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    for uri, text in reference_pages():
        files.append(File.generated(config, uri, content=text))
    written = files.documentation_pages()
    waiting = [(f"docs/{file.src_uri}", file.content_string) for file in written]
    seen = set[str]()
    while waiting:
        origin, text = waiting.pop()
        for target in sorted(set(linked_outside(origin, text)) - seen):
            seen.add(target)
            shown = source_page(target)
            aside = InclusionLevel.NOT_IN_NAV
            uri = site_uri(target)
            files.append(File.generated(config, uri, content=shown, inclusion=aside))
            waiting.append((target, shown))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Turn links to files of the repository into links to the pages that show them."""
    here = page.file.src_uri
    origin = here.removeprefix(SOURCES).removesuffix(".md") if here.startswith(SOURCES) else ""
    origin = origin or f"docs/{here}"

    def moved(link: re.Match[str]) -> str:
        target = resolved(origin, link[1])
        if target is None or (origin.startswith("docs/") and target.startswith("docs/")):
            return link[0]
        return posixpath.relpath(site_uri(target), posixpath.dirname(here))

    return _LINK.sub(moved, markdown)


def resolved(origin: str, link: str) -> str | None:
    """Say which file of the repository a link means; None where there is none."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link))
    return target if not target.startswith("..") and (ROOT / target).exists() else None


def linked_outside(origin: str, text: str) -> Iterator[str]:
    """Name what a page links to that is no page itself."""
    for link in _LINK.findall(text):
        target = resolved(origin, link)
        if target is not None and not target.startswith("docs/"):
            yield target


def site_uri(target: str) -> str:
    """Say where a file of the repository is shown on the site."""
    return target.removeprefix("docs/") if target.startswith("docs/") else f"{SOURCES}{target}.md"


def source_page(target: str) -> str:
    """Show a file, or name what is in a folder."""
    path, hidden = ROOT / target, _ASIDE
    if path.is_dir():
        inside = sorted(each.name for each in path.iterdir() if each.suffix in _LANGUAGES)
        names = "".join(f"- [{name}]({posixpath.basename(target)}/{name})\n" for name in inside)
        return f"{hidden}# {target}\n\n{names}"
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return hidden + text
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    language = _LANGUAGES.get(path.suffix, "text")
    return f'{hidden}# {target}\n\n{fence}{language} linenums="1"\n{text}\n{fence}\n'


def reference_pages() -> Iterator[tuple[str, str]]:
    """Make a page for each public folder from its docstrings, and one for the commands."""
    yield "reference/dragoman.md", _names("dragoman", ROOT / "src/dragoman/__init__.py")
    for folder in REFERENCE:
        path = ROOT / "src/dragoman" / folder / "__init__.py"
        yield f"reference/{folder}.md", _names(f"dragoman.{folder}", path)
    yield "reference/commands.md", "\n".join(_commands())


def _names(module: str, path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    summary = (ast.get_docstring(tree) or "").split("\n\n")[0]
    lists = (node for node in tree.body if isinstance(node, ast.Assign))
    public = next(node for node in lists if ast.unparse(node.targets[0]) == "__all__")
    names: Iterable[str] = ast.literal_eval(public.value)
    return f"# {module}\n\n{summary}\n\n" + "".join(f"::: {module}.{name}\n\n" for name in names)


def _commands() -> Iterator[str]:
    from typer.main import get_command

    from dragoman.cli.main import app

    yield "# Commands\n\nWhat `--help` prints, for every command.\n"
    yield from _help(get_command(app), "dragoman", None)


def _help(command: Any, name: str, parent: object) -> Iterator[str]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    context.max_content_width = context.terminal_width = 84
    yield f"## {context.command_path}\n\n```text\n{context.get_help()}\n```\n"
    for inner, each in getattr(command, "commands", {}).items():
        yield from _help(each, inner, context)
