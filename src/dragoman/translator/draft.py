"""A small model, or copying, that proposes what a large model then verifies."""

from collections.abc import Callable, Sequence
from pathlib import Path

from dragoman.bundle import Bundle, load_bundle
from dragoman.data import Frame
from dragoman.decoding import (
    Ban,
    BeamSearch,
    CopyDrafts,
    DraftCounts,
    Engine,
    Found,
    ModelDrafts,
    Speculation,
    check_reading,
    choose_engine,
    decode_drafted,
    reader_of,
)
from dragoman.decoding.drafted import CANNOT_READ
from dragoman.device import choose_device
from dragoman.errors import ConfigError, ModelError
from dragoman.models import SequenceToSequence
from dragoman.nn import EncoderDecoder
from dragoman.tokenization import SpecialIds, Tokenizer

COPY = "copy"


class Draft:
    """Who proposes pieces, for models of one pair of vocabularies; see ``Translator.translate``.

    ``counts`` says what has become of all proposals so far.

    Args:
        bundle: a model far smaller than the one it proposes to, with the same vocabularies; None
            copies what stands in the source, or came before, after the same pieces.
        length: most pieces proposed at once, 1 to 1000.
        engine: what computes the model; its own modules unless given.

    Raises:
        ConfigError: the length is outside its range.
        ModelError: the model cannot go back to an earlier piece.
    """

    def __init__(
        self, bundle: Bundle | None, length: int = 4, engine: Engine | None = None
    ) -> None:
        self.bundle, self.length, self.counts = bundle, length, DraftCounts()
        self.engine = engine
        self._speculation(None)  # is it possible?

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        length: int = 4,
        device: str = "auto",
        dtype: str = "auto",
        engine: str = "auto",
        say: Callable[[str], None] = lambda _: None,
    ) -> "Draft":
        """Read a small model, or make a draft that copies.

        Args:
            folder: a model or run folder; ``copy`` copies (a folder of that name is ``./copy``).
            length: most pieces proposed at once, 1 to 1000.
            device: as in ``Translator.load``, and best the same.
            dtype: as in ``Translator.load``; what is cheap will do, such as ``int8``.
            engine: as in ``Translator.load``.
            say: is told what takes long.

        Raises:
            ModelError: a file is missing or damaged, or the model cannot draft.
            ConfigError: the length, device, dtype or engine is impossible.
        """
        if engine == "ctranslate2":
            raise ConfigError("draft", CANNOT_READ, "set engine to torch or fused")
        if str(folder) == COPY:
            return cls(None, length)
        bundle = load_bundle(Path(folder), choose_device(device))
        try:
            draft = cls(bundle, length)
        except ModelError as error:
            raise ModelError(f"{folder}: {error}") from None
        if isinstance(bundle.model, EncoderDecoder):
            special = bundle.target_tokenizer.special
            draft.engine = choose_engine(bundle.model, special, engine=engine, dtype=dtype, say=say)
        return draft

    def check(self, large: Bundle) -> None:
        """See that a large model reads and writes the same pieces.

        Raises:
            ConfigError: with the first difference.
        """
        if self.bundle is None:
            if len(large.tokenizers) > 1:
                problem = "nothing can be copied between the two vocabularies of this model"
                raise ConfigError("draft", problem, "draft with a small model")
            return
        if type(self.bundle.model) is not type(large.model):
            problem = f"is {self.bundle.config.architecture}, the model {large.config.architecture}"
            raise ConfigError("draft", problem, "draft with a model of the same kind")
        sides = ("source", "target")
        for side in sides if isinstance(large.model, EncoderDecoder) else sides[1:]:
            small, other = (getattr(each, f"{side}_tokenizer") for each in (self.bundle, large))
            if difference := _difference(small, other):
                hint = "train the draft with the tokenizer of the model"
                raise ConfigError("draft", f"{difference} in the {side} vocabulary", hint)
        if isinstance(large.model, EncoderDecoder) and self.bundle.frame != large.frame:
            problem = "other symbols stand around its sources, or before its targets"
            raise ConfigError("draft", problem, "draft with a model of the same kind")

    def decode(
        self,
        model: SequenceToSequence | Engine,
        sources: Sequence[Sequence[int]],
        config: BeamSearch,
        special: SpecialIds | Frame,
        *,
        batch_tokens: int = 0,
        prefixes: Sequence[Sequence[int]] | None = None,
        ban: Ban | None = None,
    ) -> list[Found]:
        """Do what ``decoding.decode`` does, one source after the other, and count.

        ``batch_tokens`` means nothing, as there are no batches.
        """
        found, counts = decode_drafted(
            model, sources, config, special, self._speculation(special), prefixes=prefixes, ban=ban
        )
        self.counts += counts
        return found

    def _speculation(self, special: SpecialIds | Frame | None) -> Speculation:
        """Make what one call needs, so that several may run at the same time."""
        if self.bundle is None:
            around = (0, 1)
            if isinstance(special, Frame):
                around = len(special.source_before), len(special.source_after)
            return Speculation(CopyDrafts(around), self.length)
        model = check_reading(self.bundle.model, "draft")
        reader = reader_of(model if self.engine is None else self.engine, "draft")
        drafts = ModelDrafts(reader, self.bundle.target_tokenizer.special.end)
        return Speculation(drafts, self.length)


def _difference(small: Tokenizer, large: Tokenizer) -> str:
    """Say in what the ids of two tokenizers differ; empty when in nothing."""
    if small.size != large.size:
        return f"it has {small.size:,} pieces and the model {large.size:,}"
    if small.special != large.special:
        return f"its special ids are {small.special} and the model's {large.special}"
    if small.languages != large.languages:
        return "it has other language tags than the model"
    own, other = small.piece_bytes(), large.piece_bytes()
    for number in sorted(own):
        if own[number] != other.get(number):
            names = [each.pieces([number])[0] for each in (small, large)]
            return f"its piece {number} is {names[0]!r} and the model's {names[1]!r}"
    return ""
