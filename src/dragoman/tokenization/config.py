"""Which vocabulary to learn or to read: the ``[tokenizer]`` table of a recipe."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Discriminator, Field
from tokenizers.normalizers import NFC, NFD, NFKC, NFKD

from dragoman.configfile import record
from dragoman.errors import ConfigError
from dragoman.tokenization.stretches import NormalForm
from dragoman.tokenization.tokenizer import BYTE_PIECES, LANGUAGE_PIECE, SPECIAL_PIECES

Kind = Literal["bpe", "wordpiece", "unigram", "character", "word"]


@record
class TargetTokenizer:
    """The ``[tokenizer.target]`` table: what differs on the target side.

    What it leaves out is as in ``[tokenizer]``, which then describes the source side. So
    ``kind = "character"`` there and ``kind = "word"`` here reads letters and writes whole words,
    such as the sounds of a pronunciation. A ``file`` of the source side is not one of the target.
    """

    kind: Kind | None = None
    size: int | None = None
    normal_form: NormalForm | None = None
    byte_fallback: bool | None = None
    file: Path | None = None
    pieces: tuple[str, ...] | None = None


@record
class MergeDropout:
    """BPE-dropout: leave out merges by chance (Provilkov et al. 2020, arXiv 1910.13267).

    Args:
        chance: that a merge is left out, each time it could be made; 0.1 in the paper, and 0.6
            for Chinese and Japanese.
    """

    kind: Literal["dropout"] = "dropout"
    chance: Annotated[float, Field(gt=0, lt=1)] = 0.1


@record
class LatticeSampling:
    """Subword regularization: cut by chance (Kudo 2018, arXiv 1804.10959, section 3.2).

    Args:
        sharpness: the paper's alpha, with l without limit: probabilities of whole segmentations
            are raised to it. 0 takes all alike, and large values nearly always the best; 0.2 and
            0.1 in the paper (table 2).
    """

    kind: Literal["lattice"] = "lattice"
    sharpness: Annotated[float, Field(ge=0, le=100)] = 0.2


Sampling = Annotated[MergeDropout | LatticeSampling, Discriminator("kind")]
_SAMPLED: dict[Kind, str] = {"bpe": "dropout", "unigram": "lattice"}


@record
class TokenizerConfig:
    """The ``[tokenizer]`` table of a recipe.

    Args:
        kind: how the vocabulary is learnt. ``bpe`` joins the most frequent pairs of pieces,
            ``wordpiece`` those that are likelier than by chance, ``unigram`` keeps the pieces that
            make the text most likely. ``character`` knows single characters, ``word`` what stands
            between spaces; both keep the most frequent.
        size: pieces at most, special symbols and byte pieces included; little text gives fewer.
        joint: one vocabulary for both sides, as in the paper; otherwise each has ``size`` pieces.
            Of no effect beside a ``target`` table, which always means two vocabularies.
        normal_form: Unicode form that all text is brought to; ``NFKC`` and ``NFKD`` also fold
            characters such as ﬁ, ① and full-width letters.
        byte_fallback: spell what has no piece in bytes; otherwise it is unknown, and missing from
            decoded text.
        file: learn nothing, and take the vocabulary of a SentencePiece ``.model`` or a
            ``tokenizer.json``; ``kind``, ``size`` and ``normal_form`` have no meaning then.
        pieces: strings, such as placeholders, that are one piece wherever they stand.
        sampling: cut text differently each time in training; needs the kind ``bpe`` for
            ``dropout`` and ``unigram`` for ``lattice``. Not of a target side of another kind.
        target: what differs on the target side, which then has a vocabulary of its own.
        extend: pieces to add at most to the vocabulary of the model that ``train --from`` starts
            with, to each when there are two; nothing else of this table has a meaning then.

    Raises:
        ConfigError: ``size`` leaves no room to learn anything, one of ``pieces`` cannot be kept, or
            ``sampling`` is not for this ``kind``.
    """

    kind: Kind = "bpe"
    size: int = 8_000
    joint: bool = True
    normal_form: NormalForm = "NFC"
    byte_fallback: bool = True
    file: Path | None = None
    pieces: tuple[str, ...] = ()
    sampling: Sampling | None = None
    target: TargetTokenizer | None = None
    extend: Annotated[int, Field(ge=0, le=1_000_000)] = 0

    def __post_init__(self) -> None:
        """Check what no single field can."""
        if self.file is None:
            self._check_size()
        for piece in self.pieces:
            self._check_piece(piece)
        if self.sampling is not None and self.file is None:
            fits = _SAMPLED.get(self.kind)
            if self.sampling.kind != fits:
                hint = f"try {fits}" if fits else "leave it out, or try the kind bpe or unigram"
                problem = f"{self.sampling.kind} is not for the kind {self.kind}"
                raise ConfigError("sampling", problem, hint)
        if self.target is not None:
            try:
                self.of_target()
            except ConfigError as error:
                raise error.inside("target") from None

    def _check_size(self) -> None:
        least = len(self.reserved_pieces) + 2  # half of the rest, rounded down, is for characters
        if self.size < least:
            taken = f"{len(SPECIAL_PIECES)} special symbols"
            taken += f" and {len(BYTE_PIECES)} byte pieces" if self.byte_fallback else ""
            taken += f" and {len(self.pieces)} of your own" if self.pieces else ""
            raise ConfigError(
                "size", f"{self.size} leaves no room beside {taken}", f"give at least {least}"
            )
        if self.size > 1_000_000:
            raise ConfigError("size", f"{self.size} pieces are more than 1000000", "try 32000")

    def _check_piece(self, piece: str) -> None:
        """Refuse what would never be found, or be taken for a control symbol."""
        if not piece or self.pieces.count(piece) > 1:
            problem = f"{piece!r} is there twice" if piece else "one is empty"
            raise ConfigError("pieces", problem, "leave it out")
        if LANGUAGE_PIECE.search(piece):
            problem = f"{piece!r} holds a language tag, which no text may become"
            raise ConfigError("pieces", problem, "give each corpus its target_language instead")
        if any(reserved in piece for reserved in (*SPECIAL_PIECES, *BYTE_PIECES)):
            problem = f"{piece!r} holds a symbol that no text may become"
            raise ConfigError("pieces", problem, "choose another name")
        try:
            piece.encode("utf-8")
        except UnicodeEncodeError:
            raise ConfigError("pieces", f"{piece!r} is not Unicode text", "leave it out") from None
        forms = {"NFC": NFC, "NFD": NFD, "NFKC": NFKC, "NFKD": NFKD}
        if self.file is None and self.normal_form in forms:
            normalised = forms[self.normal_form]().normalize_str(piece)
            if normalised != piece:
                problem = f"{piece!r} is not in the form {self.normal_form}, so no text holds it"
                raise ConfigError("pieces", problem, f"write {normalised!r}")

    @property
    def shared(self) -> bool:
        """Whether both sides have one vocabulary."""
        return self.joint and self.target is None

    @property
    def reserved_pieces(self) -> tuple[str, ...]:
        """Pieces that are there before anything is learnt, in the order of their ids."""
        spelling = BYTE_PIECES if self.byte_fallback else ()
        return (*SPECIAL_PIECES, *spelling, *self.pieces)

    @property
    def room(self) -> int:
        """Pieces that can be learnt."""
        return self.size - len(self.reserved_pieces)

    def of_target(self) -> "TokenizerConfig":
        """Say what to learn for the target side alone."""
        given = self.target or TargetTokenizer()
        return replace(
            self,
            kind=given.kind or self.kind,
            size=self.size if given.size is None else given.size,
            normal_form=given.normal_form or self.normal_form,
            byte_fallback=(
                self.byte_fallback if given.byte_fallback is None else given.byte_fallback
            ),
            file=given.file if self.target is not None else self.file,
            pieces=self.pieces if given.pieces is None else given.pieces,
            sampling=self._target_sampling(),
            target=None,
        )

    def _target_sampling(self) -> MergeDropout | LatticeSampling | None:
        """Leave sampling out where the target side is of a kind that has none."""
        if self.target is None or self.target.file is not None or self.sampling is None:
            return self.sampling
        fits = _SAMPLED.get(self.target.kind or self.kind) == self.sampling.kind
        return self.sampling if fits else None
