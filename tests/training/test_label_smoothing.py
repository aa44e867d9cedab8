import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from dragoman.training import (
    SmoothingForm,
    label_cross_entropy,
    label_divergence,
    mean_over_targets,
    smoothed_cross_entropy,
    smoothed_labels,
)

PADDING = 0
FORMS: tuple[SmoothingForm, ...] = ("uniform", "others", "others_nopad")


@pytest.mark.parametrize(
    ("form", "expected"),
    [  # By hand: a share of 0.2 over 5, 4 and 3 pieces; the right one is piece 2, padding piece 0.
        ("uniform", [0.04, 0.04, 0.84, 0.04, 0.04]),
        ("others", [0.05, 0.05, 0.8, 0.05, 0.05]),
        ("others_nopad", [0.0, 0.2 / 3, 0.8, 0.2 / 3, 0.2 / 3]),
    ],
)
def test_share_goes_to_whom_the_form_says(form: SmoothingForm, expected: list[float]) -> None:
    labels = smoothed_labels(torch.tensor([2]), 5, smoothing=0.2, padding=PADDING, form=form)
    torch.testing.assert_close(labels, torch.tensor([expected]))


@given(
    pieces=st.integers(3, 9),
    smoothing=st.floats(0, 1),
    form=st.sampled_from(FORMS),
    seed=st.integers(0, 2**31),
)
def test_labels_are_a_distribution_except_at_padding(
    pieces: int, smoothing: float, form: SmoothingForm, seed: int
) -> None:
    targets = torch.randint(pieces, (2, 4), generator=torch.Generator().manual_seed(seed))
    labels = smoothed_labels(
        targets, pieces, smoothing=smoothing, padding=PADDING, form=form, dtype=torch.float64
    )
    assert (labels >= 0).all()
    torch.testing.assert_close(labels.sum(-1), (targets != PADDING).double())


@given(pieces=st.integers(2, 9), smoothing=st.sampled_from([0.0, 0.1, 0.7]), seed=st.integers(0))
def test_uniform_form_is_the_loss_of_training_and_of_torch(
    pieces: int, smoothing: float, seed: int
) -> None:
    rng = torch.Generator().manual_seed(seed % 2**31)
    logits = torch.randn(3, 4, pieces, generator=rng, dtype=torch.float64).requires_grad_()
    targets = torch.randint(pieces, (3, 4), generator=rng)
    targets[0, 0] = 1
    labels = smoothed_labels(
        targets, pieces, smoothing=smoothing, padding=PADDING, dtype=torch.float64
    )
    ours = mean_over_targets(label_cross_entropy(logits, labels), targets, padding=PADDING)
    trained = smoothed_cross_entropy(logits, targets, smoothing=smoothing, padding=PADDING)
    theirs = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=PADDING, label_smoothing=smoothing
    )
    torch.testing.assert_close(ours, trained)
    torch.testing.assert_close(ours, theirs)
    (one,), (other,) = torch.autograd.grad(ours, logits), torch.autograd.grad(theirs, logits)
    torch.testing.assert_close(one, other)


@given(form=st.sampled_from(FORMS), seed=st.integers(0, 2**31))
def test_divergence_is_that_of_torch_and_has_the_gradient_of_the_cross_entropy(
    form: SmoothingForm, seed: int
) -> None:
    rng = torch.Generator().manual_seed(seed)
    logits = torch.randn(4, 6, generator=rng, dtype=torch.float64).requires_grad_()
    targets = torch.randint(1, 6, (4,), generator=rng)
    labels = smoothed_labels(
        targets, 6, smoothing=0.1, padding=PADDING, form=form, dtype=torch.float64
    )
    ours = label_divergence(logits, labels)
    theirs = F.kl_div(logits.log_softmax(-1), labels, reduction="none").sum(-1)
    torch.testing.assert_close(ours, theirs)
    (one,) = torch.autograd.grad(ours.sum(), logits)
    (other,) = torch.autograd.grad(label_cross_entropy(logits, labels).sum(), logits)
    torch.testing.assert_close(one, other)


def test_model_that_gives_the_labels_has_no_divergence() -> None:
    labels = smoothed_labels(torch.tensor([2]), 5, smoothing=0.1, padding=PADDING)
    assert label_divergence(labels.log(), labels).item() == pytest.approx(0, abs=1e-6)


def test_piece_that_can_never_come_costs_nothing_where_it_has_no_label() -> None:
    # By hand: padding has probability 0; the other three are equal, so the loss is ln 3.
    logits = torch.tensor([[-math.inf, 0.0, 0.0, 0.0]], requires_grad=True)
    labels = smoothed_labels(
        torch.tensor([1]), 4, smoothing=0.1, padding=PADDING, form="others_nopad"
    )
    loss = label_cross_entropy(logits, labels)
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert loss.item() == pytest.approx(math.log(3), rel=1e-6)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("form", FORMS)
def test_losses_of_half_precision_logits_are_those_of_float32(
    form: SmoothingForm, dtype: torch.dtype
) -> None:
    # The log-probabilities of 20,000 pieces sum to more than float16 can hold.
    logits = torch.zeros(1, 20_000)
    logits[0, 5] = 20
    labels = smoothed_labels(torch.tensor([7]), 20_000, smoothing=0.1, padding=PADDING, form=form)
    # By hand: ln Z = 20; the right piece costs 20 · 0.9, the others nearly 20 · 0.1.
    assert label_cross_entropy(logits.to(dtype), labels).item() == pytest.approx(20, abs=1e-2)
    torch.testing.assert_close(
        label_divergence(logits.to(dtype), labels), label_divergence(logits, labels)
    )


def test_nothing_but_padding_is_an_error() -> None:
    message = "^targets: all are padding, there is nothing to average$"
    with pytest.raises(ValueError, match=message):
        mean_over_targets(torch.zeros(2), torch.zeros(2, dtype=torch.int64), padding=PADDING)


@pytest.mark.parametrize(("form", "pieces"), [("others", 1), ("others_nopad", 2)])
def test_vocabulary_without_anyone_to_share_with_is_an_error(
    form: SmoothingForm, pieces: int
) -> None:
    message = f"^pieces: a vocabulary of {pieces} is too small for the form '{form}'$"
    with pytest.raises(ValueError, match=message):
        smoothed_labels(torch.tensor([0]), pieces, smoothing=0.1, padding=PADDING, form=form)
