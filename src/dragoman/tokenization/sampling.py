"""Cut text differently each time it is read in training, so that a model sees more of its pieces.

Byte-pair encoding leaves out merges by chance (BPE-dropout, Provilkov et al. 2020, arXiv
1910.13267, algorithm 1). A unigram vocabulary draws a whole segmentation by its probability (Kudo
2018, arXiv 1804.10959, section 3.2, with l without limit): forward filtering, backward sampling.
Pieces that are kept whole stay whole. In translation text is cut as ever.

Chance comes in as a function that draws numbers in [0, 1): ``pair_draws`` makes one for each epoch
and pair, so that what a pair becomes does not depend on batches, workers or a restart.
"""

import json
import math
import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import cast

from dragoman.errors import ConfigError
from dragoman.tokenization.config import LatticeSampling, MergeDropout
from dragoman.tokenization.tokenizer import BYTE_PIECES, SPECIAL_PIECES, Json, Tokenizer

Draw = Callable[[], float]
Merges = dict[tuple[int, int], tuple[int, int]]  # two ids: the rank of the merge, and what it makes
REMEMBERED = 100_000  # stretches of text, or states of such, that a sampler remembers at most
LONGEST_REMEMBERED = 24  # symbols of a stretch; longer ones seldom come twice
_UNKNOWN_PENALTY = 10.0  # below the rarest piece, as in SentencePiece


def pair_draws(seed: int, epoch: int, pair: int, side: int = 0) -> Draw:
    """Give the random numbers of one side of one pair in one epoch.

    The same on every machine and in every version of Python (``random.seed``, version 2).
    """
    return random.Random(f"{seed} {epoch} {pair} {side}").random


class SubwordSampler:
    """Cuts text by chance.

    Args:
        tokenizer: of the kind bpe or unigram.
        choice: how.

    Raises:
        ConfigError: the choice is not for this kind of tokenizer (place ``sampling``).
    """

    def __init__(self, tokenizer: Tokenizer, choice: MergeDropout | LatticeSampling) -> None:
        if not tokenizer.lossless:
            problem = "an imported vocabulary is not cut by chance"
            raise ConfigError("sampling", problem, "leave it out")
        settings = cast("Json", json.loads(tokenizer.to_json()))
        model = settings["model"]
        self._tokenizer = tokenizer
        self._cutter: _MergingCutter | _LatticeCutter
        match choice:
            case MergeDropout() if model["type"] == "BPE" and not _looks_up(model):
                self._cutter = _MergingCutter(model, tokenizer.special.unknown, choice.chance)
            case LatticeSampling() if model["type"] == "Unigram":
                self._cutter = _LatticeCutter(model, tokenizer.special.unknown, choice.sharpness)
            case _:
                wanted = (
                    "byte-pair encoding" if choice.kind == "dropout" else "a unigram vocabulary"
                )
                problem = f"{choice.kind} needs {wanted}, and this vocabulary is another"
                raise ConfigError("sampling", problem, "leave it out, or choose another kind")

    def encode(self, text: str, draw: Draw) -> list[int]:
        """Turn text into ids that decode to the same text as ever, without start or end symbols.

        Args:
            text: as for ``Tokenizer.encode``.
            draw: gives numbers in [0, 1); how many are used depends on the text.

        Raises:
            ValueError: the text holds half a surrogate pair.
        """
        ids: list[int] = []
        for stretch in self._tokenizer.cut(text):
            ids += self._cutter.cut(stretch, draw)
        return ids


def merge_with_dropout(
    symbols: Sequence[int], merges: Merges, chance: float, draw: Draw
) -> list[int]:
    """Merge neighbours by rank, each time without some (algorithm 1 of Provilkov et al. 2020).

    Args:
        symbols: ids.
        merges: the rank of each merge, low ones first, and the id that it makes.
        chance: that a merge which could be made is left out this time.
        draw: gives numbers in [0, 1), one for each merge that could be made.
    """
    symbols = list(symbols)
    while True:
        best: tuple[int, int, int] | None = None  # rank, place, what it makes
        for place in range(len(symbols) - 1):
            merge = merges.get((symbols[place], symbols[place + 1]))
            if merge is None or draw() < chance:
                continue
            if best is None or merge[0] < best[0]:
                best = (merge[0], place, merge[1])
        if best is None:
            return symbols
        symbols[best[1] : best[1] + 2] = [best[2]]


def _looks_up(model: Json) -> bool:
    """Whether the model only looks pieces up, as those of characters and words do."""
    return bool(model["ignore_merges"]) and not model["merges"]


class _Spelling:
    """Ids for what has no piece: its bytes, or unknown."""

    def __init__(self, numbers: dict[str, int], unknown: int, *, byte_fallback: bool) -> None:
        self._unknown = [unknown]
        found = [numbers[piece] for piece in BYTE_PIECES if piece in numbers]
        self.bytes = found if byte_fallback and len(found) == len(BYTE_PIECES) else None

    def ids(self, character: str) -> list[int]:
        """Spell one character."""
        if self.bytes is None:
            return self._unknown
        return [self.bytes[byte] for byte in character.encode()]


# Symbols, the merges that could be made, each a place and what it makes, and what follows each.
_State = tuple[list[int], list[tuple[int, int]], list["_State | None"]]


