"""What a tokenizer cannot write with pieces of its own."""

from dragoman.data.check.chunk import Chunk
from dragoman.data.check.cleaned import Mended
from dragoman.data.check.finding import Collector, Side
from dragoman.tokenization import Tokenizer


class Coverage:
    """Counts pieces, and those among them that spell a character in bytes or are unknown.

    Args:
        source: reads the source.
        target: writes the target; may be the same.
    """

    def __init__(self, source: Tokenizer, target: Tokenizer) -> None:
        self._tokenizers: dict[Side, Tokenizer] = {"source": source, "target": target}
        self._odd = {side: _odd_ids(tokenizer) for side, tokenizer in self._tokenizers.items()}
        self.pieces: dict[Side, int] = {"source": 0, "target": 0}
        self.uncovered: dict[Side, int] = {"source": 0, "target": 0}

    def look(self, chunk: Chunk, mended: Mended, found: Collector) -> None:
        """Note texts that have uncovered pieces; texts with surrogates are passed over."""
        sides: tuple[tuple[Side, list[str]], ...] = (
            ("source", mended.source),
            ("target", mended.target),
        )
        faults: dict[int, tuple[Side, str]] = {}
        for side, texts in sides:
            whole = [text if _encodable(text) else "" for text in texts]
            for at, ids in enumerate(self._tokenizers[side].encode_many(whole)):
                odd = sum(number in self._odd[side] for number in ids)
                self.pieces[side] += len(ids)
                self.uncovered[side] += odd
                if odd:
                    faults.setdefault(at, (side, f"{odd} of {len(ids)} pieces on the {side} side"))
        chunk.note("uncovered", faults, found)

    def shares(self) -> dict[Side, float]:
        """Give the share of uncovered pieces on each side."""
        return {side: self.uncovered[side] / max(1, self.pieces[side]) for side in self.pieces}


def _odd_ids(tokenizer: Tokenizer) -> frozenset[int]:
    pieces = tokenizer.pieces(range(tokenizer.size))
    odd = {number for number, piece in enumerate(pieces) if _is_byte(piece)}
    return frozenset(odd | {tokenizer.special.unknown})


def _is_byte(piece: str) -> bool:
    return len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">")


def _encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
