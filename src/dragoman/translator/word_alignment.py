"""Word alignment: of which word of the source each word of a translation was written.

A word is what stands between white space; each character of a script without spaces (Chinese,
Japanese, Thai, Lao, Khmer, Burmese) is a word of its own. The target is encoded and the decoder is
run over it. The weights of a target piece are those with which the decoder looked at the source in
the step that *writes* the piece: the one whose input is the piece before it, or the start symbol.
(They are not those of the step that reads the piece; both are in use, see Garg et al. 2019, arXiv
1909.02074, and Chen et al. 2020, arXiv 2004.14837.) Then

    a(target word, source word) = mean over pieces of the target word of
                                  sum over pieces of the source word of the weight
    weight of a link            = a / sum over all source words of a

and each target word is linked to the source word with the largest weight (of equal ones, the one at
the nearer place). The attention is the mean of chosen heads; by default it is, as in ``alignment``,
that of the sharpest layer, times some trust in equal places. End symbols and language tags are no
words.

Shapes: W target words, V source words.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.bundle import Bundle
from dragoman.errors import ConfigError, ModelError
from dragoman.nn import EncoderDecoder, MultiHeadAttention
from dragoman.translator.alignment import Aligner, Array, Head, Pair
from dragoman.translator.whole_words import UNSPACED
from dragoman.translator.words import Spans

_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_AT_ONCE = 256  # pairs; their tables are held together


class Link(NamedTuple):
    """A target word and the source word it comes of, numbered from 0.

    ``weight`` is the share of the source word, above 0 and at most 1.
    """

    source: int
    target: int
    weight: float


@dataclass(frozen=True, slots=True)
class WordAlignment:
    """Which words of a pair belong together.

    Args:
        source_words: in order.
        target_words: in order.
        links: one for each target word, in their order; none if a side has no words.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    links: tuple[Link, ...]

    def pharaoh(self) -> str:
        """Write the links as ``0-0 2-1``: source word, target word."""
        return " ".join(f"{link.source}-{link.target}" for link in self.links)


def links_of(table: Array) -> tuple[Link, ...]:
    """Link each target word to its best source word, from weights above 0, (W, V)."""
    if not table.size:
        return ()
    shares = table / table.sum(1, keepdims=True)
    best = table.argmax(1).tolist()
    return tuple(Link(s, t, float(shares[t, s])) for t, s in enumerate(best))


def align_pairs(
    bundle: Bundle,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    heads: Sequence[Head] = (),
    lead: tuple[int, ...] = (),
    limit: int = 1024,
) -> list[WordAlignment]:
    """Align the words of pairs.

    Args:
        bundle: a Transformer and its tokenizers.
        sources: raw text.
        targets: raw text, one for each source.
        heads: layer and head of the decoder, from 0, whose mean is used; none: the default.
        lead: ids in front of every source, such as that of a language tag.
        limit: most pieces of a side; longer pairs are aligned by the places of their words alone.

    Raises:
        ModelError: the decoder forms no attention weights over the source.
        ConfigError: there is no such head.
        ValueError: the counts differ.
    """
    check_heads(bundle, heads)
    aligner = Aligner(bundle, lead, limit, heads=tuple(heads))
    pairs = [
        Pair(source, target, _spans(source), _spans(target))
        for source, target in zip(sources, targets, strict=True)
    ]
    found: list[WordAlignment] = []
    for start in range(0, len(pairs), _AT_ONCE):
        some = pairs[start : start + _AT_ONCE]
        tables = aligner.align(some)
        found += [
            _alignment(pair, links_of(table)) for pair, table in zip(some, tables, strict=True)
        ]
    return found


def check_heads(bundle: Bundle, heads: Sequence[Head]) -> None:
    """See that a model has these heads.

    Raises:
        ModelError: the decoder forms no attention weights over the source.
        ConfigError: a head is outside of it.
    """
    attentions: list[object] = []
    if isinstance(bundle.model, EncoderDecoder):
        layers = bundle.model.decoder.layers
        attentions = [layer.get_submodule("cross_attention") for layer in layers]
    known = [each for each in attentions if isinstance(each, MultiHeadAttention)]
    if not known or len(known) < len(attentions):
        kind = bundle.config.architecture
        raise ModelError(
            f"the decoder of this model ({kind}) forms no attention weights over the source, so "
            "there is nothing to align words by"
        )
    for layer, head in heads:
        if not (0 <= layer < len(known) and 0 <= head < known[layer].heads):
            hint = f"layers are 0 to {len(known) - 1}, heads 0 to {known[0].heads - 1}"
            raise ConfigError("alignment_heads", f"{layer}:{head} is no head of this model", hint)


def align_copy(source: str, target: str) -> WordAlignment:
    """Link each word of a target that is its source, or has no words, to itself."""
    pair = Pair(source, target, _spans(source), _spans(target))
    return _alignment(pair, tuple(Link(n, n, 1.0) for n in range(len(pair.target_words))))


def _spans(text: str) -> Spans:
    return [match.span() for match in _WORD.finditer(text)]


def _alignment(pair: Pair, links: tuple[Link, ...]) -> WordAlignment:
    return WordAlignment(
        tuple(pair.source[start:end] for start, end in pair.source_words),
        tuple(pair.target[start:end] for start, end in pair.target_words),
        links,
    )
