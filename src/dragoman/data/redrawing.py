"""What makes a pair anew each time it enters a batch: pieces cut by chance, and other cases.

A stored pair is ids, from which its text comes back. Cutting that text again by chance (BPE-dropout
or subword regularization, ``tokenization/sampling.py``) shows a model more of its pieces. Writing
it in capitals now and then lets ALL CAPS and Title Case translate, which text seldom holds.

Batches are planned by length before a pair is drawn, so a plan leaves room (``planned``). Capitals
take several times the pieces, for which not every pair can be given room: only some pairs, always
the same, are, and they are about half the time in capitals and half as they stand.
"""

import hashlib
import math
import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.data.letter_case import CaseAugmentation, all_caps, has_cases, title_case
from dragoman.errors import ConfigError
from dragoman.tokenization import Draw, LatticeSampling, MergeDropout, SubwordSampler, Tokenizer

# Times the stored length; on Multi30k with 8,000 pieces 9 of 10 sentences become no longer.
UPPER_ROOM, TITLE_ROOM = 5.0, 1.75
ROOM_BESIDE = 2  # pieces, for short sentences
_SPREAD = 2_654_435_769  # 2^32 over the golden ratio: neighbours end up far apart (Knuth, 6.4)


class Redraw:
    """Makes a pair anew; what it becomes follows from its ids, its number and the chance alone.

    Args:
        tokenizers: one when the vocabulary is joint, otherwise of source and target.
        sampling: how text is cut by chance, on the target side only if its vocabulary is of that
            kind; None cuts as ever.
        case: which share of the pairs changes case; None leaves all as they stand.
        whole: strings that keep their case, such as the ``pieces`` of the tokenizers.
        longest: most ids of a side, without the symbols that batches add; None is no limit.

    Raises:
        ConfigError: ``sampling`` is not for the vocabulary of the source (place
            ``tokenizer.sampling``).
    """

    def __init__(
        self,
        tokenizers: Sequence[Tokenizer],
        *,
        sampling: MergeDropout | LatticeSampling | None,
        case: CaseAugmentation | None,
        whole: Sequence[str] = (),
        longest: int | None = None,
    ) -> None:
        case = case or CaseAugmentation()
        self._sides = tuple(
            _Side(tokenizer, sampling, number)
            for number, tokenizer in enumerate((tokenizers[0], tokenizers[-1]))
        )
        self._sampled, self._whole, self._longest = sampling is not None, tuple(whole), longest
        wanted = case.upper + case.title
        self._with_room = min(1.0, 2 * wanted)  # share of the pairs
        self._chance = wanted / self._with_room if wanted else 0.0  # that one of them changes
        self._upper = case.upper / wanted if wanted else 0.0  # of those that change
        self._sampled_room = sampled_room(sampling)
        self._case_room = TITLE_ROOM * self._sampled_room if case.title else 1.0
        if case.upper:
            self._case_room = max(self._case_room, UPPER_ROOM)

    @property
    def name(self) -> str:
        """Tell apart how much room is planned for."""
        rooms = self._with_room, self._case_room, self._sampled_room, self._longest
        return hashlib.sha256(repr(rooms).encode()).hexdigest()[:8]

    def planned(
        self, lengths: NDArray[np.integer], pairs: NDArray[np.integer] | None = None
    ) -> NDArray[np.int64]:
        """Say how long the pairs of a corpus may become.

        Args:
            lengths: ids of one side of each pair, (N,).
            pairs: the number of each, (N,); from 0 on unless given.

        Returns:
            The most ids that a call gives, (N,); never fewer than there are.
        """
        return self._room(lengths, np.arange(len(lengths)) if pairs is None else pairs)

    def __call__(
        self, source: Sequence[int], target: Sequence[int], rng: np.random.Generator, *, pair: int
    ) -> tuple[list[int], list[int]]:
        """Make a pair anew.

        Args:
            source: stored ids, without start and end symbols; a language tag may stand first, and
                stays there.
            target: the same of the other side.
            rng: all chance comes from it, one number for each call.
            pair: its number, as ``planned`` counts.

        Returns:
            Ids of both sides. A side as it is stored when it would be longer than ``planned``
            says, both when that is so in another case, or when its text does not come back, as
            with unknown pieces.
        """
        stored = [int(each) for each in source], [int(each) for each in target]
        draw = random.Random(int(rng.integers(1 << 62))).random
        change = bool(self._may_change(np.array(pair))) and draw() < self._chance
        texts = [side.text(ids) for side, ids in zip(self._sides, stored, strict=True)]
        upper = change and draw() < self._upper
        change = change and all(text is not None and has_cases(text) for text in texts)
        if not change and not self._sampled:
            return stored
        drawn: list[list[int]] = []
        for side, ids, text in zip(self._sides, stored, texts, strict=True):
            if text is None:
                drawn.append(ids)
                continue
            if change:
                text = (all_caps if upper else title_case)(text, self._whole)
            made = side.encode(text, ids, draw)
            fits = len(made) <= self._room(np.array([len(ids)]), np.array([pair]))[0]
            if change and not fits:
                return stored
            drawn.append(made if fits else ids)
        return drawn[0], drawn[1]

    def _may_change(self, pair: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Say which pairs have room for another case."""
        return np.asarray(pair.astype(np.uint64) * _SPREAD % 2**32 < self._with_room * 2**32)

    def _room(self, lengths: NDArray[np.integer], pair: NDArray[np.integer]) -> NDArray[np.int64]:
        lengths = np.asarray(lengths, dtype=np.int64)
        times = np.where(self._may_change(pair), self._case_room, 1.0)
        times = np.maximum(times, self._sampled_room)
        room = np.ceil(times * lengths).astype(np.int64) + ROOM_BESIDE * (times > 1)
        if self._longest is not None:
            room = np.minimum(room, self._longest)
        return np.maximum(room, lengths)


class _Side:
    """One side: ids to text and back."""

    def __init__(
        self, tokenizer: Tokenizer, sampling: MergeDropout | LatticeSampling | None, number: int
    ) -> None:
        self._tokenizer, self._sampler = tokenizer, None
        self._unknown = tokenizer.special.unknown
        self._tags = frozenset(tokenizer.languages.values())
        try:
            if sampling is not None:
                self._sampler = SubwordSampler(tokenizer, sampling)
        except ConfigError as error:
            if number == 0:
                raise error.inside("tokenizer") from None

    def text(self, ids: list[int]) -> str | None:
        """Give the text, or None when it is not all there."""
        if self._unknown in ids:
            return None
        text = self._tokenizer.decode(ids)
        return None if "\ufffd" in text else text  # perhaps cut within a character

    def encode(self, text: str, stored: list[int], draw: Draw) -> list[int]:
        """Give ids of the text, behind the tag that the stored ones begin with."""
        tag = stored[:1] if stored and stored[0] in self._tags else []
        if self._sampler is None:
            return [*tag, *self._tokenizer.encode(text)]
        return [*tag, *self._sampler.encode(text, draw)]


def sampled_room(sampling: MergeDropout | LatticeSampling | None) -> float:
    """Say how many times longer text becomes, at most in 9 of 10 sentences of Multi30k."""
    match sampling:
        case None:
            return 1.0
        case MergeDropout(chance=chance):
            return 1 + 6 * chance
        case LatticeSampling(sharpness=sharpness):
            return 1 + 3 * math.exp(-6 * sharpness)
