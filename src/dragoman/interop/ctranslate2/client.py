"""CTranslate2 itself at work on a folder, ids in and ids out, to hold our model against.

It computes in float32, so that weights kept in fewer bits are those that we read.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch, CTranslate2Engine, CTranslate2Model, Symbols
from dragoman.errors import MissingExtraError, ModelError
from dragoman.interop.ctranslate2.settings import read_json
from dragoman.models import Learned, ModelConfig
from dragoman.nn import EncoderDecoder

Logits = NDArray[np.float32]


class CTranslate2Side:
    """A ``ctranslate2.Translator``.

    Its beam search is our ``BeamSearch(length_penalty="average", alpha=1.0, patience=1.0)`` with
    nothing banned; translations that met the limit are searched again, as in ``CTranslate2Engine``.
    It does not run an empty source: ``translate`` gives nothing for one, and ``log_probs`` only
    those of the target, which are 0 when no symbol is added to sources.

    Args:
        translator: of the library; Any, as it has no types.
        bundle: says what the ids are.
        longest: pieces that a text may have, symbols included; None is no limit.
    """

    name = "ctranslate2.Translator"
    patience: float | None = 1.0
    banned: tuple[int, ...] = ()
    reads_empty = False

    def __init__(self, translator: Any, bundle: Bundle, longest: int | None) -> None:
        assert isinstance(bundle.model, EncoderDecoder)
        source, target = bundle.source_tokenizer.names(), bundle.target_tokenizer.names()
        self._translator, self._source, self._target = translator, source, target
        self._frame, self.longest = bundle.frame, longest
        loaded = CTranslate2Model(translator, tuple(source), tuple(target), 1, longest)
        added = len(self._frame.source_before), len(self._frame.source_after)
        self._engine = CTranslate2Engine(bundle.model, loaded, added)

    def log_probs(self, source: Sequence[int], target: Sequence[int]) -> Logits:
        """Give the log-probabilities of every piece after each beginning of a target, (T + 1, V).

        The target is forced, and one piece more is generated.
        """
        (result,) = self._translator.translate_batch(
            [_names(self._source, source)],
            target_prefix=[_names(self._target, target)],
            beam_size=1,
            max_input_length=0,
            max_decoding_length=len(target) + 1,
            min_decoding_length=0,
            return_logits_vocab=True,
        )
        if not result.logits:  # an empty source: it tells of the pieces of the target only
            return self.scores(source, target)
        return _log_softmax(np.stack([np.array(step) for step in result.logits[0]]))

    def scores(self, source: Sequence[int], target: Sequence[int]) -> Logits:
        """Give the log-probabilities of a target's pieces and the end symbol, (T + 1,)."""
        (result,) = self._translator.score_batch(
            [_names(self._source, source)], [_names(self._target, target)], max_input_length=0
        )
        return np.array(result.log_probs, dtype=np.float32)

    def translate(self, source: Sequence[int], *, beam: int, max_length: int) -> list[int]:
        """Translate; ``max_length`` counts the end symbol."""
        config = BeamSearch(beam=beam, length_penalty="average", alpha=1.0)
        symbols = Symbols(self._frame.target_before[-1], self._frame.special.end)
        framed = self._frame.source(source)
        ((found, *_),) = self._engine.search([framed], config, symbols, [max_length])
        return list(found.ids)


class CTranslate2Reader:
    """A ``ctranslate2.Generator`` or ``ctranslate2.Encoder``.

    Args:
        name: which of the two.
        model: of the library.
        longest: pieces that a text may have, symbols included; None is no limit.
        pooled: whether an encoder gives one vector for a text.
    """

    def __init__(self, name: str, model: Any, longest: int | None, *, pooled: bool = False) -> None:
        self.name, self._model, self.longest, self._pooled = name, model, longest, pooled

    def outputs(self, ids: Sequence[int]) -> Logits:
        """Give logits (L, V), hidden states (L, D) or one vector (D,) for ids, symbols included."""
        found = self._model.forward_batch([list(ids)])
        if "Encoder" in self.name:
            found = found.pooler_output if self._pooled else found.last_hidden_state
        return np.array(found, dtype=np.float32)[0]


def open_ctranslate2(
    folder: Path, bundle: Bundle, *, compute_type: str = "float32"
) -> CTranslate2Side | CTranslate2Reader:
    """Load a folder with the library itself: one that we wrote, or the source of an import.

    Args:
        folder: of a CTranslate2 model.
        bundle: what was written into it or read from it; says what the ids are.
        compute_type: how products are computed.

    Raises:
        ModelError: the library cannot read it.
        MissingExtraError: CTranslate2 is not installed.
    """
    library = _library()
    assert isinstance(bundle.config, ModelConfig)  # no other is written or read
    longest = _longest(folder, bundle.config)
    options = {"compute_type": compute_type, "inter_threads": 1, "intra_threads": 1}
    try:
        match bundle.config.architecture:
            case "encoder-decoder":
                translator = library.Translator(str(folder), **options)
                return CTranslate2Side(translator, bundle, longest)
            case "decoder-only":
                generator = library.Generator(str(folder), **options)
                return CTranslate2Reader("ctranslate2.Generator", generator, longest)
            case "encoder-only":
                encoder = library.Encoder(str(folder), **options)
                pooled = bundle.config.head == "pooled"
                return CTranslate2Reader("ctranslate2.Encoder", encoder, longest, pooled=pooled)
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"{folder}: CTranslate2 cannot read it: {error}") from None


def _longest(folder: Path, config: ModelConfig) -> int | None:
    """Say how many positions there are: of the model, and in tables that we wrote."""
    both = (config.positions, config.target_positions)
    limits = [each.max_length for each in both if isinstance(each, Learned)]
    if (path := folder / "config.json").is_file():
        ours: Any = read_json(path, dict).get("dragoman")
        written: Any = ours.get("positions") if isinstance(ours, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]  # as JSON holds it
        limits += [written] if isinstance(written, int) else []
    return min(limits, default=None)


def _names(pieces: Sequence[str], ids: Sequence[int]) -> list[str]:
    return [pieces[number] for number in ids]


def _log_softmax(logits: Logits) -> Logits:
    shifted = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    return (shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))).astype(np.float32)


def _library() -> Any:  # Any: it has no types
    try:
        import ctranslate2  # pyright: ignore  # optional, and without types
    except ImportError:
        raise MissingExtraError("CTranslate2", "ct2") from None
    return ctranslate2
