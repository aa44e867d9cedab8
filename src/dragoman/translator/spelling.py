"""What the pieces of a vocabulary spell, and in how few of them a text can be spelled."""

import codecs

from dragoman.decoding import NEVER
from dragoman.tokenization import Tokenizer


class Spelling:
    """The pieces of a tokenizer by what they spell.

    Made once for a tokenizer, as there are many pieces; it does not change after that.

    Args:
        tokenizer: of the target side.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.bytes = tokenizer.piece_bytes()
        self.plain: dict[int, tuple[str, bytes]] = {}  # what `decoded` gives of a piece alone
        self.by_first: dict[str, set[int]] = {}  # pieces by their first character
        self._ids: dict[bytes, list[int]] = {}
        for piece, spelled in self.bytes.items():
            text, _ = self.plain[piece] = decoded(b"", spelled)
            if text:
                self.by_first.setdefault(text[0], set()).add(piece)
            if spelled:
                self._ids.setdefault(spelled, []).append(piece)
        self._longest = max(map(len, self._ids), default=0)

    def beginnings(self, text: bytes) -> list[int]:
        """Give the pieces that a text can begin with."""
        ends = range(1, min(self._longest, len(text)) + 1)
        return [piece for end in ends for piece in self._ids.get(text[:end], ())]

    def fewest(self, text: bytes) -> int:
        """Count the pieces of the shortest spelling; ``NEVER`` if there is none."""
        counts = [0] * (len(text) + 1)  # of what begins at each byte
        for start in range(len(text) - 1, -1, -1):
            most = min(self._longest, len(text) - start)
            ends = range(start + 1, start + most + 1)
            ways = (counts[end] for end in ends if text[start:end] in self._ids)
            counts[start] = min(NEVER, min(ways, default=NEVER) + 1)
        return counts[0]


def decoded(rest: bytes, more: bytes, *, final: bool = False) -> tuple[str, bytes]:
    """Decode bytes after those left over; give characters, and bytes left over again."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(rest + more, final)
    return text, decoder.getstate()[0]
