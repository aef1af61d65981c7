import math

import pytest
import torch

from guerdon.losses.divergence import KLToReference
from guerdon.losses.policy import (
    Capped,
    Clip,
    Corrected,
    DualClip,
    ImportanceWeighted,
    MeanRatioClip,
    PolicyGradient,
    SequenceRatioClip,
    clipped,
    dual_clipped,
    old_logp,
)
from guerdon.method import Objective, Term
from guerdon.reduce import constant, sequence_mean, sequence_sum, token_mean
from tests.batches import make_batch, total

OBJECTIVES = [PolicyGradient(), Clip(), DualClip(), SequenceRatioClip(), MeanRatioClip(), Capped(), Corrected(Clip())]


def gradient(function, ratio):
    ratio = torch.tensor(ratio, requires_grad=True)
    loss = function(ratio)
    loss.backward()
    return loss.item(), ratio.grad.item()


@pytest.mark.parametrize(
    ("advantage", "ratio", "loss", "slope"),
    [(1.0, 1.5, -1.2, 0.0), (1.0, 0.5, -0.5, -1.0), (-1.0, 0.5, 0.8, 0.0), (-1.0, 1.5, 1.5, 1.0)],
)
def test_the_clipped_surrogate_and_its_slope_in_all_four_quadrants(advantage, ratio, loss, slope):
    found = gradient(lambda r: clipped(r, torch.tensor(advantage), 0.2, 0.2), ratio)
    assert found == pytest.approx((loss, slope))


def test_dual_clip_bounds_the_loss_of_bad_actions_only():
    assert gradient(lambda r: dual_clipped(r, torch.tensor(-1.0), 0.2, 0.2, 3.0), 5.0) == pytest.approx((3.0, 0.0))
    assert gradient(lambda r: dual_clipped(r, torch.tensor(-1.0), 0.2, 0.2, 3.0), 2.0) == pytest.approx((2.0, 1.0))
    assert gradient(lambda r: dual_clipped(r, torch.tensor(1.0), 0.2, 0.2, 3.0), 0.5) == pytest.approx((-0.5, -1.0))
    with pytest.raises(ValueError, match="more than 1"):
        DualClip(bound=1.0)


def test_a_wider_upper_clip_lets_good_actions_grow_further():
    assert gradient(lambda r: clipped(r, torch.tensor(1.0), 0.2, 0.28), 1.25) == pytest.approx((-1.25, -1.0))


DRIFT = [0.1, 0.3, -0.1]


def drifted(masks=None, extra=0.0):
    """One sequence of advantage 1 whose log-ratios are DRIFT, and its current log-probabilities."""
    behavior = torch.full((3,), -1.0)
    logp = (behavior + torch.tensor(DRIFT)).requires_grad_()
    batch = make_batch(behavior=[behavior.tolist()], advantages=[[1.0] * 3], masks=masks)
    return {"logp": logp}, batch


def test_the_length_normalised_sequence_ratio_pulls_every_token_alike():
    out, batch = drifted()
    loss = total(Term(MeanRatioClip(0.2, 0.2), sequence_mean), out, batch)
    loss.backward()
    assert -loss.item() == pytest.approx(1.10517, abs=1e-5)
    assert out["logp"].grad.tolist() == pytest.approx([-0.36839] * 3, abs=1e-5)


def test_the_capped_weight_never_silences_a_token():
    out, batch = drifted()
    total(Term(Capped(high=1.2), token_mean), out, batch).backward()
    assert out["logp"].grad.tolist() == pytest.approx([-0.36839, -0.4, -0.30161], abs=1e-5)


def test_the_whole_sequence_ratio_is_the_ratio_of_the_products():
    out, batch = drifted()
    loss = total(Term(SequenceRatioClip(0.9, 0.9), sequence_mean), out, batch)
    loss.backward()
    assert loss.item() == pytest.approx(-math.exp(0.3), abs=1e-6)
    assert out["logp"].grad.tolist() == pytest.approx([-math.exp(0.3)] * 3, abs=1e-5)


