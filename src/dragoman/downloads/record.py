"""What the catalogue knows of a public corpus: where it lies, what it weighs, what it becomes.

A corpus is made of archives. An archive has one or more copies: the same text on other hosts, maybe
packed in another way. Each copy carries the digest that somebody published for exactly its bytes,
so a host may be slow, gone or hostile, but never wrong unnoticed.
"""

import re
from dataclasses import dataclass
from typing import Literal

Algorithm = Literal["sha256", "sha1", "md5"]
Packing = Literal["tar", "zip", "gz", "plain"]  # "tar" is read whatever it is compressed with
Layout = Literal["lines", "sgm", "tagged", "columns"]

DIGEST_LENGTHS: dict[Algorithm, int] = {"sha256": 64, "sha1": 40, "md5": 32}
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Certain bytes, and the addresses at which they lie.

    Args:
        urls: mirrors of the same bytes, best first.
        digest: hexadecimal, of the whole file.
        digest_from: who published the digest, so that anybody can look it up.
        algorithm: what the digest is; ``sha1`` or ``md5`` only where nothing better was published.
        size: in bytes; None where nobody published it.
        packing: how the file is packed.

    Raises:
        ValueError: no address, one that is not http(s), or a digest of the wrong shape.
    """

    urls: tuple[str, ...]
    digest: str
    digest_from: str
    algorithm: Algorithm = "sha256"
    size: int | None = None
    packing: Packing = "tar"

    def __post_init__(self) -> None:
        if not self.urls or not all(re.match(r"https?://[^/]+/", url) for url in self.urls):
            raise ValueError(f"urls: {self.urls} are not http addresses")
        if not re.fullmatch(rf"[0-9a-f]{{{DIGEST_LENGTHS[self.algorithm]}}}", self.digest):
            raise ValueError(f"digest: {self.digest!r} is no {self.algorithm}")
        if self.size is not None and self.size < 1:
            raise ValueError(f"size: {self.size} is not a number of bytes")
        if not self.digest_from:
            raise ValueError("digest_from: say who published the digest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A file to fetch, from the first copy that can be had.

    Args:
        name: what the file is called here, without what its packing adds.
        copies: best first; all hold the same members under the same names.
    """

    name: str
    copies: tuple[Copy, ...]

    def __post_init__(self) -> None:
        if not _FILE_NAME.fullmatch(self.name):
            raise ValueError(f"name: {self.name!r} is no file name")
        if not self.copies:
            raise ValueError(f"copies: {self.name} has none")

    def file_name(self, copy: Copy) -> str:
        """Give the name that ``copy`` has on disk; copies that differ have different names."""
        ending = {"tar": ".tar.gz", "zip": ".zip", "gz": ".gz", "plain": ""}[copy.packing]
        return f"{self.name}-{copy.digest[:8]}{ending}"

    def copy_named(self, file_name: str) -> Copy:
        """Give the copy that has this name on disk."""
        return next(copy for copy in self.copies if self.file_name(copy) == file_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Pairs inside an archive.

    Args:
        archive: name of the archive of the source side.
        source: member that holds the source side.
        target: member that holds the target side; the same as ``source`` for columns.
        target_archive: name of the archive of the target side, when it is another.
        layout: ``lines`` is plain text; ``sgm`` the test sets of WMT and IWSLT; ``tagged`` the
            training text of IWSLT; ``columns`` are ``source<TAB>target`` and more.
        pairs: how many there are, when somebody published it.
    """

    archive: str
    source: str
    target: str
    target_archive: str = ""
    layout: Layout = "lines"
    pairs: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicCorpus:
    """A corpus that users may ask for by name.

    Args:
        name: what users type.
        title: one line about it.
        source_language: code of the first language; also the ending of its files.
        target_language: code of the second.
        licence: what its owners allow, in a sentence or two.
        licence_url: where to read it.
        homepage: where the corpus is described.
        citation: whom to thank, in a line.
        archives: what is fetched.
        train: pieces joined to the training set, in order.
        validation: pieces of the validation set.
        test: pieces of the test set.
        train_pairs: how many the pieces of ``train`` hold together, when somebody published it.
        validation_pairs: the same of ``validation``.
        test_pairs: the same of ``test``.
        one_in: for corpora without such sets: of so many different source sentences one goes to
            validation and one to test, with all its translations; 0 for none.
        text_bytes: about what the text takes, for the check of disk space.

    Raises:
        ValueError: a piece names an archive that is not there, or the sets make no sense.
    """

    name: str
    title: str
    source_language: str
    target_language: str
    licence: str
    licence_url: str
    homepage: str
    citation: str
    archives: tuple[Archive, ...]
    train: tuple[Piece, ...]
    validation: tuple[Piece, ...] = ()
    test: tuple[Piece, ...] = ()
    train_pairs: int | None = None
    validation_pairs: int | None = None
    test_pairs: int | None = None
    one_in: int = 0
    text_bytes: int

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"name: {self.name!r} is no name")
        known = {archive.name for archive in self.archives}
        if len(known) != len(self.archives):
            raise ValueError(f"archives: {self.name} names one twice")
        used = {name for piece in self.pieces for name in archives_of(piece)}
        if used != known:
            raise ValueError(f"archives: {self.name}: {sorted(used ^ known)} fit no piece")
        if bool(self.one_in) == bool(self.validation and self.test):
            raise ValueError(f"one_in: {self.name}: sets are given, or held out of train")
        if self.source_language == self.target_language:
            raise ValueError(f"target_language: {self.name}: both sides are one")

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All pieces of all sets."""
        return (*self.train, *self.validation, *self.test)

    @property
    def sets(self) -> dict[str, tuple[tuple[Piece, ...], int | None]]:
        """Pieces and pairs of each set; one without pieces is held out of ``train``."""
        return {
            "train": (self.train, self.train_pairs),
            "validation": (self.validation, self.validation_pairs),
            "test": (self.test, self.test_pairs),
        }

    @property
    def download_bytes(self) -> int | None:
        """What the first copies weigh together, or None when one is not known."""
        sizes = [archive.copies[0].size for archive in self.archives]
        return None if None in sizes else sum(size for size in sizes if size is not None)


def archives_of(piece: Piece) -> tuple[str, str]:
    """Name the archives of the source and the target side."""
    return piece.archive, piece.target_archive or piece.archive
