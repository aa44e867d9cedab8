import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.decoding import (
    acceptance,
    acceptance_rate,
    emitted,
    expected_tokens,
    residual,
    speculative_step,
)
from tests.fakes import Ids, Table, random_table

SEEDS = st.integers(0, 2**31)
TARGET = torch.tensor([0.5, 0.3, 0.2, 0.0], dtype=torch.float64)
DRAFT = torch.tensor([0.2, 0.4, 0.0, 0.4], dtype=torch.float64)
some = settings(max_examples=40)


def distributions(seed: int, *, rows: int = 6, vocabulary: int = 7) -> tuple[Tensor, Tensor]:
    """Draw targets and drafts, (rows, vocabulary), with zeros here and there."""
    rng = np.random.default_rng(seed)
    both = rng.dirichlet([0.5] * vocabulary, size=(2, rows)) * (rng.random((2, rows, 1)) + 0.1)
    both = both * (rng.random(both.shape) < 0.8)
    both[..., 0] += 0.01
    target, draft = torch.from_numpy(both / both.sum(-1, keepdims=True))
    return target, draft


# By hand: p = (0.5, 0.3, 0.2, 0), q = (0.2, 0.4, 0, 0.4)


def test_acceptance_is_the_ratio_up_to_1() -> None:
    # 0.5 / 0.2 is above 1; 0.3 / 0.4; the third is never drafted; the fourth never wanted.
    expected = torch.tensor([1.0, 0.75, 1.0, 0.0], dtype=torch.float64)
    torch.testing.assert_close(acceptance(TARGET, DRAFT), expected)


def test_piece_that_neither_model_gives_is_no_division_by_zero() -> None:
    zeros = torch.tensor([0.0, 1.0])
    assert acceptance(zeros, zeros).tolist() == [1.0, 1.0]


def test_residual_is_what_the_draft_gives_too_little() -> None:
    # p - q = (0.3, -0.1, 0.2, -0.4), so 0.3 and 0.2 of 0.5.
    expected = torch.tensor([0.6, 0.0, 0.4, 0.0], dtype=torch.float64)
    torch.testing.assert_close(residual(TARGET, DRAFT), expected)


def test_residual_of_equal_distributions_is_the_target() -> None:
    assert torch.equal(residual(TARGET, TARGET), TARGET)


