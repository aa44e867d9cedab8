"""What becomes of a segment, and which segments are not translated at all."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.decoding import Trace
from dragoman.translator.flags import Flag, flags_of


@dataclass(frozen=True, slots=True)
class Candidate:
    """One translation of a segment.

    Args:
        text: without any special symbol.
        score: log-probability over length penalty, with what controls of the search change in it;
            log-probability if it was drawn, utility if it was chosen for least risk; higher is
            better.
        tokens: pieces, the end symbol included unless truncated.
        token_log_probs: natural logarithms, one per piece.
        truncated: whether it reached ``max_length`` before it ended.
        missing: what was required and does not stand in it.
        written: ids of ``tokens``, a tuple for each part of the segment. Text may be cut into
            other pieces when it is read again; these are the ones that were written.
    """

    text: str
    score: float
    tokens: tuple[str, ...]
    token_log_probs: tuple[float, ...]
    truncated: bool
    missing: tuple[str, ...] = ()
    written: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Translation:
    """What became of one segment.

    Args:
        source: the segment as given.
        hypotheses: the n best, best first, or samples in the order drawn; one without pieces when
            the segment was copied.
        copied: it is blank or has no letters, and is given back as it came.
        shortened: it was longer than the model takes, and only a part was translated.
        parts: in how many parts it was translated, one after the other; more than one when it is
            longer than the model takes or its sentences are translated one by one, and then there
            is only one hypothesis.
        error: why there is no translation, such as a forced prefix that is too long.
        traces: how each part was searched, where that was asked for.
        required: phrases that it must hold, alternatives with ``|`` between: those asked for, and
            those of a glossary whose source term it holds.
        read: ids that the model read, a tuple for each part, a language tag included, other symbols
            around them not.
    """

    source: str
    hypotheses: tuple[Candidate, ...]
    copied: bool = False
    shortened: bool = False
    error: str = ""
    parts: int = 1
    traces: tuple[Trace, ...] = ()
    required: tuple[str, ...] = ()
    read: tuple[tuple[int, ...], ...] = ()

    @property
    def text(self) -> str:
        """The best translation."""
        return self.hypotheses[0].text if self.hypotheses else ""

    @property
    def score(self) -> float:
        """Score of the best."""
        return self.hypotheses[0].score if self.hypotheses else 0.0

    @property
    def tokens(self) -> tuple[str, ...]:
        """Pieces of the best."""
        return self.hypotheses[0].tokens if self.hypotheses else ()

    @property
    def token_log_probs(self) -> tuple[float, ...]:
        """Log-probabilities of the pieces of the best."""
        return self.hypotheses[0].token_log_probs if self.hypotheses else ()

    @property
    def truncated(self) -> bool:
        """Whether the best reached the length limit."""
        return bool(self.hypotheses) and self.hypotheses[0].truncated

    @property
    def missing(self) -> tuple[str, ...]:
        """Those of ``required`` that do not stand in the best."""
        return self.hypotheses[0].missing if self.hypotheses else self.required

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What looks wrong with the best; nothing if the segment was copied or there is none."""
        if self.copied or not self.hypotheses:
            return ()
        found = flags_of(self.source, self.text, truncated=self.truncated)
        return (*found, "missing-term") if self.missing else found


def join_parts(parts: Sequence[Candidate], text: str) -> Candidate:
    """Make one translation of those of a split segment; the score is their sum.

    Args:
        parts: in order.
        text: theirs, put together.
    """
    return Candidate(
        text,
        sum(part.score for part in parts),
        tuple(token for part in parts for token in part.tokens),
        tuple(log_prob for part in parts for log_prob in part.token_log_probs),
        any(part.truncated for part in parts),
        written=tuple(ids for part in parts for ids in part.written),
    )


def one_line(text: str, *, tabs: bool = True) -> str:
    """Make text fit for one line of a file: LF and CR become spaces, and tabs if they may not stay.

    A model that falls back to bytes can write any character, and a lone CR is part of a line.
    """
    text = text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ")
    return text if tabs else text.replace("\t", " ")


def has_letters(text: str) -> bool:
    """Whether a segment holds a letter of any script."""
    return any(unicodedata.category(character).startswith("L") for character in text)
