"""Dragoman's side of a certificate: the modules of PyTorch."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch, Session, Symbols, TorchEngine, search
from dragoman.models import SequenceToSequence
from dragoman.nn import CausalLM, EncoderOnly

Array = NDArray[np.float32]
_SEARCHES = 8  # with noise of their own, that tell whether rounding decides what is found


class Own:
    """A sequence-to-sequence model; see ``Side``.

    Args:
        bundle: model and tokenizers.
        patience: of the search that the other side has; None is exact.
        banned: ids that a search never writes; those that no translation holds unless given.
    """

    name = "Dragoman"
    reads_empty = True

    def __init__(
        self,
        bundle: Bundle,
        *,
        patience: float | None = None,
        banned: tuple[int, ...] | None = None,
    ) -> None:
        self.model = cast("SequenceToSequence", bundle.model.eval())
        self.frame, self.patience = bundle.frame, patience
        self.banned = self.frame.never_written if banned is None else banned
        limits = (self.model.max_source_length, self.model.max_target_length)
        self.longest = min((limit for limit in limits if limit is not None), default=None)

    @torch.inference_mode()
    def log_probs(
        self, source: Sequence[int], target: Sequence[int], *, given: bool = False
    ) -> Array:
        """Score bare ids: (T + 1, V); with ``given`` (T + 1,), of the target's and the end."""
        logits = self.model(*self._framed(source, target))[0, -1 - len(target) :].double()
        log_probs = logits.log_softmax(-1)
        if given:
            wanted = torch.tensor([*target, self.frame.special.end])
            log_probs = log_probs.gather(-1, wanted[:, None])[:, 0]
        return log_probs.float().numpy()

    def translate(self, source: Sequence[int], *, beam: int, max_length: int) -> list[int]:
        """Search for bare ids; the best log-probability a piece, the end symbol included."""
        return self.translate_all([source], beam=beam, max_length=max_length)[0]

    def translate_all(
        self, sources: Sequence[Sequence[int]], *, beam: int, max_length: int
    ) -> list[list[int]]:
        """Search for several at once; see ``translate``."""
        if not sources:
            return []
        session = TorchEngine(self.model).start([self.frame.source(each) for each in sources])
        return self._search(session, beam, max_length)

    def undecided(self, source: Sequence[int], *, beam: int, max_length: int, noise: float) -> bool:
        """Say whether a search finds something else when log-probabilities move by ``noise``."""
        session = TorchEngine(self.model).start([self.frame.source(source)] * _SEARCHES)
        shaken = _Shaken(session, noise, torch.Generator().manual_seed(0))
        return len({tuple(found) for found in self._search(shaken, beam, max_length)}) > 1

    @torch.inference_mode()
    def layers(self, source: Sequence[int], target: Sequence[int]) -> dict[str, Array]:
        """Give what comes out of inputs and layers, by name, in the order of computing."""
        seen: dict[str, Array] = {}
        with ExitStack() as hooks:
            whole: Any = self.model  # torch types hooks by half
            for name, part in whole.named_modules():
                if name in ("source_input", "target_input", "generator") or _is_layer(name):
                    hooks.callback(part.register_forward_hook(_keep(seen, name)).remove)
            self.model(*self._framed(source, target))
        return seen

    def _framed(self, source: Sequence[int], target: Sequence[int]) -> tuple[Tensor, Tensor]:
        read, written = self.frame.source(source), self.frame.target_in(target)
        return torch.tensor([read]), torch.tensor([written])

    def _search(self, session: Session, beam: int, max_length: int) -> list[list[int]]:
        symbols = replace(Symbols.of(self.frame), banned=self.banned)
        config = BeamSearch(beam=beam, length_penalty="average", alpha=1.0, patience=self.patience)
        return searched(session, config, symbols, max_length)


def searched(
    session: Session, config: BeamSearch, symbols: Symbols, max_length: int
) -> list[list[int]]:
    """Give the ids of the best translation of each sentence; none where nothing is found."""
    found = search(session, config, symbols, [max_length] * session.sentences)
    return [list(best[0].ids) if best else [] for best in found]


class OwnReader:
    """A model of one text; see ``Reader``."""

    name = "Dragoman"

    def __init__(self, bundle: Bundle) -> None:
        self.model = cast("CausalLM | EncoderOnly", bundle.model.eval())
        self.special = bundle.target_tokenizer.special
        self.longest = self.model.max_length
        self.writes = isinstance(bundle.model, CausalLM)

    def framed(self, ids: Sequence[int]) -> list[int]:
        """Put the symbols around a text that the model expects."""
        if self.writes:
            return [self.special.start, *ids]
        return [self.special.start, *ids, self.special.end]

    @torch.inference_mode()
    def outputs(self, ids: Sequence[int]) -> Array:
        """Give what the model computes for ids, symbols included."""
        return self.model(torch.tensor([list(ids)]))[0].numpy()


class _Shaken:
    """A session whose log-probabilities are a little off."""

    def __init__(self, session: Session, noise: float, rng: torch.Generator) -> None:
        self.session, self.noise, self.rng = session, noise, rng
        self.sentences, self.device = session.sentences, session.device

    def step(self, ids: Tensor) -> tuple[Tensor, "_Shaken"]:
        log_probs, session = self.session.step(ids)
        drawn = torch.rand(log_probs.shape, generator=self.rng, dtype=torch.float64)
        size = self.noise * log_probs.abs().clamp(min=1.0)
        shaken = log_probs.double() + (2 * drawn - 1) * torch.nan_to_num(size, posinf=0.0)
        return shaken, _Shaken(session, self.noise, self.rng)

    def select(self, rows: Tensor, sentences: Tensor | None) -> "_Shaken":
        return _Shaken(self.session.select(rows, sentences), self.noise, self.rng)


def _keep(seen: dict[str, Array], name: str) -> Callable[[nn.Module, object, Tensor], None]:
    def hook(_: nn.Module, __: object, output: Tensor) -> None:
        seen[name] = output[0].numpy()

    return hook


def _is_layer(name: str) -> bool:
    stack, _, number = name.rpartition(".")
    return stack in ("encoder.layers", "decoder.layers") and number.isdecimal()