def test_masked_tokens_leave_the_sequence_ratio_alone():
    out, batch = drifted(masks=[[1, 0, 1]])
    loss = total(Term(MeanRatioClip(0.2, 0.2), sequence_mean), out, batch)
    assert loss.item() == pytest.approx(-1.0, abs=1e-6)  # mean of 0.1 and -0.1


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_whatever_stands_on_masked_tokens_reaches_neither_loss_nor_gradient(objective, poison):
    logp = torch.tensor([poison, -1.0, poison, -2.0], requires_grad=True)
    batch = make_batch(
        masks=[[0, 1, 0, 1]],
        behavior=[[poison, -1.1, poison, -1.9]],
        advantages=[[poison, 1.0, poison, 0.5]],
        correction=[[poison, 1.0, poison, 0.5]],
    )
    loss = total(Term(objective), {"logp": logp}, batch)
    loss.backward()
    assert math.isfinite(loss.item())
    assert logp.grad[[0, 2]].tolist() == [0.0, 0.0]
    assert torch.isfinite(logp.grad).all()
    assert logp.grad[1] != 0


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_advantage_no_gradient_as_declared(objective):
    logp = torch.tensor([-1.0, -2.0], requires_grad=True)
    batch = make_batch(behavior=[[-1.3, -1.5]], advantages=[[0.0, 0.0]])
    total(Term(objective), {"logp": logp}, batch).backward()
    assert isinstance(objective, Objective)
    assert objective.inert_without_advantage
    assert logp.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("objective", [Clip(), DualClip(), SequenceRatioClip(), MeanRatioClip(), Capped()])
def test_absurd_ratios_stay_finite(objective):
    for shift in (-500.0, 500.0):
        for advantage in (-1.0, 1.0):
            logp = torch.tensor([-1.0 + shift, -2.0], requires_grad=True)
            batch = make_batch(behavior=[[-1.0, -2.0]], advantages=[[advantage] * 2])
            loss = total(Term(objective), {"logp": logp}, batch)
            loss.backward()
            assert math.isfinite(loss.item())
            assert torch.isfinite(logp.grad).all()


def test_ratios_are_taken_against_recomputed_log_probabilities_where_there_are_any():
    batch = make_batch(behavior=[[-1.0, -2.0]])
    assert old_logp(batch).tolist() == [-1.0, -2.0]
    assert old_logp(batch.put(old=torch.tensor([-1.5, -2.5]))).tolist() == [-1.5, -2.5]


def test_the_correction_multiplies_loss_and_gradient_token_by_token():
    logp = torch.tensor([-1.0, -2.0], requires_grad=True)
    batch = make_batch(behavior=[[-1.0, -2.0]], advantages=[[1.0, -2.0]])
    plain = Clip()({"logp": logp}, batch)
    assert Corrected(Clip())({"logp": logp}, batch).tolist() == plain.tolist()
    corrected = Corrected(Clip())({"logp": logp}, batch.put(correction=torch.tensor([2.0, 0.5])))
    assert corrected.tolist() == [-2.0, 1.0]
    corrected.sum().backward()
    assert logp.grad.tolist() == [-2.0, 1.0]


def test_the_importance_weight_keeps_the_needs_of_what_it_wraps():
    weighted = ImportanceWeighted(KLToReference())
    assert weighted.needs == ("ref",)
    assert weighted.wants == ("logp",)
    assert not weighted.inert_without_advantage


@pytest.mark.parametrize(
    ("reduce", "value"), [(token_mean, 1.75), (sequence_mean, 1.5), (sequence_sum, 3.5), (constant(4), 0.875)]
)
def test_the_four_aggregations(reduce, value):
    batch = make_batch(advantages=[[1.0], [2.0, 2.0, 2.0]])
    loss = total(Term(PolicyGradient(), reduce), {"logp": torch.full((4,), -1.0)}, batch)
    assert loss.item() == pytest.approx(value)


def in_parts(batch, logp, cuts):
    """The token-mean policy loss summed over micro-batches whose weights were computed over the whole batch."""
    weights = token_mean(batch, batch.mask)
    parts = torch.arange(len(batch)).split(cuts)
    return sum(
        (weights[rows] * PolicyGradient()({"logp": logp[rows]}, batch.select(rows))).sum().item() for rows in parts
    )


@pytest.mark.parametrize("cuts", [[3, 1], [4], [1, 1, 1, 1]], ids=str)
def test_the_token_mean_does_not_depend_on_how_the_batch_is_cut(cuts):
    batch = make_batch(advantages=[[1.0, 1.0, 1.0], [5.0]])
    assert in_parts(batch, torch.full((4,), -1.0), cuts) == pytest.approx(2.0)


def test_masked_completions_leave_the_denominator():
    batch = make_batch(advantages=[[0.5] * 4, [9.0] * 12], masks=[[1] * 4, [0] * 12])
    assert total(Term(PolicyGradient()), {"logp": torch.full((16,), -1.0)}, batch).item() == pytest.approx(0.5)


@pytest.mark.parametrize("reduce", [token_mean, sequence_mean, sequence_sum, constant(4)])
def test_a_batch_without_any_trainable_token_has_loss_zero(reduce):
    logp = torch.full((4,), -1.0, requires_grad=True)
    batch = make_batch(advantages=[[0.5] * 4], masks=[[0] * 4])
    loss = total(Term(PolicyGradient(), reduce), {"logp": logp}, batch)
    loss.backward()
    assert loss.item() == 0.0
    assert logp.grad.tolist() == [0.0] * 4
