"""The mathematics of speculative sampling: a small model drafts, the large one decides.

Leviathan et al. 2022 (arXiv 2211.17192, algorithm 1) and Chen et al. 2023 (arXiv 2302.01318,
algorithm 2). The small model draws G pieces; the large one reads all of them in one pass and
accepts each with

    min(1, p(x) / q(x)),    p of the large model, q of the small one

At the first it refuses, another piece is drawn from norm(max(p - q, 0)) in its place; when it
accepts all, one more is drawn from p. What comes out is distributed as if the large model alone had
drawn it. Temperature, top-k and nucleus fit in as long as p and q stand for the distributions after
them, which is what each model draws from.

Shapes: R rows, G drafted pieces, V vocabulary; ``...`` any leading ones. Probabilities, not their
logarithms.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the large model says about drafted pieces.

    Args:
        accepted: how many of each row, from the first on, stay; 0 to G, int64, (R,).
        following: the distribution of the piece that comes after them, (R, V).
    """

    accepted: Tensor
    following: Tensor


def acceptance(target: Tensor, draft: Tensor) -> Tensor:
    """Say with which probability each piece is accepted when drafted: min(1, p / q).

    Args:
        target: p, (..., V).
        draft: q, (..., V).

    Returns:
        In [0, 1], (..., V); 1 for a piece that is never drafted.
    """
    return torch.where(draft > 0, target / draft, 1.0).clamp(max=1.0)


def residual(target: Tensor, draft: Tensor) -> Tensor:
    """Say from what the piece in place of a refused one is drawn: norm(max(p - q, 0)).

    Equal distributions refuse nothing and leave nothing; then it is the target itself.

    Args:
        target: p, (..., V).
        draft: q, (..., V); zeros where nothing was drafted, which gives the target.

    Returns:
        A distribution, (..., V).
    """
    rest = (target - draft).clamp(min=0.0)
    total = rest.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, rest / total, target)


def acceptance_rate(target: Tensor, draft: Tensor) -> Tensor:
    """Say with which probability a drafted piece is accepted: the sum of min(p, q).

    It is 1 less the total variation distance (Leviathan et al., theorem 3.5).

    Args:
        target: p, (..., V).
        draft: q, (..., V).

    Returns:
        In [0, 1], (...).
    """
    return torch.minimum(target, draft).sum(dim=-1)


def emitted(target: Tensor, draft: Tensor) -> Tensor:
    """Say how the piece that comes of one drafted piece is distributed.

    It was drafted and accepted, or drawn in place of a refused one. That this is the target,
    whatever the draft, is what makes the method exact (Leviathan et al., appendix A.1; Chen et al.,
    theorem 1).

    Args:
        target: p, (..., V).
        draft: q, (..., V).

    Returns:
        A distribution, (..., V).
    """
    refused = 1.0 - acceptance_rate(target, draft)
    kept = draft * acceptance(target, draft)
    return kept + refused[..., None] * residual(target, draft)


def expected_tokens(acceptance: float, draft_length: int) -> float:
    """Say how many pieces one pass of the large model gives on average.

    It is (1 - a^(G + 1)) / (1 - a) for independent pieces that are accepted with probability a
    (Leviathan et al., equation 1), summed up as 1 + a + ... + a^G, which holds for a = 1 too.

    Args:
        acceptance: a, in [0, 1].
        draft_length: G, from 0 up.

    Returns:
        From 1 to G + 1.

    Raises:
        ValueError: the acceptance or the length is outside its range.
    """
    if not 0 <= acceptance <= 1:
        raise ValueError(f"acceptance: {acceptance} is not between 0 and 1")
    if draft_length < 0:
        raise ValueError(f"draft_length: {draft_length} is less than 0")
    return math.fsum(acceptance**accepted for accepted in range(draft_length + 1))


def speculative_step(target: Tensor, draft: Tensor, pieces: Tensor, uniform: Tensor) -> Verdict:
    """Decide how many drafted pieces stay and what the next one is drawn from.

    Args:
        target: p at each drafted piece and after the last one, (R, G + 1, V).
        draft: q at each drafted piece, (R, G, V).
        pieces: the drafted ids, each drawn from its q, (R, G).
        uniform: random numbers in [0, 1), independent of all else, (R, G).

    Raises:
        ValueError: the shapes do not belong together, or a piece cannot have been drafted because
            its q is 0.
    """
    rows, length, vocabulary = draft.shape
    if target.shape != (rows, length + 1, vocabulary):
        wanted = (rows, length + 1, vocabulary)
        raise ValueError(f"target: is {tuple(target.shape)}, a draft like this needs {wanted}")
    for name, given in (("pieces", pieces), ("uniform", uniform)):
        if given.shape != (rows, length):
            raise ValueError(f"{name}: is {tuple(given.shape)}, not {(rows, length)}")
    if (draft.gather(2, pieces[:, :, None]) <= 0).any():
        raise ValueError("pieces: one has probability 0 in the draft that it should come from")
    chances = acceptance(target[:, :-1], draft).gather(2, pieces[:, :, None])[:, :, 0]  # (R, G)
    accepted = (uniform < chances).long().cumprod(dim=1).sum(dim=1)
    place = accepted[:, None, None].expand(-1, 1, vocabulary)
    proposed = pad(draft, (0, 0, 0, 1))  # after the last piece nothing was drafted
    following = residual(target.gather(1, place)[:, 0], proposed.gather(1, place)[:, 0])
    return Verdict(accepted, following)
