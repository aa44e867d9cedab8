"""A model that answers requests: one queue for everything that is asked of it."""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from functools import partial
from threading import Lock
from typing import Any

from dragoman.decoding import FusedEngine, Waiter
from dragoman.models import ModelConfig
from dragoman.nn import EncoderDecoder, LinearAttention
from dragoman.serving.batcher import Batcher
from dragoman.serving.limits import Limits
from dragoman.translator import (
    AlignedPair,
    Aligner,
    Translator,
    attention_of_ids,
    language_tag,
)

CHARACTERS = 4  # of a piece, about
SLOTS = 4096  # of a batch where more would be no faster; what comes later waits for it

Result = Any  # of the translator's methods, told apart by the way
_SEARCHES = 3  # of an alternative that is asked for: so many pieces are tried
_ATTENTION = 20  # its weights take memory until they have been sent


@dataclass(frozen=True, slots=True)
class Translate:
    """Translate texts so; see ``Translator.translate``."""

    beam: int = 4
    alpha: float = 0.6
    n_best: int = 1
    max_length: int | None = None
    sentences: bool = False
    target_language: str | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """Score pairs."""

    target_language: str | None = None


@dataclass(frozen=True, slots=True)
class Attend:
    """Show the attention of pairs: ids that are read, and ids that are written."""


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Find other words at a place of a pair."""

    position: int
    count: int
    target_language: str | None = None


@dataclass(frozen=True, slots=True)
class Align:
    """Weigh the words of pairs against each other."""

    target_language: str | None = None


Way = Translate | Score | Attend | Alternatives | Align


class Served:
    """A loaded model and its queue.

    Args:
        name: by which requests choose it.
        translator: the model.
        limits: of what may wait.
        source_language: code, if known.
        target_languages: codes, if known; those that the model tells apart, or one.
    """

    def __init__(
        self,
        name: str,
        translator: Translator,
        limits: Limits,
        *,
        source_language: str | None = None,
        target_languages: Sequence[str] = (),
    ) -> None:
        self.name, self.translator = name, translator
        self.source_language = source_language
        self.target_languages = tuple(translator.languages) or tuple(target_languages)
        engine = translator.engine
        if isinstance(engine, FusedEngine):
            engine.shared = True
        tokens = engine.batch_tokens or SLOTS
        self.queue: Batcher[Any, Result] = Batcher(
            self._work,
            room=limits.waiting_characters,
            size=tokens * CHARACTERS,
            workers=engine.workers,
            side_by_side=lambda way: isinstance(way, Translate),
        )
        self._whole = Lock()  # held by what runs the model itself, with all threads of PyTorch

    @property
    def shows_attention(self) -> bool:
        """Whether the model forms attention weights that can be shown."""
        model = self.translator.bundle.model
        linear = any(isinstance(module, LinearAttention) for module in model.modules())
        return isinstance(model, EncoderDecoder) and not linear

    def submit(
        self, way: Way, items: Sequence[Any], *, bite: int | None = None
    ) -> list[Future[Result]]:
        """Ask for something; see ``Batcher.submit``."""
        return self.queue.submit(way, items, self.sizes(way, items), bite=bite)

    def sizes(self, way: Way, items: Sequence[Any]) -> list[int]:
        """Say how much room items take in the queue: characters or ids, as often as they cost."""
        match way:
            case Alternatives(count=count):
                cost = _SEARCHES * count
            case Attend():
                cost = _ATTENTION
            case _:
                cost = 1
        return [cost * (1 + _size(item)) for item in items]

    def attention_weights(self, source: int, target: int) -> int:
        """Count the weights that ``Attend`` gives of so many bare pieces read and written."""
        bundle = self.translator.bundle
        config, frame = bundle.config, bundle.frame
        if not isinstance(config, ModelConfig):
            return 0  # it has none
        s, t = source + frame.source_added, target + frame.target_added
        decoder = (config.decoder_layers or config.layers) * (t * t + s * t)
        return config.heads * (config.layers * s * s + decoder)

    def _work(self, way: Hashable, items: list[Any], waiter: Waiter[Result]) -> list[Result]:
        if isinstance(way, Translate):
            return [*self.translator.translate(items, **asdict(way), waiter=waiter)]
        with self._whole:
            return self._ask_model(way, items, waiter)

    def _ask_model(self, way: Hashable, items: list[Any], waiter: Waiter[Result]) -> list[Result]:
        match way:
            case Score(target_language=language):
                sources, targets = zip(*items, strict=True)
                return [*self.translator.score(sources, targets, target_language=language)]
            case Attend():
                bundle = self.translator.bundle
                return [attention_of_ids(bundle, source, target) for source, target in items]
            case Alternatives():
                return [
                    self._alternatives(way, *item, wanted=partial(waiter.wants, place))
                    for place, item in enumerate(items)
                ]
            case Align(target_language=language):
                bundle, limit = self.translator.bundle, self.translator.source_limit
                lead = language_tag(bundle.source_tokenizer, language)
                return Aligner(bundle, lead, limit).align(items)
            case _:
                raise TypeError(f"{way!r} is no way to ask")

    def _alternatives(
        self, way: Alternatives, source: str, target: str, *, wanted: Callable[[], bool]
    ) -> Result:
        position = min(way.position, len(target))
        language = way.target_language
        return self.translator.alternatives(
            source, target, position, way.count, target_language=language, wanted=wanted
        )


def _size(item: Any) -> int:
    """Count the characters, or ids, of what is asked for."""
    if isinstance(item, AlignedPair):
        return len(item.source) + len(item.target)
    return len(item) if isinstance(item, str) else sum(map(len, item))
