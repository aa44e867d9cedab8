"""What stands around a source and before a target: the one place that puts it there.

    what the encoder reads     before, pieces, after     in the paper: pieces, end
    what the decoder reads     before, pieces            in the paper: start, pieces
    what it is to say          nothing..., pieces, end

Some models want more: BART reads ``<s> X </s>``, and mBART names the languages of both sides.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from dragoman.tokenization import SpecialIds


@dataclass(frozen=True, slots=True)
class Frame:
    """The symbols that a model of sources and targets is used to.

    Args:
        special: ids that no text contains.
        source_before: ids in front of every source.
        source_after: ids behind every source.
        target_before: ids that every target begins with, at least one; none of them is asked for.
    """

    special: SpecialIds
    source_before: tuple[int, ...]
    source_after: tuple[int, ...]
    target_before: tuple[int, ...]

    @classmethod
    def of(cls, special: "SpecialIds | Frame") -> "Frame":
        """Take a frame as it is; special ids alone stand as in the paper."""
        if isinstance(special, Frame):
            return special
        return cls(special, (), (special.end,), (special.start,))

    @property
    def source_added(self) -> int:
        """How many symbols a source gains."""
        return len(self.source_before) + len(self.source_after)

    @property
    def target_added(self) -> int:
        """How many symbols a target gains, whether it is read or said."""
        return len(self.target_before)

    @property
    def never_written(self) -> tuple[int, ...]:
        """Ids that no translation may hold; the end symbol, which may begin a target, ends one."""
        ids = (*self.special.banned, *self.target_before)
        return tuple(each for each in dict.fromkeys(ids) if each != self.special.end)

    def source(self, ids: Iterable[int]) -> list[int]:
        """Frame the ids of a source; where nothing is left to read, it is one piece of padding."""
        return [*self.source_before, *ids, *self.source_after] or [self.special.padding]

    def target_in(self, ids: Iterable[int]) -> list[int]:
        """Give what the decoder reads of a target."""
        return [*self.target_before, *ids]

    def target_out(self, ids: Iterable[int]) -> list[int]:
        """Give what it is to say, as long; padding where it is asked for nothing."""
        nothing = [self.special.padding] * (len(self.target_before) - 1)
        return [*nothing, *ids, self.special.end]
