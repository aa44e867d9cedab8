"""Which vocabulary to learn: the ``[tokenizer]`` table of a recipe."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from dragoman.configfile import record
from dragoman.errors import ConfigError
from dragoman.tokenization.tokenizer import BYTE_PIECES, SPECIAL_PIECES, NormalForm

Kind = Literal["bpe", "wordpiece", "character", "word"]


@record
class TargetTokenizer:
    """The ``[tokenizer.target]`` table: what differs on the target side.

    What it leaves out is as in ``[tokenizer]``, which then describes the source side. So
    ``kind = "character"`` there and ``kind = "word"`` here reads letters and writes whole words,
    such as the sounds of a pronunciation.
    """

    kind: Kind | None = None
    size: int | None = None
    normal_form: NormalForm | None = None
    byte_fallback: bool | None = None


@record
class TokenizerConfig:
    """The ``[tokenizer]`` table of a recipe.

    Args:
        kind: how the vocabulary is learnt. ``bpe`` joins the most frequent pairs of pieces,
            ``wordpiece`` those that are likelier than by chance. ``character`` knows single
            characters, ``word`` what stands between spaces; both keep the most frequent.
        size: pieces at most, special symbols and byte pieces included; little text gives fewer.
        joint: one vocabulary for both sides, as in the paper; otherwise each has ``size`` pieces.
            Of no effect beside a ``target`` table, which always means two vocabularies.
        normal_form: Unicode form that all text is brought to; ``NFKC`` and ``NFKD`` also fold
            characters such as ﬁ, ① and full-width letters.
        byte_fallback: spell what has no piece in bytes; otherwise it is unknown, and missing from
            decoded text.
        target: what differs on the target side, which then has a vocabulary of its own.
        extend: pieces to add at most to the vocabulary of the model that ``train --from`` starts
            with, to each when there are two; nothing else of this table has a meaning then.

    Raises:
        ConfigError: ``size`` leaves no room to learn anything.
    """

    kind: Kind = "bpe"
    size: int = 8_000
    joint: bool = True
    normal_form: NormalForm = "NFC"
    byte_fallback: bool = True
    target: TargetTokenizer | None = None
    extend: Annotated[int, Field(ge=0, le=1_000_000)] = 0

    def __post_init__(self) -> None:
        """Check what no single field can."""
        least = len(self.reserved_pieces) + 2  # half of the rest, rounded down, is for characters
        if self.size < least:
            taken = f"{len(SPECIAL_PIECES)} special symbols"
            taken += f" and {len(BYTE_PIECES)} byte pieces" if self.byte_fallback else ""
            raise ConfigError(
                "size", f"{self.size} leaves no room beside {taken}", f"give at least {least}"
            )

        if self.size > 1_000_000:
            raise ConfigError("size", f"{self.size} pieces are more than 1000000", "try 32000")
        if self.target is not None:
            try:
                self.of_target()
            except ConfigError as error:
                raise error.inside("target") from None

    @property
    def shared(self) -> bool:
        """Whether both sides have one vocabulary."""
        return self.joint and self.target is None

    @property
    def reserved_pieces(self) -> tuple[str, ...]:
        """Pieces that are there before anything is learnt, in the order of their ids."""
        return (*SPECIAL_PIECES, *(BYTE_PIECES if self.byte_fallback else ()))

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
            target=None,
        )
