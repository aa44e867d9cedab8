"""Recurrent cells: what sequence models were made of before the paper (section 1).

Shapes: B sentences, T positions, D input width, H state width, N blocks of a cell side by side.
Rows are vectors: y = x W + b, so a matrix is (in, out). ``torch.nn.LSTM`` and ``GRU`` hold the
transposes in the same order of blocks; whole models run those, and these are their slow twins.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

State = tuple[Tensor, ...]
"""What a cell remembers: h (B, H) alone, or h and the memory c (B, H) of an LSTM."""


@dataclass(frozen=True, slots=True)
class CellWeights:
    """The weights of one cell.

    Args:
        w_x: of the input, (D, N·H).
        w_h: of the state, (H, N·H).
        b_x: added to the product of the input, (N·H,).
        b_h: added to the product of the state, (N·H,); none unless given.
    """

    w_x: Tensor
    w_h: Tensor
    b_x: Tensor
    b_h: Tensor | None = None

    def of_input(self, x: Tensor) -> Tensor:
        """Map inputs (..., D) to (..., N·H)."""
        return x @ self.w_x + self.b_x

    def of_state(self, h: Tensor) -> Tensor:
        """Map states (..., H) to (..., N·H)."""
        product = h @ self.w_h
        return product if self.b_h is None else product + self.b_h


def rnn_step(x: Tensor, state: State, weights: CellWeights) -> State:
    """Take in one input with a plain cell: h' = tanh(x W_x + h W_h + b) (Elman 1990).

    Args:
        x: (B, D).
        state: h.
        weights: of one block.

    Returns:
        The next state, h'.
    """
    (h,) = state
    return (torch.tanh(weights.of_input(x) + weights.of_state(h)),)


def lstm_step(x: Tensor, state: State, weights: CellWeights) -> State:
    """Take in one input with a long short-term memory; see ``lstm_update``.

    Args:
        x: (B, D).
        state: h and c.
        weights: of four blocks: input, forget, candidate, output.

    Returns:
        The next state, h' and c'.
    """
    h, c = state
    return lstm_update(weights.of_input(x) + weights.of_state(h), c)


def lstm_update(gates: Tensor, c: Tensor) -> State:
    """Forget, write and read an LSTM's memory.

        c' = σ(f) c + σ(i) tanh(g),    h' = σ(o) tanh(c')

    (Hochreiter and Schmidhuber 1997; with the forget gate of Gers et al. 2000.)

    Args:
        gates: what input and state say together of i, f, g, o, (B, 4H).
        c: memory, (B, H).

    Returns:
        h' and c', (B, H) each.
    """
    write, forget, candidate, read = gates.chunk(4, -1)
    c = torch.sigmoid(forget) * c + torch.sigmoid(write) * torch.tanh(candidate)
    return torch.sigmoid(read) * torch.tanh(c), c


def gru_step(
    x: Tensor,
    state: State,
    weights: CellWeights,
    *,
    reset: Literal["after", "before"] = "after",
) -> State:
    """Take in one input with a gated recurrent unit (Cho et al. 2014, arXiv 1406.1078).

        n = tanh(x W_n + b_n + r (h U_n + c_n))    reset after the product, as PyTorch does
        n = tanh(x W_n + b_n + (r h) U_n + c_n)    reset before the product, as Cho et al. do

    Gates and next state are those of ``gru_update``.

    Args:
        x: (B, D).
        state: h.
        weights: of three blocks: reset, update, candidate.
        reset: where the reset gate r acts.

    Returns:
        The next state, h'.
    """
    (h,) = state
    from_input, from_state = weights.of_input(x), weights.of_state(h)
    if reset == "after":
        return (gru_update(from_input, from_state, h),)
    width = h.size(-1)
    gates = torch.sigmoid(from_input[..., : 2 * width] + from_state[..., : 2 * width])
    remember, keep = gates.chunk(2, -1)
    from_state = weights.of_state(remember * h)
    candidate = torch.tanh(from_input[..., 2 * width :] + from_state[..., 2 * width :])
    return (candidate + keep * (h - candidate),)


def gru_update(from_input: Tensor, from_state: Tensor, h: Tensor) -> Tensor:
    """Mix the old state of a GRU with a new candidate, the reset gate acting after the product.

        r, z = σ(their blocks summed),    n = tanh(n_x + r n_h),    h' = (1 - z) n + z h

    Args:
        from_input: what the input says of r, z, n, (B, 3H).
        from_state: what the state says of them, (B, 3H).
        h: state, (B, H).

    Returns:
        h', (B, H).
    """
    width = h.size(-1)
    gates = torch.sigmoid(from_input[..., : 2 * width] + from_state[..., : 2 * width])
    reset, keep = gates.chunk(2, -1)
    candidate = torch.tanh(from_input[..., 2 * width :] + reset * from_state[..., 2 * width :])
    return candidate + keep * (h - candidate)


def run_recurrent(
    step: Callable[[Tensor, State], State], x: Tensor, state: State
) -> tuple[tuple[Tensor, ...], State]:
    """Run a cell over a sequence: the sequential loop that the paper does away with (section 1).

    Args:
        step: takes in one input (B, D): a step function with its weights.
        x: inputs, (B, T, D), T at least 1.
        state: before the first.

    Returns:
        Every tensor of the state after each input, (B, T, H); and the state after the last.
    """
    states: list[State] = []
    for t in range(x.size(1)):
        state = step(x[:, t], state)
        states.append(state)
    return tuple(torch.stack(part, 1) for part in zip(*states, strict=True)), state
