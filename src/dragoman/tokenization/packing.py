"""Many texts to ids in flat arrays, several times as fast as the library by remembering words.

No piece crosses the beginning of a word at a space (``stretches.word_splitter``), so the ids of a
text are those of its words one after the other. Words that were met before are looked up; the rest,
and vocabularies that are cut otherwise, go through the library, the slow twin.
"""

import json
import re
from array import array
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dragoman.tokenization.stretches import word_splitter
from dragoman.tokenization.tokenizer import Json, Tokenizer

REMEMBERED = 400_000  # words at most, some 200 bytes each
_STALE = 4  # times as many words met that are not remembered: then the text has changed
_LONGEST = 32  # characters of a word worth remembering; text without spaces is one word
_MAY_COMPOSE = re.compile("[^\x00-\u02ff]")  # what NFC may change, alone or after another


class Packed(NamedTuple):
    """Ids of many texts."""

    ids: NDArray[np.int32]  # one text after the other, (I,)
    lengths: NDArray[np.int32]  # ids of each text, (N,)


class Packer:
    """Encodes texts as ``Tokenizer.encode_many`` does.

    Args:
        tokenizer: gives the ids.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, bytes] = {}
        self._passed = 0  # words met since there was no room for more
        settings = cast("Json", json.loads(tokenizer.to_json()))
        cuts = cast("Json", json.loads(word_splitter().__getstate__()))
        # A vocabulary of single characters puts no space before the text, and needs no memory.
        self._by_word = settings["pre_tokenizer"] == cuts and tokenizer.lead == " "

    def pack(self, texts: Sequence[str]) -> Packed:
        """Turn texts into ids, without start or end symbols.

        Raises:
            ValueError: a text holds half a surrogate pair; the message counts texts from 0.
        """
        if not self._by_word:
            return self._pack_slowly(texts)
        try:
            lines = [self._normal(text).split(" ") if text else [] for text in texts]
        except ValueError:
            return self._pack_slowly(texts)  # it says which text is at fault
        once = self._find(set[str]().union(*lines))
        find = self._known.__getitem__
        rows = [b"".join(map(find, words)) for words in lines]
        for word in once:
            del self._known[word]
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
        return Packed(np.frombuffer(b"".join(rows), np.int32), (sizes // 4).astype(np.int32))

    def _normal(self, text: str) -> str:
        if text.isascii():
            return text
        if self._tokenizer.normal_form == "NFC" and not _MAY_COMPOSE.search(text):
            return text
        return self._tokenizer.normalize(text)

    def _find(self, words: set[str]) -> list[str]:
        """Look up words; give those that are remembered for this time only."""
        if self._passed > _STALE * REMEMBERED:
            self._known.clear()
            self._passed = 0
        # A difference of sets would go through all words that are known, not through these.
        new = [word for word in words if word not in self._known]
        if not new:
            return []
        # The library puts the space before each word. Two spaces stand for a space and a word
        # without letters, which have the same ids.
        rows = self._tokenizer.encode_many([word or " " for word in new])
        for word, row in zip(new, rows, strict=True):
            ids = row if word else row[: len(row) // 2]
            self._known[word] = array("i", ids).tobytes()
        # The words met first are mostly those met most; they stay, and the rest have no room.
        if len(self._known) > REMEMBERED:
            self._passed += len(new)
            return new
        return [word for word in new if len(word) > _LONGEST]

    def _pack_slowly(self, texts: Sequence[str]) -> Packed:
        rows = self._tokenizer.encode_many(texts)
        lengths = np.fromiter(map(len, rows), np.int32, len(rows))
        ids = np.fromiter((number for row in rows for number in row), np.int32, int(lengths.sum()))
        return Packed(ids, lengths)
