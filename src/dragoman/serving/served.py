"""A model that answers requests: one queue for everything that is asked of it."""

from collections.abc import Hashable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any

from dragoman.nn import EncoderDecoder
from dragoman.serving.batcher import Batcher
from dragoman.serving.limits import Limits
from dragoman.translator import Translator

CHARACTERS = 4  # of a piece, about

Result = Any  # of the translator's methods, told apart by the way


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
    """Show the attention of pairs."""

    target_language: str | None = None


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Find other words at a place of a pair."""

    position: int
    count: int
    target_language: str | None = None


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
        tokens = engine.batch_tokens
        self.queue: Batcher[Any, Result] = Batcher(
            self._work,
            room=limits.waiting_characters,
            size=None if tokens is None else tokens * CHARACTERS,
            workers=engine.workers,
        )
        self._whole = Lock()  # held by what runs the model itself, with all threads of PyTorch

    @property
    def shows_attention(self) -> bool:
        """Whether the model forms attention weights that can be shown."""
        return isinstance(self.translator.bundle.model, EncoderDecoder)

    def submit(
        self, way: Translate | Score | Attend | Alternatives, items: Sequence[Any]
    ) -> list[Future[Result]]:
        """Ask for something; see ``Batcher.submit``."""
        sizes = [1 + sum(map(len, (item,) if isinstance(item, str) else item)) for item in items]
        return self.queue.submit(way, items, sizes)

    def _work(self, way: Hashable, items: list[Any]) -> list[Result]:
        if isinstance(way, Translate):
            return [*self.translator.translate(items, **asdict(way))]
        with self._whole:
            return self._ask_model(way, items)

    def _ask_model(self, way: Hashable, items: list[Any]) -> list[Result]:
        match way:
            case Score(target_language=language):
                sources, targets = zip(*items, strict=True)
                return [*self.translator.score(sources, targets, target_language=language)]
            case Attend(target_language=language):
                sources, targets = zip(*items, strict=True)
                return self.translator.attention(sources, targets, target_language=language)
            case Alternatives():
                return [self._alternatives(way, *item) for item in items]
            case _:
                raise TypeError(f"{way!r} is no way to ask")

    def _alternatives(self, way: Alternatives, source: str, target: str) -> Result:
        position = min(way.position, len(target))
        language = way.target_language
        return self.translator.alternatives(
            source, target, position, way.count, target_language=language
        )
