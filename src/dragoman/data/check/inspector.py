"""What a single pair, or one and those before it, can show; for ``check`` and filters alike."""

from collections.abc import Collection, Sequence

from dragoman.data.check.characters import CharacterTable
from dragoman.data.check.chunk import Chunk
from dragoman.data.check.cleaned import Mended, mend_chunk
from dragoman.data.check.copies import Duplicates, find_copies
from dragoman.data.check.finding import KINDS, Collector
from dragoman.data.check.languages import Languages
from dragoman.data.check.lengths import find_odd_lengths
from dragoman.data.check.mending import MENDS
from dragoman.data.check.numbers import find_differing_addresses, find_differing_numbers
from dragoman.data.check.overlap import KnownTexts, find_overlap
from dragoman.data.check.profile import Profile
from dragoman.data.check.scripts import find_foreign_scripts
from dragoman.data.check.visible import find_blank, find_unreadable

_MENDED = MENDS | {"copied-source", "duplicate", "near-duplicate", "overlap"}  # seen in mended text


class Inspector:
    """Looks at chunk after chunk of a corpus.

    Args:
        profile: what is usual in the corpus.
        table: the one that made the chunks.
        kinds: what is looked for, at least; all unless given.
        others: sets that should share nothing with this one.
        languages: tells the languages of the sides; they are not looked at without it.
    """

    def __init__(
        self,
        profile: Profile,
        table: CharacterTable,
        *,
        kinds: Collection[str] = KINDS.keys(),
        others: Sequence[KnownTexts] = (),
        languages: Languages | None = None,
    ) -> None:
        self._profile, self._table, self._others = profile, table, others
        self._languages = languages
        self._kinds = frozenset(kinds)
        self._duplicates = Duplicates(near="near-duplicate" in self._kinds)

    def look(self, chunk: Chunk, found: Collector) -> Mended:
        """Note the faults of a chunk, kind after kind.

        Returns:
            The texts after mending; as they were if no kind that is looked for needs them mended.
        """
        profile = self._profile
        if self._any("bad-bytes", "replacement"):
            find_unreadable(chunk, found)
        if self._any("blank", "one-sided"):
            find_blank(chunk, found)
        if self._any("wrong-script"):
            find_foreign_scripts(chunk, profile, self._table.scripts, found)
        if self._languages is not None and self._any("wrong-language"):
            self._languages.look(chunk, found)
        if self._any("length", "length-ratio"):
            find_odd_lengths(chunk, profile, found)
        if self._any("digits"):
            find_differing_numbers(chunk, found)
        if self._any("addresses"):
            find_differing_addresses(chunk, found)
        if not self._kinds & _MENDED:
            return Mended(list(chunk.source.texts), list(chunk.target.texts))
        mended = mend_chunk(chunk, profile, found)
        if self._any("copied-source"):
            find_copies(chunk, mended, found)
        if self._any("duplicate", "near-duplicate"):
            self._duplicates.look(chunk, mended, found)
        if self._others and self._any("overlap"):
            find_overlap(chunk, mended, self._others, found)
        return mended

    def _any(self, *kinds: str) -> bool:
        return not self._kinds.isdisjoint(kinds)
