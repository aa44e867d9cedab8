"""What finds the translations of a batch: a model as it is, or packed with kernels of its own."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack

import torch
from torch import Tensor

from dragoman.data import pad_rows
from dragoman.decoding.beam import search
from dragoman.decoding.constraints import Ban
from dragoman.decoding.covering import CoveringModelSession, check_coverage
from dragoman.decoding.ensemble import Ensemble, begin_session
from dragoman.decoding.hypothesis import Hypothesis, Symbols
from dragoman.decoding.model_session import ModelSession
from dragoman.decoding.required import Demand
from dragoman.decoding.session import Session
from dragoman.decoding.settings import BeamSearch
from dragoman.decoding.trace import Observer
from dragoman.decoding.waiting import Waiter
from dragoman.models import SequenceToSequence

if TYPE_CHECKING:
    from dragoman.decoding.fused import FusedModel, Kind, Room

FUSED_TOKENS = {"int8": 512, "bfloat16": 1_024, "float32": 1_024}  # of a batch; more is slower


class Wishes(TypedDict, total=False):
    """What a search is told of single sentences, and of phrases; see ``search``."""

    prefixes: Sequence[Sequence[int]] | None
    ban: Ban | None
    observer: Observer | None
    required: Sequence[Demand] | None
    waiter: Waiter[list[Hypothesis]] | None


class Engine(Protocol):
    """Searches batches; several at the same time where there are several workers."""

    model: SequenceToSequence | Ensemble

    @property
    def workers(self) -> int:
        """How many batches pay to be searched at the same time, one thread each; 1: torch's own."""
        ...

    @property
    def batch_tokens(self) -> int | None:
        """How many source pieces in a batch are fastest; None: the more the better."""
        ...

    @property
    def shared(self) -> bool:
        """Whether several threads ask, so that few sources need not be cut for the workers."""
        ...

    def search(
        self,
        sources: Sequence[Sequence[int]],
        config: BeamSearch,
        symbols: Symbols,
        limits: Sequence[int],
        **wishes: Unpack[Wishes],
    ) -> list[list[Hypothesis]]:
        """Do what ``dragoman.decoding.search`` does, for sources with their end symbols.

        A waiter may be told nothing before the end.
        """
        ...


class TorchEngine:
    """A model's own modules, on any device and of any architecture.

    Args:
        model: is run in evaluation mode.
    """

    workers = 1
    batch_tokens: int | None = None
    shared = False

    def __init__(self, model: SequenceToSequence | Ensemble) -> None:
        self.model: SequenceToSequence | Ensemble = model

    def start(self, sources: Sequence[Sequence[int]], *, covering: bool = False) -> Session:
        """Read sources, end symbols included; ``covering`` notes what is looked at."""
        device = next(self.model.parameters()).device
        with torch.inference_mode():
            source: Tensor = pad_rows(sources, self.model.padding).to(device)
            if covering:
                model = check_coverage(self.model)
                return CoveringModelSession.start(model, source, ModelSession.start)
            return begin_session(self.model, source, ModelSession.start)

    def search(
        self,
        sources: Sequence[Sequence[int]],
        config: BeamSearch,
        symbols: Symbols,
        limits: Sequence[int],
        **wishes: Unpack[Wishes],
    ) -> list[list[Hypothesis]]:
        """See ``Engine``."""
        session = self.start(sources, covering=config.coverage > 0)
        return search(session, config, symbols, limits, **wishes)


class FusedEngine:
    """A packed Transformer on a CPU, one worker a core, which share the weights.

    Args:
        model: what is packed; it searches itself where a coverage penalty is asked for.
        packed: its packed form.
        workers: at the same time; as many as this process may use cores unless given.
    """

    def __init__(
        self,
        model: SequenceToSequence | Ensemble,
        packed: "FusedModel",
        *,
        workers: int | None = None,
    ) -> None:
        self.model: SequenceToSequence | Ensemble = model
        self.packed = packed
        self.workers = cores() if workers is None else workers
        self.batch_tokens: int | None = FUSED_TOKENS[packed.packed.kind]
        self.shared = False  # whoever shares it says so
        self._rooms: list[Room] = []

    @classmethod
    def of(
        cls,
        model: SequenceToSequence | Ensemble,
        kind: "Kind",
        *,
        workers: int | None = None,
        say: Callable[[str], None] | None = None,
    ) -> "FusedEngine":
        """Pack a model; ``say`` is told if kernels have to be compiled, which takes long.

        Raises:
            ConfigError: numba is not installed, or the model has parts that are not known.
        """
        from dragoman.decoding.fused import KEPT_IN, FusedModel, check_numba, tell_of_compiling

        check_numba()
        packed = FusedModel.of(model, kind)
        if say is not None:
            tell_of_compiling(say, KEPT_IN)
        return cls(model, packed, workers=workers)

    @property
    def keeps_kernels(self) -> bool:
        """Say whether what is compiled is there for the next process too."""
        from dragoman.decoding.fused import KEPT_IN

        return KEPT_IN is not None

    @torch.inference_mode()  # always, as what lies in a room is used again
    def search(
        self,
        sources: Sequence[Sequence[int]],
        config: BeamSearch,
        symbols: Symbols,
        limits: Sequence[int],
        **wishes: Unpack[Wishes],
    ) -> list[list[Hypothesis]]:
        """See ``Engine``; wishes that need more than the best pieces go through ``search``."""
        from dragoman.decoding.fused import FusedSession, Room, fused_search, is_plain

        if config.coverage:
            return TorchEngine(self.model).search(sources, config, symbols, limits, **wishes)
        try:
            room = self._rooms.pop()
        except IndexError:  # none is left; asking first would let another thread in between
            room = Room()
        try:
            session = FusedSession(self.packed, sources, room, width=config.beam)
            others = (wishes.get(name) for name in ("ban", "observer", "required"))
            asked = any(wishes.get("prefixes") or ()) or any(each is not None for each in others)
            if is_plain(config) and not asked and not symbols.before:
                return fused_search(session, config, symbols, limits, wishes.get("waiter"))
            return search(session, config, symbols, limits, **wishes)
        finally:
            self._rooms.append(room)


def cores() -> int:
    """Say how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _OneThread:
    """Lets PyTorch compute in one thread while someone wants it to.

    A thread that first asks while others are inside would be told 1, and leave that behind for all
    threads to come; so it leaves what the first of them had found.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._before = Lock(), 0, 1

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = torch.get_num_threads()
            self._inside += 1
            torch.set_num_threads(1)  # in this thread, and in those that come to life

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            torch.set_num_threads(self._before)


_ONE_THREAD = _OneThread()  # of the process, as PyTorch's own number is


def one_thread() -> AbstractContextManager[None]:
    """Let PyTorch compute in one thread for a while: a step is many small operations."""
    return _ONE_THREAD
