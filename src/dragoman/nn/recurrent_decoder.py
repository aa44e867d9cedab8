"""The recurrent decoder with attention (Bahdanau et al. 2014, arXiv 1409.0473, section 3.1).

    c_t = attention(s_{t-1}, source),    s_t = cell([y_{t-1}; c_t], s_{t-1}),
    output_t = tanh(W [s_t; c_t; y_{t-1}] + b)

s is the state of the top layer; the context c enters the first. The output reads the new state and
goes through tanh, where Bahdanau et al. read the old one through a maxout layer.

Shapes: R rows (hypotheses), T target positions, S source positions, D state width, F width of a
source state.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from dragoman.nn.additive import AdditiveAttention
from dragoman.nn.dropout import Dropout
from dragoman.nn.recurrent import State


@dataclass(frozen=True, slots=True)
class RecurrentCache:
    """All that a recurrent decoder keeps between two steps; it does not grow.

    Rows are hypotheses: R = sources x width, those of one source side by side. What is kept of a
    source is never copied for its hypotheses.

    Args:
        states: one per layer, its tensors (R, D).
        keys: projected source states, (sources, S, D).
        values: source states, (sources, S, F).
        memory_visible: boolean, (sources, 1, 1, S): which source positions are real.
        length: how many target positions have been fed.
    """

    states: tuple[State, ...]
    keys: Tensor
    values: Tensor
    memory_visible: Tensor
    length: int = 0

    def select(self, rows: Tensor | None, sources: Tensor | None) -> "RecurrentCache":
        """Keep hypotheses ``rows`` and ``sources`` (int64); None keeps all as they are."""
        states, kept = self.states, (self.keys, self.values, self.memory_visible)
        if rows is not None:
            states = tuple(tuple(x.index_select(0, rows) for x in state) for state in states)
        if sources is not None:
            keys, values, visible = (x.index_select(0, sources) for x in kept)
            kept = (keys, values, visible)
        return RecurrentCache(states, *kept, self.length)


class RecurrentDecoder(nn.Module):
    """A stack of cells that reads the source before every step.

    Args:
        cells: from the first layer, which takes in D + F numbers, to the top; all of one kind.
        attention: asked by states of width D, reads source states of width F.
        dropout: chance in [0, 1) that an element is dropped in training, between layers and of the
            output.
    """

    def __init__(
        self,
        cells: Sequence[nn.LSTMCell | nn.GRUCell],
        attention: AdditiveAttention,
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.cells, self.attention = nn.ModuleList(cells), attention
        width = cells[0].hidden_size
        self.first_state = nn.Linear(width, len(cells) * width)
        self.readout = nn.Linear(width + cells[0].input_size, width)
        self.dropout = Dropout(dropout)

    def start(self, memory: Tensor, summary: Tensor, memory_visible: Tensor) -> RecurrentCache:
        """Begin with one hypothesis per source.

        Every layer starts at h = tanh(W summary + b), as in their section A.2.2; the memory
        of an LSTM is empty.

        Args:
            memory: source states, (sources, S, F).
            summary: the backward encoder's last state, (sources, D).
            memory_visible: boolean, (sources, 1, 1, S).
        """
        first = torch.tanh(self.first_state(summary)).chunk(len(self.cells), -1)
        states = tuple(
            (h, torch.zeros_like(h)) if isinstance(cell, nn.LSTMCell) else (h,)
            for cell, h in zip(self.cells, first, strict=True)
        )
        return RecurrentCache(states, self.attention.project(memory), memory, memory_visible)

    def forward(self, embedded: Tensor, cache: RecurrentCache) -> tuple[Tensor, RecurrentCache]:
        """Take in embedded pieces (R, T, D) one after the other, T at least 1.

        R may be a multiple of the rows of ``cache``: each of them goes on as several then, which
        stand side by side.

        Returns:
            The output for each, (R, T, D), and the cache after the last.
        """
        states = _widened(cache.states, embedded.size(0))
        tops: list[Tensor] = []
        contexts: list[Tensor] = []
        for vector in embedded.unbind(1):
            contexts.append(self._read(states[-1][0], cache))
            states = self._advance(torch.cat((vector, contexts[-1]), -1), states)
            tops.append(states[-1][0])
        seen = torch.cat((torch.stack(tops, 1), torch.stack(contexts, 1), embedded), -1)
        output = self.dropout(torch.tanh(self.readout(seen)))
        return output, replace(cache, states=states, length=cache.length + len(tops))

    def _read(self, query: Tensor, cache: RecurrentCache) -> Tensor:
        """Attend from queries (R, D) to their sources; the context is (R, F)."""
        # The hypotheses of one source become queries side by side: its keys serve all of them.
        side_by_side = query.view(cache.keys.size(0), -1, query.size(-1))
        visible = cache.memory_visible[:, 0]  # (sources, 1, S)
        return self.attention.read(side_by_side, cache.keys, cache.values, visible).flatten(0, 1)

    def _advance(self, x: Tensor, states: tuple[State, ...]) -> tuple[State, ...]:
        """Take in one input (R, D + F) with every layer."""
        following: list[State] = []
        for cell, state in zip(self.cells, states, strict=True):
            x = self.dropout(x) if following else x
            new = cell(x, state) if isinstance(cell, nn.LSTMCell) else (cell(x, state[0]),)
            following.append(new)
            x = new[0]
        return tuple(following)


def _widened(states: tuple[State, ...], rows: int) -> tuple[State, ...]:
    """Repeat each row of some states, so that there are ``rows``."""
    times = rows // states[0][0].size(0)
    if times == 1:
        return states
    return tuple(tuple(x.repeat_interleave(times, 0) for x in state) for state in states)
