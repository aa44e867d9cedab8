"""Proof that a package of Argos Translate translates as its model does.

Its inner model is held to ours by ids, as every model in the CTranslate2 format. Then texts go in
and texts come out: by ``argostranslate`` where it is installed, otherwise by the libraries that it
consists of. Three things of theirs are not compared: in place of unknown text they write a piece of
the source, bytes that are no characters may give another number of U+FFFD, and of what reaches
their limit of length they may keep what is cut off.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from dragoman.bundle import Bundle
from dragoman.decoding import Session, Symbols
from dragoman.errors import ModelError
from dragoman.interop.argos.archive import Package, unpacked
from dragoman.interop.argos.client import ArgosClient, as_argos, comparable_search
from dragoman.interop.argos.parts import LONGEST, ArgosParts
from dragoman.interop.certificate import (
    BEAMS,
    TOLERANCE,
    WRITTEN,
    Certificate,
    Searched,
    difference,
)
from dragoman.interop.own_side import Own, searched
from dragoman.interop.probes import TEXTS, probe_sources, probe_targets
from dragoman.tokenization.existing_pieces import SPACE

_TIES = "hold unknown text, reach the limit or hang on rounding"
_DRAWN = 6  # texts made of pieces drawn at random, the short ones


class TextClient(Protocol):
    """What turns texts into texts."""

    @property
    def name(self) -> str:
        """Program and version."""
        ...

    def translate(self, texts: Sequence[str], *, beam: int) -> list[str]:
        """Translate texts, in order."""
        ...


def certify_argos(path: Path, bundle: Bundle, *, exact: bool = True) -> Certificate:
    """Run a package and the model that it was written from on probe sentences.

    Args:
        path: of a package. ``argostranslate`` itself is asked where it is installed, if
            ``write_argos`` wrote the package with ``sentences="lines"``; others fetch something.
        bundle: what it was written from, or what was read from it.
        exact: both must agree; otherwise differences are only written down, as for weights in fewer
            bits.

    Raises:
        ModelError: they do not agree.
        MissingExtraError: CTranslate2 or SentencePiece is not installed.
    """
    with unpacked(path) as package:
        parts = ArgosParts(package.folder)
        inner = _Inner(parts, bundle)
        largest = inner.largest_difference(exact)
        searches = [inner.compare(name, exact) for name in BEAMS]
        client = _client(package) or parts
        texts = _texts(bundle)
        searches += [_compare(client, bundle, texts, name, exact) for name in BEAMS]
    allowed = TOLERANCE if exact else math.inf
    name, probes = client.name, len(inner.sources)
    return Certificate(name, "log-probabilities", probes, largest, allowed, tuple(searches))


class _AsArgos(Own):
    """Our side, with the search of Argos Translate."""

    def _search(self, session: Session, beam: int, max_length: int) -> list[list[int]]:
        symbols = replace(Symbols.of(self.frame), banned=())  # nothing is
        return searched(session, comparable_search(beam), symbols, max_length)


class _Inner:
    """The inner model and ours, on ids; the libraries do not run an empty source."""

    def __init__(self, parts: ArgosParts, bundle: Bundle) -> None:
        self.own, self.parts = _AsArgos(bundle), parts
        self.sources = [source for source in probe_sources(bundle, None) if source]
        self.targets = probe_targets(bundle, self.sources, None)
        tokenizers = (bundle.source_tokenizer, bundle.target_tokenizer)
        self.read, self.written = (
            [name.replace(" ", SPACE) for name in tokenizer.names()] for tokenizer in tokenizers
        )

    def largest_difference(self, exact: bool) -> float:
        """Compare the log-probabilities of given targets and the end symbol."""
        read = [[self.read[number] for number in source] for source in self.sources]
        written = [[self.written[number] for number in target] for target in self.targets]
        largest = 0.0
        found = self.parts.scores(read, written)
        for source, target, theirs in zip(self.sources, self.targets, found, strict=True):
            ours = self.own.log_probs(source, target, given=True)
            largest = max(largest, difference(ours, np.array(theirs, np.float32)))
        if exact and largest > TOLERANCE:
            raise ModelError(
                f"{self.parts.name}: log-probabilities differ from Dragoman's by {largest:.2g}; at "
                f"most {TOLERANCE:.0e} is allowed; nothing was written"
            )
        return largest

    def compare(self, name: str, exact: bool) -> Searched:
        """Compare translations, in which unknown text is written as a piece of the source."""
        options = {"beam": BEAMS[name], "max_length": WRITTEN}
        read = [[self.read[number] for number in source] for source in self.sources]
        found = self.parts.search(read, **options)
        equal = ties = 0
        chosen = self.own.translate_all(self.sources, **options)
        for source, theirs, ids in zip(self.sources, found, chosen, strict=True):
            ours = [self.written[number] for number in ids]
            unknown = self.own.frame.special.unknown in ids
            if ours == theirs:
                equal += 1
            elif unknown or (exact and self.own.undecided(source, noise=TOLERANCE, **options)):
                ties += 1
            elif exact:
                raise _refused(self.parts.name, name, str(source), str(theirs), str(ours))
        return Searched(f"ids, {name}", len(read), equal, ties, _TIES)


def _client(package: Package) -> ArgosClient | None:
    """Give Argos Translate itself, where it is installed and cuts lines as ours do."""
    written = package.metadata.get("dragoman")
    ours = isinstance(written, dict) and cast("dict[str, Any]", written).get("sentences") == "lines"
    if not ours or find_spec("argostranslate") is None:
        return None
    source, target = package.languages
    return ArgosClient(path=package.path, source_language=source, target_language=target)


def _texts(bundle: Bundle) -> list[str]:
    """Make texts that people could type: some in many languages, and some of the vocabulary."""
    drawn = probe_sources(bundle, None)[len(TEXTS) :][:_DRAWN]
    typed = (bundle.source_tokenizer.decode(ids) for ids in drawn)
    kept = ("".join(c for c in text if c.isprintable() and c not in "\ufffd▁") for text in typed)
    return [*TEXTS, "  two  lines \n\n  a_b </s> <unk>", *kept]


@dataclass(slots=True)
class _Searches:
    """Our translations of the sentences of a text, and what may make them differ."""

    own: _AsArgos
    bundle: Bundle
    beam: int
    sources: list[list[int]]
    unlike: bool = False  # unknown text, or what reaches their limit, need not be the same

    def __call__(self, sentences: Sequence[str]) -> list[list[int]]:
        self.sources = self.bundle.source_tokenizer.encode_many(sentences)
        found = self.own.translate_all(self.sources, beam=self.beam, max_length=LONGEST)
        unknown = self.bundle.target_tokenizer.special.unknown
        self.unlike = any(unknown in ids or len(ids) >= LONGEST - 2 for ids in found)
        return found

    def undecided(self) -> bool:
        """Whether one of them hangs on rounding."""
        options: dict[str, Any] = {"max_length": LONGEST, "noise": TOLERANCE}
        return any(self.own.undecided(ids, beam=self.beam, **options) for ids in self.sources)


def _compare(
    client: TextClient, bundle: Bundle, texts: Sequence[str], name: str, exact: bool
) -> Searched:
    """Compare the texts that come out."""
    theirs = client.translate(texts, beam=BEAMS[name])
    equal = ties = 0
    for text, other in zip(texts, theirs, strict=True):
        searches = _Searches(_AsArgos(bundle), bundle, BEAMS[name], [])
        ours = as_argos(text, searches, bundle.target_tokenizer)
        if _comparable(ours) == _comparable(other):
            equal += 1
        elif searches.unlike or (exact and searches.undecided()):
            ties += 1
        elif exact:
            raise _refused(client.name, name, repr(text), repr(other), repr(ours))
    return Searched(f"texts, {name}", len(texts), equal, ties, _TIES)


def _refused(client: str, search: str, source: str, theirs: str, ours: str) -> ModelError:
    return ModelError(
        f"{client}: translates {source} to {theirs} ({search}), Dragoman to {ours}; nothing was "
        "written"
    )


def _comparable(text: str) -> str:
    return re.sub("\ufffd+", "\ufffd", text)