class _MergingCutter:
    """BPE-dropout on the vocabulary of a file; remembers where the merges of a stretch lead."""

    def __init__(self, model: Json, unknown: int, chance: float) -> None:
        numbers = cast("dict[str, int]", model["vocab"])
        self._spelling = _Spelling(numbers, unknown, byte_fallback=bool(model["byte_fallback"]))
        self._chance, self._log_chance = chance, math.log(chance)
        self._known: dict[str, _State] = {}
        self._states = 0
        self._merges: Merges = {}
        for rank, (left, right) in enumerate(cast("list[tuple[str, str]]", model["merges"])):
            pair = numbers[left], numbers[right]
            self._merges.setdefault(pair, (rank, numbers[left + right]))
        self._characters = {piece: each for piece, each in numbers.items() if len(piece) == 1}
        made = {number for _, number in self._merges.values()}
        apart = {*SPECIAL_PIECES, *BYTE_PIECES, *self._characters}
        # What no merge makes is there to be kept whole.
        self._whole = {
            piece: number
            for piece, number in numbers.items()
            if model["ignore_merges"] and piece not in apart and number not in made
        }

    def cut(self, stretch: str, draw: Draw) -> list[int]:
        if stretch in self._whole:
            return [self._whole[stretch]]
        state = self._known.get(stretch)
        if state is None:
            symbols = self._symbols(stretch)
            if len(symbols) > LONGEST_REMEMBERED:
                return merge_with_dropout(symbols, self._merges, self._chance, draw)
            if self._states >= REMEMBERED:
                self._known.clear()
                self._states = 0
            state = self._known[stretch] = self._state(symbols)
        return self._walk(state, draw)

    def _symbols(self, stretch: str) -> list[int]:
        symbols: list[int] = []
        for character in stretch:
            number = self._characters.get(character)
            symbols += [number] if number is not None else self._spelling.ids(character)
        return symbols

    def _walk(self, state: _State, draw: Draw) -> list[int]:
        """Merge as ``merge_with_dropout`` does, with one number for each round.

        The merge that is made is the first, by rank, that is not left out: each comes after k that
        are with the chance ``chance ** k * (1 - chance)``.
        """
        symbols, merges, following = state
        while merges:
            drawn, at = draw(), 0
            if drawn < self._chance:
                at = int(math.log(drawn) / self._log_chance) if drawn else len(merges)
                if at >= len(merges):
                    break
            after = following[at]
            if after is None:
                place, made = merges[at]
                after = [*symbols[:place], made, *symbols[place + 2 :]]
                after = following[at] = self._state(after)
            symbols, merges, following = after
        return symbols

    def _state(self, symbols: list[int]) -> _State:
        """List the merges that could be made, in the order in which they are preferred."""
        self._states += 1
        found = [
            (*merge, place)
            for place, pair in enumerate(pairwise(symbols))
            if (merge := self._merges.get(pair)) is not None
        ]
        found.sort(key=lambda each: (each[0], each[2]))
        return symbols, [(place, made) for _, made, place in found], [None] * len(found)


_Edge = tuple[int, int]  # where it begins, and the id; -1 for a character without a piece
_Place = tuple[list[float], list[_Edge]]  # the edges that end here, and their summed weights


class _LatticeCutter:
    """Draws segmentations of a unigram vocabulary; remembers the sums of each stretch."""

    def __init__(self, model: Json, unknown: int, sharpness: float) -> None:
        vocabulary = cast("list[tuple[str, float]]", model["vocab"])
        numbers = {piece: number for number, (piece, _) in enumerate(vocabulary)}
        self._spelling = _Spelling(numbers, unknown, byte_fallback=bool(model["byte_fallback"]))
        apart = {*SPECIAL_PIECES, *BYTE_PIECES}
        self._pieces = {
            piece: (numbers[piece], sharpness * score)
            for piece, score in vocabulary
            if piece not in apart
        }
        self._whole = {
            piece: numbers[piece]
            for piece, score in vocabulary
            if score == 0 and piece not in apart
        }
        self._longest = max(map(len, self._pieces), default=1)
        lowest = min(score for _, score in vocabulary)
        self._unknown = sharpness * (lowest - _UNKNOWN_PENALTY)
        self._known: dict[str, list[_Place]] = {}

    def cut(self, stretch: str, draw: Draw) -> list[int]:
        if stretch in self._whole:
            return [self._whole[stretch]]
        places = self._known.get(stretch)
        if places is None:
            places = self._filter(stretch)
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[stretch] = places
        end, chosen = len(stretch), list[_Edge]()
        while end:
            weights, edges = places[end - 1]
            at = bisect_right(weights, draw() * weights[-1]) if len(edges) > 1 else 0
            edge = edges[min(at, len(edges) - 1)]
            chosen.append(edge)
            end = edge[0]
        return self._ids(stretch, chosen[::-1])

    def _filter(self, stretch: str) -> list[_Place]:
        """Sum the weights of all segmentations up to each place, forwards."""
        sums = [0.0]  # logarithms
        places: list[_Place] = []
        for end in range(1, len(stretch) + 1):
            edges: list[_Edge] = []
            values: list[float] = []
            for start in range(max(0, end - self._longest), end):
                found = self._pieces.get(stretch[start:end])
                if found is not None:
                    edges.append((start, found[0]))
                    values.append(sums[start] + found[1])
            if not edges or edges[-1][0] != end - 1:
                edges.append((end - 1, -1))
                values.append(sums[end - 1] + self._unknown)
            highest = max(values)
            weights = [*accumulate(math.exp(value - highest) for value in values)]
            sums.append(highest + math.log(weights[-1]))
            places.append((weights, edges))
        return places

    def _ids(self, stretch: str, edges: Sequence[_Edge]) -> list[int]:
        ids: list[int] = []
        unknown = False
        for start, number in edges:
            if number >= 0:
                ids.append(number)
            elif not (unknown and self._spelling.bytes is None):  # unknowns in a row are one
                ids += self._spelling.ids(stretch[start])
            unknown = number < 0
        return ids
