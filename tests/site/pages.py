"""Markdown pages as the tests see them: their shell blocks, links, headings and tables.

A comment of one line stands right before the block it speaks of:

    <!-- not run: needs 8 GPUs -->      parsed, not run; the reason is printed
    <!-- keeps running -->              started, and stopped at the end of the page
    <!-- mistake -->                    must fail with status 2
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHELLS = ("sh", "bash")
_FENCE = re.compile(r"^(`{3,}|~{3,})\s*(\S*)")
_MARK = re.compile(r"^<!-- (.*?) -->$")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Args:
        page: path from the root of the repository.
        line: of the opening fence, from 1.
        language: of the fence, such as ``sh``.
        text: what stands in it.
        mark: of the comment before it; empty without.
    """

    page: str
    line: int
    language: str
    text: str
    mark: str = ""

    @property
    def place(self) -> str:
        """Say where it stands, for messages."""
        return f"{self.page}:{self.line}"

    @property
    def not_run(self) -> str:
        """Say why it is not run; empty if it is."""
        name, _, reason = self.mark.partition(": ")
        return reason if name == "not run" else ""


def pages() -> list[Path]:
    """List the pages of users: the README, the two for contributors, and the site."""
    first = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")]
    return [*first, *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(path: Path) -> list[Block]:
    """Read the fenced blocks of a page."""
    return list(_blocks(name_of(path), path.read_text(encoding="utf-8")))


def _blocks(page: str, text: str) -> Iterator[Block]:
    fence, inside, opened, language, mark = "", list[str](), 0, "", ""
    for number, line in enumerate(text.split("\n"), start=1):
        found = _FENCE.match(line)
        if fence:
            if line.strip() == fence:
                yield Block(page, opened, language, "\n".join(inside), mark)
                fence, inside, mark = "", [], ""
            else:
                inside.append(line)
        elif found:
            fence, opened, language = found[1], number, found[2]
        elif _MARK.match(line):
            mark = _MARK.sub(r"\1", line)
        elif line.strip():
            mark = ""


def shell_blocks(path: Path) -> list[Block]:
    """Read the blocks of a page that are for a shell."""
    return [block for block in blocks(path) if block.language in SHELLS]


def links(path: Path) -> list[str]:
    """List where the links of a page lead, outside of its blocks."""
    return [link for link in _LINK.findall(_prose(path)) if "://" not in link]


def anchors(path: Path) -> set[str]:
    """Name the headings of a page as links to them are written."""
    names = (heading.lower() for heading in _HEADING.findall(_prose(path)))
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", name).strip()) for name in names}


def _prose(path: Path) -> str:
    return re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def name_of(path: Path) -> str:
    """Name a page by its path from the root of the repository."""
    return path.relative_to(ROOT).as_posix()
