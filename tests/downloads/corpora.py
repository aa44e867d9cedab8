"""Small corpora for a server on loopback, packed as the real ones are."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping

from dragoman.downloads import Archive, Copy, Piece, PublicCorpus
from tests.downloads.server import Reply, Server

SGM = """<refset setid="t" srclang="any" trglang="{language}">
<doc docid="d1"><hl><seg id="1"> {first} </seg></hl>
<p><seg id="2">{second}</seg></p></doc>
</refset>
"""
MEMBERS = {
    "training/a.de": "Ein Hund.\nZwei\u2028Zeilen? Nein.\n\nDer letzte\n",
    "training/a.en": "A dog.\nTwo lines? No.\nno source\nThe last one\n",
    "dev.de": "Gut.\n",
    "dev.en": "Good.\n",
    "test.de.sgm": SGM.format(language="de", first="AT&amp;T & Söhne", second="5 < 6"),
    "test.en.sgm": SGM.format(language="en", first="AT&amp;T & sons", second="5 < 6"),
}


def tar(members: Mapping[str, str], mode: str = "w:gz") -> bytes:
    """Pack a tar archive; a member called ``.gz`` is packed by itself too."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]  # any mode
        for name, text in members.items():
            entry = tarfile.TarInfo(name)
            data = gzipped(text) if name.endswith(".gz") else text.encode()
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def zipped(members: Mapping[str, str]) -> bytes:
    """Pack a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return stream.getvalue()


def gzipped(text: str) -> bytes:
    """Pack one file."""
    return gzip.compress(text.encode(), mtime=0)


def copy(url: str, data: bytes, **changes: object) -> Copy:
    """Describe bytes that lie at an address."""
    known: dict[str, object] = {
        "urls": (url,),
        "size": len(data),
        "digest": hashlib.sha256(data).hexdigest(),
        "digest_from": "this test",
    }
    return Copy(**(known | changes))  # type: ignore[arg-type]  # fields of a test


def corpus(*copies: Copy, **changes: object) -> PublicCorpus:
    """Describe a corpus of one archive that holds ``MEMBERS``."""
    known: dict[str, object] = {
        "name": "tiny-de-en",
        "title": "A test",
        "source_language": "de",
        "target_language": "en",
        "licence": "For tests only.",
        "licence_url": "https://example.org/licence",
        "homepage": "https://example.org/",
        "citation": "Nobody 2017.",
        "archives": (Archive(name="tiny", copies=copies),) if copies else (),
        "train": (Piece(archive="tiny", source="training/a.de", target="training/a.en", pairs=4),),
        "validation": (Piece(archive="tiny", source="dev.de", target="dev.en", pairs=1),),
        "test": (Piece(archive="tiny", source="test.de.sgm", target="test.en.sgm", layout="sgm"),),
        "test_pairs": 2,
        "text_bytes": 1000,
    }
    return PublicCorpus(**(known | changes))  # type: ignore[arg-type]  # fields of a test


def served(server: Server, *replies: Reply, **changes: object) -> PublicCorpus:
    """Put ``MEMBERS`` on a server, answered in these ways, and describe the corpus."""
    data = tar(MEMBERS)
    for reply in replies:
        reply.body = reply.body or data
    url = server.put("/tiny.tgz", *(replies or (Reply(data),)))
    return corpus(copy(url, data), **changes)
