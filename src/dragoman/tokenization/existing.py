"""Take a vocabulary that exists: a SentencePiece ``.model``, or a ``tokenizer.json``.

Its pieces, and how it cuts text, are kept; the promises are those of ``Tokenizer``. So:

- Control symbols are ours, whatever the file calls its own, and come first, then the bytes, then
  the pieces in the order of the file. Ids are not those of the file; pieces are.
- Text comes back, while SentencePiece drops some of it: runs of spaces and control characters stay.
  Text in the file's normal form with single spaces is cut as SentencePiece cuts it.
- Typed ``</s>`` or ``<0x41>`` is cut behind its ``<``. Pieces that were declared as user-defined
  are found in text and kept whole, as SentencePiece does.
"""

from pathlib import Path

from dragoman.errors import ModelError
from dragoman.tokenization.config import TokenizerConfig
from dragoman.tokenization.existing_json import read_tokenizer_json
from dragoman.tokenization.existing_pieces import SPACE, Pieces, build_existing, merges_by_score
from dragoman.tokenization.sentencepiece_model import read_sentencepiece_model
from dragoman.tokenization.stretches import NormalForm
from dragoman.tokenization.tokenizer import Tokenizer

_RULES: dict[str, NormalForm] = {
    "identity": "none",
    "nfkc": "NFKC",
    "nmt_nfkc": "NFKC",
}


def read_existing(path: Path, config: TokenizerConfig) -> Tokenizer:
    """Read a vocabulary from a file, the kind of which is found by looking.

    Args:
        path: a SentencePiece model, or a ``tokenizer.json`` written by this package or another.
        config: says whether to add byte pieces, and which ``pieces`` to add and keep whole; a file
            that ``Tokenizer.save`` wrote is taken as it is.

    Raises:
        ModelError: the file cannot be read, or no lossless tokenizer can be made of it.
    """
    try:
        begins = path.read_bytes()[:64].lstrip()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        if not begins.startswith(b"{"):
            return build_existing(_of_sentencepiece(path), config)
        return read_tokenizer_json(path, config)
    except ModelError as error:
        known = str(error).startswith(str(path))
        raise ModelError(str(error) if known else f"{path}: {error}") from None


def _of_sentencepiece(path: Path) -> Pieces:
    file = read_sentencepiece_model(path)
    if file.algorithm not in ("unigram", "bpe"):
        raise ModelError(
            f"is of the kind {file.algorithm}, which is not read here; learn one: "
            f'kind = "{file.algorithm}"'
        )
    if file.space_after:
        raise ModelError("puts spaces behind words, which is not read here")
    if file.has_rules and file.rule not in _RULES:
        raise ModelError(
            f"changes text by the rule {file.rule or 'of its own'!r}, so that it does not come "
            "back; train it with nmt_nfkc, nfkc or identity"
        )
    scores = {
        each.text.replace(SPACE, " "): each.score for each in file.pieces if each.type == "normal"
    }
    whole = tuple(each.text.replace(SPACE, " ") for each in file.pieces if each.type == "user")
    return Pieces(
        scores=scores,
        merges=merges_by_score(scores) if file.algorithm == "bpe" else None,
        whole=whole,
        normal_form=_RULES[file.rule] if file.has_rules else "none",
        lead=" " if file.adds_space else "",
    )
