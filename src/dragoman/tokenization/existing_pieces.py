"""Make a lossless tokenizer of pieces that were learnt elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tokenizers import models

from dragoman.tokenization.byte_pair import Pair
from dragoman.tokenization.config import TokenizerConfig
from dragoman.tokenization.stretches import NormalForm, splitter
from dragoman.tokenization.tokenizer import (
    BYTE_PIECES,
    LANGUAGE_PIECE,
    SPECIAL_PIECES,
    SpecialIds,
    Tokenizer,
    assemble,
)

SPACE = "▁"  # U+2581, what other files write for a space
# What stands behind "<" in a symbol of ours.
_NAMES = rf"(?:pad>|s>|/s>|unk>|0x[0-9A-F]{{2}}>|{LANGUAGE_PIECE.pattern[1:]})"
TYPED = rf"<(?={_NAMES})"  # cut off, so that no text is looked up as such a symbol


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """What a file says, in the words of this package.

    Args:
        scores: of each piece that text may become, in order; spaces are spaces.
        merges: for byte-pair encoding, in order; None for a unigram model.
        whole: pieces that are found first and never cut.
        normal_form: of all text.
        lead: goes before the text, a space or nothing.
    """

    scores: Mapping[str, float]
    merges: Sequence[Pair] | None
    whole: tuple[str, ...]
    normal_form: NormalForm
    lead: str


def build_existing(pieces: Pieces, config: TokenizerConfig) -> Tokenizer:
    """Make a tokenizer of the pieces of a file.

    Raises:
        ModelError: the result would break a promise of ``Tokenizer``.
    """
    found = [piece for piece in pieces.whole if not holds_symbol(piece)]
    whole = tuple(dict.fromkeys([*config.pieces, *found]))
    reserved = (*SPECIAL_PIECES, *(BYTE_PIECES if config.byte_fallback else ()))
    first = dict.fromkeys([*reserved, *whole], 0.0)
    # Rounded, because longer numbers are not read from tokenizer.json as they were written.
    given = {
        piece: round(score, 6)
        for piece, score in pieces.scores.items()
        if LANGUAGE_PIECE.search(piece) is None
    }
    scores = first | {piece: score for piece, score in given.items() if piece not in first}
    unknown = SpecialIds().unknown
    if pieces.merges is None:
        model = models.Unigram([*scores.items()], unknown, config.byte_fallback)
    else:
        model = models.BPE(
            vocab={piece: number for number, piece in enumerate(scores)},
            merges=[
                pair
                for pair in pieces.merges
                if "".join(pair) not in first and not LANGUAGE_PIECE.search("".join(pair))
            ],
            unk_token=SPECIAL_PIECES[unknown],
            byte_fallback=config.byte_fallback,
            ignore_merges=bool(whole),
        )
    # Cutting before spaces changes nothing when no piece crosses one, and is faster.
    crossing = any(" " in piece[1:] for piece in pieces.scores)
    lead, inside = ("", r"[^<]") if crossing else (" ?", r"[^ <]")
    words = rf"{TYPED}|{lead}(?:{inside}|<(?!{_NAMES}))+| "
    return assemble(
        model, pieces.normal_form, splitter=splitter(words, whole=whole), lead=pieces.lead
    )


def holds_symbol(piece: str) -> bool:
    """Whether a piece holds what no text may become: a control symbol, a tag or a byte piece."""
    reserved = any(each in piece for each in (*SPECIAL_PIECES, *BYTE_PIECES))
    return reserved or LANGUAGE_PIECE.search(piece) is not None


def merges_by_score(scores: Mapping[str, float]) -> list[Pair]:
    """Find the merges of SentencePiece's byte-pair encoding, which joins whatever makes a piece.

    The best piece is made first, from any two pieces that spell it.
    """
    merges: list[tuple[float, Pair]] = []
    for piece, score in scores.items():
        for place in range(1, len(piece)):
            left, right = piece[:place], piece[place:]
            if left in scores and right in scores:
                merges.append((-score, (left, right)))
    return [pair for _, pair in sorted(merges, key=lambda each: each[0])]
