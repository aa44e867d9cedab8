"""One example as people know it: its text, and where it stands."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """What an index stands for.

    Args:
        name: of the file or set.
        number: of the line, image or passage in it, from 1.
        texts: source and target, or whatever there is of it.
    """

    name: str
    number: int
    texts: tuple[str, ...]

    def line(self) -> str:
        """Say all of it in one line, fields between tabs: ``FILE: NUMBER``, then the texts."""
        texts = (text.replace("\t", " ").replace("\n", " ") for text in self.texts)
        return "\t".join((f"{self.name}: {self.number}", *texts))
