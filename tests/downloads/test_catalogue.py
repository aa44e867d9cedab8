import re

import pytest

from dragoman.downloads import CATALOGUE, Archive, Copy, Piece, PublicCorpus, find_corpus
from dragoman.errors import ConfigError
from tests.downloads.corpora import copy, corpus

EACH = pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)


def test_names_are_unique() -> None:
    names = [entry.name for entry in CATALOGUE]
    assert len(set(names)) == len(names)
    assert {"wmt14-de-en", "wmt14-fr-en", "iwslt2017-de-en", "multi30k-en-de"} <= set(names)


@EACH
def test_every_copy_has_a_published_digest_and_an_address(entry: PublicCorpus) -> None:
    lengths = {"sha256": 64, "sha1": 40, "md5": 32}
    for archive in entry.archives:
        assert len({archive.file_name(copy) for copy in archive.copies}) == len(archive.copies)
        for one in archive.copies:
            assert re.fullmatch(rf"[0-9a-f]{{{lengths[one.algorithm]}}}", one.digest)
            assert len(set(one.digest)) > 8  # no place holder
            assert "/" in one.digest_from
            assert all(url.startswith(("https://", "http://")) for url in one.urls)


@EACH
def test_every_entry_says_what_its_owners_allow(entry: PublicCorpus) -> None:
    assert len(entry.licence) > 20
    assert entry.licence_url.startswith("https://")
    assert entry.homepage.startswith("https://")
    assert len(entry.citation) > 20
    assert entry.name.endswith(f"-{entry.source_language}-{entry.target_language}")


@EACH
def test_members_are_plain_relative_names(entry: PublicCorpus) -> None:
    for piece in entry.pieces:
        for name in (piece.source, piece.target):
            assert re.fullmatch(r"(?:[A-Za-z0-9][A-Za-z0-9._-]*/)*[A-Za-z0-9][A-Za-z0-9._-]*", name)
        assert (piece.layout == "columns") == (piece.source == piece.target)


def test_one_digest_never_stands_for_two_files() -> None:
    owners: dict[str, set[tuple[str, ...]]] = {}
    for entry in CATALOGUE:
        for archive in entry.archives:
            for one in archive.copies:
                owners.setdefault(one.digest, set()).add(one.urls)
    assert all(len(urls) == 1 for urls in owners.values())


def test_known_numbers_of_wmt14() -> None:
    # Vaswani et al. 2017, section 5.1: about 4.5 and 36 million pairs; newstest2014 has 3,003.
    german, french = find_corpus("wmt14-de-en"), find_corpus("wmt14-fr-en")
    assert german.train_pairs == 1_920_209 + 2_399_123 + 201_288
    assert french.train_pairs == 40_842_333
    assert german.test[0].pairs == french.test[0].pairs == 3_003


def test_an_unknown_name_proposes_a_near_one() -> None:
    with pytest.raises(ConfigError, match="no corpus is called 'wmt14-en-de'; did you mean wmt14"):
        find_corpus("wmt14-en-de")


def test_what_is_no_record_cannot_be_made() -> None:
    good = copy("http://127.0.0.1/x", b"x")
    piece = Piece(archive="other", source="a", target="b")
    with pytest.raises(ValueError, match="is no sha256"):
        copy("http://127.0.0.1/x", b"x", digest="abc")
    with pytest.raises(ValueError, match="not http addresses"):
        copy("ftp://127.0.0.1/x", b"x")
    with pytest.raises(ValueError, match="not http addresses"):
        copy("x", b"x", urls=())
    with pytest.raises(ValueError, match="not a number of bytes"):
        copy("http://127.0.0.1/x", b"x", size=0)
    with pytest.raises(ValueError, match="say who published the digest"):
        Copy(urls=good.urls, digest=good.digest, digest_from="")
    with pytest.raises(ValueError, match="is no file name"):
        Archive(name="../x", copies=(good,))
    with pytest.raises(ValueError, match="has none"):
        Archive(name="x", copies=())
    with pytest.raises(ValueError, match="fit no piece"):
        corpus(good, train=(piece,))
    with pytest.raises(ValueError, match="sets are given, or held out"):
        corpus(good, one_in=10)
    with pytest.raises(ValueError, match="is no name"):
        corpus(good, name="../x")
    with pytest.raises(ValueError, match="both sides are one"):
        corpus(good, target_language="de")
