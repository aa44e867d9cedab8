"""Trees as bracketed text: ``(S (NP (PRP it)) (VP (VBZ works)))`` (Marcus et al. 1993)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dragoman.errors import DataError
from dragoman.trees.tree import Growing, Leaf, Tree, closing, opening

_TOKEN = re.compile(r"[()]|[^\s()]+")
ROOT = "TOP"  # the label given to an outermost bracket that has none


def read_trees(lines: Iterable[str], name: str) -> Iterator[Tree]:
    """Read trees that may go over several lines, several on a line, with blank lines anywhere.

    Args:
        lines: bracketed text.
        name: what messages call the file.

    Raises:
        DataError: while reading: brackets do not balance, or hold no word; it names the line. An
            unfinished tree is found where the next line starts with a bracket in its first column,
            or at the end, and the line named is that on which it begins.
    """
    reader = _Reader(name)
    for number, line in enumerate(lines, start=1):
        if reader.depth and line.startswith("("):
            raise reader.unfinished()
        for token in _TOKEN.findall(line):
            reader.take(token, number)
            if not reader.depth:
                yield reader.finished()
    if reader.depth:
        raise reader.unfinished()


def read_tree_lines(lines: Iterable[str], name: str) -> Iterator[Tree | None]:
    """Read one sentence a line, so that two files can be compared line by line.

    Several brackets at the top of a line are one tree. None stands for a blank line.

    Raises:
        DataError: while reading: brackets do not balance, or hold no word; it names the line.
    """
    for number, line in enumerate(lines, start=1):
        reader = _Reader(name)
        for token in _TOKEN.findall(line):
            reader.take(token, number)
        if reader.depth:
            raise reader.unfinished()
        yield reader.finished() if reader.leaves else None


def write_tree(tree: Tree, *, root: str = "") -> str:
    """Write a tree in one line.

    Args:
        tree: any.
        root: label of a bracket around everything; none if empty.
    """
    parts: list[str] = []
    for leaf, before, behind in zip(tree.leaves, opening(tree), closing(tree), strict=True):
        start = "".join(f"({label} " for label in before)
        parts.append(f"{start}({leaf.tag} {leaf.word}){')' * len(behind)}")
    text = " ".join(parts)
    return f"({root} {text})" if root else text


@dataclass
class _Reader:
    """What has been read of a tree."""

    name: str
    growing: Growing = field(default_factory=Growing)
    leaves: list[Leaf] = field(default_factory=list[Leaf])
    tag: str | None = None  # of a bracket that has just opened, "" before its label is known
    word: str = ""  # in it
    line: int = 0  # where the tree starts

    @property
    def depth(self) -> int:
        """Brackets that are open."""
        return len(self.growing.open) + (self.tag is not None)

    def take(self, token: str, line: int) -> None:
        """Take a bracket or a name."""
        if not self.depth:
            self.line = line
        if token == "(":
            self._open(line)
        elif token == ")":
            self._close(line)
        elif not self.depth:
            raise DataError(self.name, f"{token!r} stands in no bracket", line=line)
        elif self.tag == "":
            self.tag = token
        elif self.tag is None or self.word:
            problem = f"{token!r} has no bracket of its own"
            raise DataError(self.name, problem, "write (TAG WORD) for each word", line=line)
        else:
            self.word = token

    def _open(self, line: int) -> None:
        if self.word:
            problem = f"a bracket stands behind the word {self.word!r}"
            raise DataError(self.name, problem, "close the word's bracket first", line=line)
        if self.tag is not None:
            self.growing.start(self.tag or ROOT)
        self.tag = ""

    def _close(self, line: int) -> None:
        if not self.depth:
            raise DataError(self.name, "a bracket closes that was not opened", line=line)
        if self.tag is not None:
            if not self.word:
                problem = f"the bracket ({self.tag}) holds no word"
                raise DataError(self.name, problem, "leave it out", line=line)
            self.leaves.append(Leaf(self.tag, self.word))
            self.growing.place += 1
            self.tag, self.word = None, ""
        else:
            self.growing.stop()

    def unfinished(self) -> DataError:
        """Say that brackets are left open."""
        many = "a bracket" if self.depth == 1 else f"{self.depth:,} brackets"
        problem = f"the tree that starts here leaves {many} open"
        return DataError(self.name, problem, "add what is missing", line=self.line)

    def finished(self) -> Tree:
        """Give the tree and begin another."""
        tree = self.growing.tree(self.leaves)
        self.growing, self.leaves = Growing(), []
        return tree
