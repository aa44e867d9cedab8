"""What a process that packs text for another one does: read texts, answer with ids, until told.

All numbers are little-endian int64 unless said otherwise. First come the vocabularies: how many,
then for each its size in bytes and its ``tokenizer.json``. A task is, for each vocabulary, the
number of texts, the number of bytes, the characters of each text, and all texts as UTF-8. An answer
is, for each vocabulary, the number of ids, the ids, and the ids of each text, both int32.
"""

import signal
import sys
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from dragoman.tokenization.imported import tokenizer_from_json
from dragoman.tokenization.packing import Packed, Packer
from dragoman.tokenization.tokenizer import Tokenizer

_NUMBER = np.dtype("<i8")
_ID = np.dtype("<i4")


def serve() -> None:
    """Answer on standard output what comes in on standard input; end when it ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the process that asks decides what they mean
        signal.signal(number, signal.SIG_IGN)
    source, answers = sys.stdin.buffer, sys.stdout.buffer
    try:
        packers = [Packer(tokenizer) for tokenizer in read_vocabularies(source)]
        while True:
            # All is read before anything is answered: both ends writing would wait for each other.
            task = [read_texts(source) for _ in packers]
            for packer, texts in zip(packers, task, strict=True):
                write_packed(answers, packer.pack(texts))
            answers.flush()
    except (EOFError, BrokenPipeError):
        pass


def write_vocabularies(stream: BinaryIO, vocabularies: Sequence[Tokenizer]) -> None:
    """Begin a conversation."""
    texts = [tokenizer.to_json().encode() for tokenizer in vocabularies]
    stream.write(np.array([len(texts)], _NUMBER).tobytes())
    for text in texts:
        stream.write(np.array([len(text)], _NUMBER).tobytes() + text)
    stream.flush()


def read_vocabularies(stream: BinaryIO) -> list[Tokenizer]:
    """Read what ``write_vocabularies`` wrote.

    Raises:
        EOFError: the stream has ended.
    """
    (count,) = _numbers(stream, 1)
    texts = [_exactly(stream, int(_numbers(stream, 1)[0])) for _ in range(count)]
    return [tokenizer_from_json(text.decode()) for text in texts]


def texts_as_bytes(texts: Sequence[str]) -> bytes:
    """Spell one part of a task; all parts are spelled before the first is sent.

    Raises:
        UnicodeEncodeError: a text holds half a surrogate pair.
    """
    together = "".join(texts).encode()
    sizes = [len(texts), len(together), *map(len, texts)]
    return np.array(sizes, _NUMBER).tobytes() + together


def read_texts(stream: BinaryIO) -> list[str]:
    """Read what ``texts_as_bytes`` spelled.

    Raises:
        EOFError: the stream has ended.
    """
    count, size = _numbers(stream, 2).tolist()
    lengths = _numbers(stream, count).tolist()
    together = _exactly(stream, size).decode()
    return [together[start:stop] for start, stop in pairwise(accumulate(lengths, initial=0))]


def write_packed(stream: BinaryIO, packed: Packed) -> None:
    """Write one part of an answer."""
    stream.write(np.array([packed.ids.size, packed.lengths.size], _NUMBER).tobytes())
    stream.write(packed.ids.astype(_ID, copy=False).tobytes())
    stream.write(packed.lengths.astype(_ID, copy=False).tobytes())


def read_packed(stream: BinaryIO) -> Packed:
    """Read what ``write_packed`` wrote.

    Raises:
        EOFError: the stream has ended.
    """
    ids, texts = _numbers(stream, 2).tolist()
    both = np.frombuffer(_exactly(stream, 4 * (ids + texts)), _ID)
    return Packed(both[:ids], both[ids:])


def _numbers(stream: BinaryIO, count: int) -> NDArray[np.int64]:
    return np.frombuffer(_exactly(stream, 8 * count), _NUMBER)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the other process has ended")
    return data