def test_residual_is_chosen_row_by_row() -> None:
    found = residual(torch.stack((TARGET, TARGET)), torch.stack((TARGET, DRAFT)))
    expected = torch.tensor([[0.5, 0.3, 0.2, 0.0], [0.6, 0.0, 0.4, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(found, expected)


def test_acceptance_rate_is_what_both_models_share() -> None:
    assert acceptance_rate(TARGET, DRAFT).item() == pytest.approx(0.5)  # 0.2 + 0.3
    assert acceptance_rate(TARGET, TARGET).item() == pytest.approx(1.0)
    assert acceptance_rate(TARGET, torch.tensor([0.0, 0.0, 0.0, 1.0])).item() == 0.0


# Laws


@some
@given(seed=SEEDS)
def test_emitted_distribution_is_the_target_whatever_the_draft(seed: int) -> None:
    target, draft = distributions(seed)
    torch.testing.assert_close(emitted(target, draft), target)


@some
@given(seed=SEEDS)
def test_acceptance_rate_is_the_mean_acceptance_of_drafted_pieces(seed: int) -> None:
    target, draft = distributions(seed)
    rate = acceptance_rate(target, draft)
    torch.testing.assert_close(rate, (draft * acceptance(target, draft)).sum(-1))
    torch.testing.assert_close(rate, 1 - (target - draft).abs().sum(-1) / 2)  # total variation


def test_expected_tokens_are_those_of_equation_1() -> None:
    # By hand: (1 - 0.5^3) / (1 - 0.5) = 1.75; one piece always comes, never more than G + 1.
    assert expected_tokens(0.5, 2) == pytest.approx(1.75)
    assert expected_tokens(0.7, 0) == 1.0
    assert expected_tokens(0.0, 5) == 1.0
    assert expected_tokens(1.0, 5) == 6.0


@given(a=st.floats(0, 0.99), length=st.integers(0, 30))
def test_expected_tokens_follow_the_closed_form(a: float, length: int) -> None:
    assert expected_tokens(a, length) == pytest.approx((1 - a ** (length + 1)) / (1 - a))


@pytest.mark.parametrize(
    ("a", "length", "message"),
    [
        (1.1, 3, "acceptance: 1.1 is not between 0 and 1"),
        (math.nan, 3, "acceptance: nan is not between"),
        (0.5, -1, "draft_length: -1 is less than 0"),
    ],
)
def test_expected_tokens_refuse_impossible_numbers(a: float, length: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        expected_tokens(a, length)


# A step


def step(uniform: list[list[float]]) -> tuple[list[int], Tensor]:
    """Judge the drafted pieces 1 and 3, whose acceptance is 0.75 and 0.4 / 0.8 = 0.5."""
    last = [0.25, 0.25, 0.5, 0.0]
    target = [[0.5, 0.3, 0.2, 0.0], [0.6, 0.0, 0.0, 0.4], last]
    draft = [[0.2, 0.4, 0.0, 0.4], [0.1, 0.1, 0.0, 0.8]]
    rows = len(uniform)
    verdict = speculative_step(
        torch.tensor([target] * rows, dtype=torch.float64),
        torch.tensor([draft] * rows, dtype=torch.float64),
        torch.tensor([[1, 3]] * rows),
        torch.tensor(uniform, dtype=torch.float64),
    )
    return verdict.accepted.tolist(), verdict.following


def test_step_accepts_up_to_the_first_refusal_in_each_row() -> None:
    accepted, following = step([[0.74, 0.49], [0.74, 0.51], [0.76, 0.49], [0.0, 0.0]])
    assert accepted == [2, 1, 0, 2]  # the third refuses its first and so forgets its second
    # p after the last; norm((0.5, -, 0, -)); norm((0.3, -, 0.2, -)); p after the last.
    expected = torch.tensor(
        [
            [0.25, 0.25, 0.5, 0.0],
            [1.0, 0.0, 0.0, 0.0],
            [0.6, 0.0, 0.4, 0.0],
            [0.25, 0.25, 0.5, 0.0],
        ],
        dtype=torch.float64,
    )
    torch.testing.assert_close(following, expected)


def test_uniform_number_equal_to_the_acceptance_refuses() -> None:
    assert step([[0.75, 0.0], [0.0, 0.5]])[0] == [0, 1]


def test_piece_the_target_never_gives_is_refused_even_by_a_uniform_0() -> None:
    target = torch.tensor([[[1.0, 0.0], [0.5, 0.5]]])
    draft, zero = torch.tensor([[[0.5, 0.5]]]), torch.zeros(1, 1)
    verdict = speculative_step(target, draft, torch.tensor([[1]]), zero)
    assert verdict.accepted.tolist() == [0]
    assert verdict.following.tolist() == [[1.0, 0.0]]


def test_step_without_a_draft_draws_from_the_target() -> None:
    target = TARGET.expand(3, 1, 4)
    nothing = torch.zeros(3, 0, dtype=torch.int64)
    verdict = speculative_step(target, torch.zeros(3, 0, 4).double(), nothing, nothing.double())
    assert verdict.accepted.tolist() == [0, 0, 0]
    torch.testing.assert_close(verdict.following, TARGET.expand(3, 4))


def patterns(target: Table, draft: Table, drafted: Ids) -> Iterator[tuple[list[float], float]]:
    """List what the uniform numbers may do at each drafted piece, with the probability of it.

    A number is below the acceptance p / q, or not; one in the middle stands for all of a kind.
    """
    options: list[list[tuple[float, float]]] = []
    for place, piece in enumerate(drafted):
        p, q = target(drafted[:place])[piece], draft(drafted[:place])[piece]
        a = min(1.0, p / q)
        options.append([(number, w) for number, w in ((a / 2, a), ((1 + a) / 2, 1 - a)) if w > 0])
    for choice in itertools.product(*options):
        yield [number for number, _ in choice], math.prod(weight for _, weight in choice)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS, evenness=st.sampled_from([0.3, 1.0, 10.0]))
def test_sequences_of_a_step_are_distributed_as_the_target_alone_would_draw_them(
    seed: int, evenness: float
) -> None:
    # Everything that can happen with 2 drafted pieces of a vocabulary of 3 is listed with its
    # probability. What comes out shorter than 3 pieces is continued by the target.
    vocabulary, length = 3, 2
    target = random_table(seed, vocabulary, evenness=evenness)
    draft = random_table(seed + 1, vocabulary, evenness=evenness)
    found = dict.fromkeys(itertools.product(range(vocabulary), repeat=length + 1), 0.0)
    for drafted in itertools.product(range(vocabulary), repeat=length):
        prefixes = [drafted[:place] for place in range(length + 1)]
        p = torch.tensor([[target(prefix) for prefix in prefixes]], dtype=torch.float64)
        q = torch.tensor([[draft(prefix) for prefix in prefixes[:-1]]], dtype=torch.float64)
        chance = math.prod(draft(drafted[:n])[piece] for n, piece in enumerate(drafted))
        for uniform, weight in patterns(target, draft, drafted):
            numbers = torch.tensor([uniform], dtype=torch.float64)
            verdict = speculative_step(p, q, torch.tensor([drafted]), numbers)
            kept = drafted[: int(verdict.accepted)]
            following: list[float] = verdict.following[0].tolist()
            for ids in found:
                if ids[: len(kept)] == kept:
                    rest = range(len(kept) + 1, length + 1)
                    continued = math.prod(target(ids[:n])[ids[n]] for n in rest)
                    found[ids] += chance * weight * following[ids[len(kept)]] * continued
    for ids, probability in found.items():
        alone = math.prod(target(ids[:n])[piece] for n, piece in enumerate(ids))
        assert probability == pytest.approx(alone, abs=1e-12)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 3, 4), (2, 3, 4), (2, 3), (2, 3)), r"target: is \(2, 3, 4\), .* needs \(2, 4, 4\)"),
        (((2, 4, 4), (2, 3, 4), (2, 4), (2, 3)), r"pieces: is \(2, 4\), not \(2, 3\)"),
        (((2, 4, 4), (2, 3, 4), (2, 3), (1, 3)), r"uniform: is \(1, 3\), not \(2, 3\)"),
    ],
)
def test_step_refuses_shapes_that_do_not_belong_together(
    shapes: tuple[tuple[int, ...], ...], message: str
) -> None:
    target, draft, pieces, uniform = (torch.full(shape, 0.25) for shape in shapes)
    with pytest.raises(ValueError, match=message):
        speculative_step(target, draft, pieces.long(), uniform)


def test_step_refuses_a_piece_that_cannot_have_been_drafted() -> None:
    with pytest.raises(ValueError, match="pieces: one has probability 0 in the draft"):
        speculative_step(
            TARGET.expand(1, 2, 4), DRAFT[None, None], torch.tensor([[2]]), torch.zeros(1, 1)
        )
