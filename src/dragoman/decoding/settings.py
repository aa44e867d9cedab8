"""How to search: the record behind the ``[decoding]`` table of a recipe."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dragoman.configfile import record
from dragoman.decoding.final_score import LENGTH_FORMS, FinalScore, LengthForm
from dragoman.errors import ConfigError, Mistake


@record
class BeamSearch:
    """The ``[decoding]`` table of a recipe; the defaults are those of section 6.1.

    All that stands below ``max_extra`` is off unless asked for, and the search is then that of
    section 6.1 to the bit. |y| counts the end symbol everywhere.

    Args:
        beam: hypotheses kept open; 1 is greedy.
        alpha: strength of the length penalty, -10 to 10; 0 compares plain log-probabilities, more
            favours longer translations, a negative number shorter ones.
        n_best: translations returned of each sentence, at most ``beam``.
        max_length: most pieces generated, the end symbol included; unset, ``max_extra`` more than
            the source has.
        max_extra: 50 in section 6.1, and 300 for the trees of section 6.3.
        length_penalty: what log P(y) is divided by: ``paper`` is ((5 + |y|) / 6)^alpha,
            ``average`` is |y|^alpha, ``none`` is 1.
        word_reward: is added to the score for each piece, -100 to 100.
        coverage: beta from 0 to 100; adds beta * sum over i of log min(sum over j of p_ij, 1) to
            the score, with p_ij what translated piece j looked at source piece i with (Wu et al.
            2016, arXiv 1609.08144, equation 14).
        patience: stops a search as soon as patience * beam hypotheses have ended, even if an open
            one can still win (Kasai et al. 2022, arXiv 2204.05424); only the best ``beam``
            candidates of a step can then end. Unset, never too early.
        groups: of hypotheses, which divide the beam; each avoids the pieces of those before it
            (diverse beam search, Vijayakumar et al. 2016, arXiv 1610.02424).
        diversity: taken off for each earlier group's hypothesis that chooses the same piece in the
            same step, 0 to 1000, when a group chooses; no part of the score.
        min_length: fewest pieces, the end symbol included; the end comes no earlier.
        no_repeat_ngram: no n pieces in a row come twice; 0 allows it.
        repetition_penalty: log P of a piece that has come before counts this many times, above 0
            up to 100; above 1 makes repetitions rarer.
    """

    beam: int = 4
    alpha: float = 0.6
    n_best: int = 1
    max_length: int | None = None
    max_extra: int = 50
    length_penalty: LengthForm = "paper"
    word_reward: float = 0.0
    coverage: float = 0.0
    patience: float | None = None
    groups: int = 1
    diversity: float = 0.5
    min_length: int = 0
    no_repeat_ngram: int = 0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        """Check what makes no search."""
        mistakes = [*self._out_of_range()]
        if not mistakes:
            mistakes += self._impossible_together()
        if mistakes:
            raise ConfigError.together(mistakes)

    def limit(self, source_length: int) -> int:
        """Say how many pieces a translation may have, the end symbol included."""
        return source_length + self.max_extra if self.max_length is None else self.max_length

    @property
    def final_score(self) -> FinalScore:
        """What hypotheses that have ended are compared by."""
        return FinalScore(self.alpha, self.length_penalty, self.word_reward)

    def enough(self, ended: int) -> bool:
        """Say whether so many ended hypotheses exhaust the patience of a search."""
        return self.patience is not None and ended >= self.patience * self.beam

    def _out_of_range(self) -> Iterator[Mistake]:
        least = {"beam": 1, "n_best": 1, "max_length": 1, "groups": 1}
        least |= {"max_extra": 0, "min_length": 0, "no_repeat_ngram": 0}
        for name, bound in least.items():
            value = getattr(self, name)
            if value is not None and value < bound:
                yield Mistake(name, f"{value} is less than {bound}")
        lengths = dict.fromkeys(("max_length", "max_extra", "min_length"), 1_000_000)
        for name, most in {"beam": 10_000, **lengths}.items():
            if (value := getattr(self, name)) is not None and value > most:
                yield Mistake(name, f"{value} is more than {most}")
        ranges = {"alpha": 10, "word_reward": 100}  # far beyond use; penalties would overflow
        for name, most in ranges.items():
            if not -most <= (value := getattr(self, name)) <= most:
                yield Mistake(name, f"{value} is not between -{most} and {most}")
        for name, most in {"coverage": 100, "diversity": 1000}.items():
            if not 0 <= (value := getattr(self, name)) <= most:
                yield Mistake(name, f"{value} is not between 0 and {most}")
        if not 0 < self.repetition_penalty <= 100:
            problem = f"{self.repetition_penalty} is not above 0 and at most 100"
            yield Mistake("repetition_penalty", problem, "set 1 for none")
        if self.patience is not None and not 0 < self.patience < math.inf:
            problem = f"{self.patience} is not a number above 0"
            yield Mistake("patience", problem, "leave it out to stop only when nothing can win")
        if self.length_penalty not in LENGTH_FORMS:
            problem = f"{self.length_penalty!r} is not a form"
            yield Mistake("length_penalty", problem, f"choose from {', '.join(LENGTH_FORMS)}")

    def _impossible_together(self) -> Iterator[Mistake]:
        if self.n_best > self.beam:
            hint = f"set beam to {self.n_best} or more"
            yield Mistake("n_best", f"{self.n_best} is more than beam {self.beam}", hint)
        elif self.patience is not None and self.n_best > self.patience * self.beam:
            problem = f"{self.n_best} is more than patience {self.patience} times beam {self.beam}"
            yield Mistake("n_best", problem, f"set patience to {self.n_best / self.beam} or more")
        if self.beam % self.groups:
            near = [n for n in range(1, self.beam + 1) if self.beam % n == 0]
            hint = f"choose from {', '.join(map(str, near))}"
            yield Mistake("groups", f"{self.groups} does not divide beam {self.beam}", hint)
        if self.max_length is not None and self.min_length > self.max_length:
            problem = f"{self.min_length} is more than max_length {self.max_length}"
            yield Mistake("min_length", problem, f"set max_length to {self.min_length} or more")


@dataclass(frozen=True, slots=True)
class PrefixTooLong:
    """Why a sentence has no translation: its forced prefix leaves no room for an end symbol."""

    pieces: int
    limit: int

    def __str__(self) -> str:
        return (
            f"the prefix has {self.pieces} pieces and needs one more for the end symbol, but the "
            f"limit is {self.limit}; shorten the prefix or raise max_length"
        )


def prefix_too_long(prefix: Sequence[int], limit: int) -> PrefixTooLong | None:
    """Say whether a forced prefix fits a limit that counts it and the end symbol."""
    return PrefixTooLong(len(prefix), limit) if len(prefix) > limit - 1 else None
