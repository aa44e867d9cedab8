"""A session that notes how much of each source its hypotheses have looked at.

p_ij is what the last layer of the decoder looks at source piece i with before it writes piece j,
averaged over its heads; the end symbol of the source is one of its pieces.

Shapes: S sentences, W rows each, R = S·W rows, L source positions, V vocabulary, H heads.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

import torch
from torch import Tensor, nn

from dragoman.decoding.ensemble import Ensemble
from dragoman.decoding.final_score import coverage_penalty
from dragoman.decoding.session import NO_COVERAGE, Session
from dragoman.errors import ConfigError
from dragoman.nn import AttentionKernel, EncoderDecoder, MultiHeadAttention

M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True, slots=True)
class CoveringModelSession:
    """A session of a model that is a ``CoveringSession`` too.

    Args:
        inner: of a model whose last layer notes what it looks at in ``seen``.
        visible: which source positions are real, boolean, (S, L).
        covered: attention that each source position has got so far, (R, L).
        seen: the weights of the last step, (S, H, W, L); shared by all values of one session.
    """

    inner: Session
    visible: Tensor
    covered: Tensor
    seen: list[Tensor] = field(default_factory=list[Tensor])

    @classmethod
    def start(
        cls,
        model: EncoderDecoder,
        source: Tensor,
        begin: Callable[[EncoderDecoder, Tensor], Session],
    ) -> "CoveringModelSession":
        """Encode source ids (S, L), once, in the session that ``begin`` makes of such a model.

        Raises:
            ConfigError: the model forms no attention weights over the source.
        """
        seen: list[Tensor] = []
        covered = torch.zeros(source.shape, device=source.device)
        return cls(begin(_noting(model, seen), source), source != model.padding, covered, seen)

    @property
    def sentences(self) -> int:
        """How many sentences S are being decoded."""
        return self.inner.sentences

    @property
    def device(self) -> torch.device:
        """Where ids and indices are expected."""
        return self.inner.device

    def step(self, ids: Tensor) -> tuple[Tensor, Self]:
        """Feed ids (R,), get log-probabilities (R, V) in float32 and the session after."""
        log_probs, inner = self.inner.step(ids)
        weights = self.seen.pop().float().mean(1).flatten(0, 1)  # (R, L)
        return log_probs, replace(self, inner=inner, covered=self.covered + weights)

    def select(self, rows: Tensor, sentences: Tensor | None) -> Self:
        """Keep rows and sentences."""
        return replace(
            self,
            inner=self.inner.select(rows, sentences),
            visible=self.visible if sentences is None else self.visible[sentences],
            covered=self.covered[rows],
        )

    def coverage(self, beta: float) -> Tensor:
        """Give the coverage penalty of each row fed in the last step, (R,) on the CPU."""
        width = self.covered.size(0) // self.visible.size(0)
        visible = self.visible.repeat_interleave(width, 0)
        return coverage_penalty(self.covered, visible, beta).cpu()


def check_coverage(model: nn.Module) -> EncoderDecoder:
    """Give the model back if the attention of its last layer tells what was covered.

    Raises:
        ConfigError: it does not.
    """
    if isinstance(model, EncoderDecoder) and _reader(model) is not None:
        return model
    problem = "is not offered for an ensemble" if isinstance(model, Ensemble) else NO_COVERAGE
    raise ConfigError("coverage", problem, "set coverage to 0")


def _reader(model: EncoderDecoder) -> MultiHeadAttention | None:
    attention = getattr(model.decoder.layers[-1], "cross_attention", None)
    return attention if isinstance(attention, MultiHeadAttention) else None


def _noting(model: EncoderDecoder, seen: list[Tensor]) -> EncoderDecoder:
    """Make a model of the same weights whose last layer notes what it looks at; leave this one."""
    reader = _reader(check_coverage(model))
    assert reader is not None
    attention = _shallow(reader)
    own: AttentionKernel = attention.kernel
    del attention.kernel  # a kernel that is a module itself would not give way

    def kernel(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        visible: Tensor | None = None,
        *,
        scale: float | None = None,
        bias: Tensor | None = None,
        dropout: float = 0.0,
    ) -> Tensor:
        # With the identity for values, what comes out is the weights.
        same = torch.eye(k.size(-2), dtype=v.dtype, device=v.device)
        seen[:] = [own(q, k, same.expand(*k.shape[:-2], -1, -1), visible, scale=scale, bias=bias)]
        return own(q, k, v, visible, scale=scale, bias=bias, dropout=dropout)

    attention.kernel = kernel
    layers = list(model.decoder.layers)
    layers[-1] = _shallow(layers[-1])
    layers[-1].cross_attention = attention
    made, decoder = _shallow(model), _shallow(model.decoder)
    decoder.layers = nn.ModuleList(layers)
    made.decoder = decoder
    return made


def _shallow(module: M) -> M:
    """Copy a module that shares its weights and parts with the first; parts can be exchanged."""
    made = copy.copy(module)
    made._modules = dict(module._modules)  # pyright: ignore[reportPrivateUsage]  # torch has no other way
    return made
