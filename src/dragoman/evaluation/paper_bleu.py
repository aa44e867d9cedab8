"""BLEU as "Attention Is All You Need" reports it (section 6.1, table 2): of Moses tokens.

The authors' library has the script, ``tensor2tensor/utils/get_ende_bleu.sh``: cut the German
by the Moses tokenizer, split compounds at their hyphens, and compare by ``multi-bleu.perl``. So

    a rich-text format  ->  a rich ##AT##-##AT## text format

has five tokens where there were three, and a hyphen alone is worth a match. Scores come out
different from sacreBLEU's, which cuts text in a way of its own and leaves compounds whole (Post
2018, arXiv 1804.08771). The two must not be compared.
"""

import re
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, Literal

from dragoman.errors import MissingExtraError
from dragoman.evaluation.metrics import Score, token_bleu

PaperMetric = Literal["paper-bleu-de", "paper-bleu-fr"]
PAPER_METRICS: tuple[PaperMetric, ...] = ("paper-bleu-de", "paper-bleu-fr")
NOT_COMPARABLE = (
    "is BLEU of Moses tokens, as papers of 2014 to 2018 report it; compare it with theirs, and "
    "never with bleu, which is sacreBLEU's"
)
_BOUND_HYPHEN = re.compile(r"(\S)-(\S)")


def split_compounds(tokens: str) -> str:
    r"""Split what a hyphen joins, as ``s{(\S)-(\S)}{$1 ##AT##-##AT## $2}g`` does in Perl.

    A character serves one hyphen only, so ``a-b-c`` is split once and ``ab-cd-ef`` twice.

    Args:
        tokens: a line with blanks between tokens.
    """
    return _BOUND_HYPHEN.sub(r"\1 ##AT##-##AT## \2", tokens)


class PaperBleu:
    """Scores raw text as the paper did.

    Args:
        metric: ``paper-bleu-de`` splits compounds. ``paper-bleu-fr`` does not: the script is for
            German, and of French the paper does not say how it was scored.

    Raises:
        MissingExtraError: the library with the Moses tokenizer is not installed.
    """

    def __init__(self, metric: PaperMetric) -> None:
        self.metric: PaperMetric = metric
        self.language = metric.rpartition("-")[2]
        self._moses = _moses(self.language)

    def tokens(self, line: str) -> list[str]:
        """Cut a line of raw text; what Moses escapes, such as ``&apos;``, stays so."""
        cut = str(self._moses.tokenize(line, return_str=True))
        return (split_compounds(cut) if self.language == "de" else cut).split()

    def score(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        """Compare translations with references, both raw text.

        Args:
            hypotheses: one per sentence.
            references: one per sentence.

        Returns:
            Corpus BLEU of up to four tokens, case-sensitive, without smoothing: that of
            ``multi-bleu.perl``.

        Raises:
            ValueError: the counts differ, or there are none.
        """
        found = token_bleu(
            [self.tokens(line) for line in hypotheses], [self.tokens(line) for line in references]
        )
        split = "hyphens" if self.language == "de" else "no"
        signature = (
            f"nrefs:1|case:mixed|tok:moses-{self.language}|split:{split}|smooth:none|"
            f"version:sacremoses-{version('sacremoses')}|not sacreBLEU"
        )
        return Score(self.metric, found.value, signature)


def _moses(language: str) -> Any:  # Any: sacremoses has no types
    try:
        library: Any = import_module("sacremoses")
    except ImportError:
        raise MissingExtraError(f"paper-bleu-{language}", "moses") from None
    return library.MosesTokenizer(language)
