"""The losses of pairs and of labelled completions on batches: by hand, their gradients, and what they converge to."""

import math
from itertools import permutations

import pytest
import torch

from guerdon.losses.paired import IPO, KTO, Anchor, Chosen, OddsRatio, SimPO
from guerdon.losses.policy import Corrected
from guerdon.losses.preference import DPO, token_average, token_sum
from guerdon.losses.supervised import NegativeLogLikelihood
from guerdon.method import Term
from guerdon.reduce import group_mean, sequence_mean
from tests.batches import make_batch, total
from tests.losses.test_preference import pairs


@pytest.mark.parametrize(("level", "differences"), [(token_sum, (1.5, 1.75)), (token_average, (0.75, 0.75))])
def test_ipo_by_hand(level, differences):
    out, batch = pairs()
    loss = total(Term(IPO(0.5, level), group_mean), out, batch)
    loss.backward()
    assert loss.item() == pytest.approx(sum((h - 1) ** 2 for h in differences) / 2, abs=1e-6)
    pull = 2 * (differences[0] - 1) / 2 * (1 if level is token_sum else 0.5)
    assert out["logp"].grad[:2].tolist() == pytest.approx([pull, pull], abs=1e-6)


def test_simpo_by_hand():
    """Means -0.5 and -1.25 in both pairs."""
    out, batch = pairs()
    loss = total(Term(SimPO(2.0, 1.0), group_mean), out, batch)
    loss.backward()
    assert loss.item() == pytest.approx(math.log1p(math.exp(-(2 * 0.75 - 1.0))), abs=1e-6)
    assert "ref" not in SimPO().needs
    slope = 2.0 / (1 + math.exp(0.5)) / 2
    assert out["logp"].grad[:5].tolist() == pytest.approx([-slope / 2, -slope / 2, 0.0, slope / 2, slope / 2], abs=1e-6)


def test_orpo_by_hand():
    batch = Chosen()(make_batch([1.0, -1.0], masks=[[0, 1, 1], [0, 1]]))
    logp = torch.tensor([0.0, -0.5, -1.5, 0.0, -1.5])
    assert total(Term(OddsRatio(), group_mean), {"logp": logp}, batch).item() == pytest.approx(0.401135, abs=1e-6)
    imitation = Term(NegativeLogLikelihood(), sequence_mean, mask="chosen")
    assert total(imitation, {"logp": logp}, batch).item() == pytest.approx(1.0)
    assert batch.stream("chosen").tolist() == [False, True, True, False, False]


def test_with_prompts_all_but_first_tokens_are_imitated_and_the_odds_stay_those_of_the_reply():
    plain = make_batch([-1.0, 1.0], masks=[[0, 0, 1], [0, 0, 1, 1]])
    batch = Chosen(prompts=True)(plain)
    assert batch.mask.tolist() == [False, True, True, False, True, True, True]
    assert batch.stream("chosen").tolist() == [False, False, False, False, True, True, True]
    logp = torch.tensor([0.0, -7.0, -1.5, 0.0, -7.0, -1.0, -1.0])
    assert total(Term(OddsRatio(), group_mean), {"logp": logp}, batch).item() == pytest.approx(0.401135, abs=1e-6)


@pytest.mark.parametrize("certain", [0.0, -1e-9])
def test_a_certain_completion_and_a_tied_pair_give_orpo_no_nan(certain):
    batch = Chosen()(make_batch([1.0, -1.0, 0.0, 0.0], groups=[0, 0, 1, 1], masks=[[1]] * 4))
    logp = torch.tensor([certain, -1.0, -1.0, -2.0], requires_grad=True)
    total(Term(OddsRatio(), group_mean), {"logp": logp}, batch).backward()
    assert logp.grad.isfinite().all()
    assert logp.grad[2:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("objective", [IPO(), SimPO(), OddsRatio()], ids=lambda o: type(o).__name__)
def test_a_tied_pair_teaches_nothing_and_other_groups_are_refused(objective):
    out, batch = pairs()
    tied = Chosen()(batch.put(reward=torch.zeros(10)))
    loss = total(Term(objective, group_mean), out, tied)
    loss.backward()
    assert loss.item() == 0.0
    assert out["logp"].grad.abs().sum() == 0
    single = make_batch([1.0], ref=[[0.0, 0.0]], reply=[[1.0, 1.0]])
    with pytest.raises(ValueError, match="groups of two"):
        objective({"logp": torch.zeros(2)}, single)


# --- KTO -------------------------------------------------------------------------------------------------------------


def labelled(mismatched=(0.5, 0.5)):
    """rho 1.5 desirable, rho -0.5 not, each with a mismatched completion of this log-ratio."""
    ratios = [1.5, mismatched[0], -0.5, mismatched[1]]
    batch = make_batch(
        returns=[1.0, 0.0, -1.0, 0.0],
        groups=[0, 0, 1, 1],
        masks=[[0, 1, 1]] * 4,
        ref=[[0.0, -1.0, -1.0]] * 4,
        old=[[0.0, r / 2 - 1, r / 2 - 1] for r in ratios],
        mismatched=[[0.0, float(i % 2), float(i % 2)] for i in range(4)],
    )
    return {"logp": batch.stream("old").clone().requires_grad_()}, batch


def test_kto_by_hand():
    out, batch = labelled()
    batch = Anchor()(batch)
    assert batch.stream("anchor").tolist() == [0.5] * 12
    assert batch.stream("own").tolist() == [False, True, True, False, False, False] * 2
    loss = total(Term(KTO(0.1), sequence_mean, mask="own"), out, batch)
    assert loss.item() == pytest.approx(0.475021, abs=1e-6)
    loss.backward()
    slope = 0.1 * 0.475021 * (1 - 0.475021) / 2
    expected = [0.0, -slope, -slope, 0.0, 0.0, 0.0, 0.0, slope, slope, 0.0, 0.0, 0.0]
    assert out["logp"].grad.tolist() == pytest.approx(expected, abs=1e-7)


def test_kto_weighs_good_and_bad_and_the_anchor_is_not_negative():
    out, batch = labelled(mismatched=(-2.0, 1.0))
    batch = Anchor()(batch)
    assert batch.stream("anchor").max() == 0.0
    losses = KTO(0.1, good=2.0, bad=3.0)(out, batch)
    expected = (2 / (1 + math.exp(0.15)), 3 / (1 + math.exp(0.05)))
    assert (losses[1].item(), losses[7].item()) == pytest.approx(expected, abs=1e-6)


def test_kto_may_average_log_ratios():
    out, batch = labelled()
    batch = Anchor(token_average)(batch)
    assert batch.stream("anchor")[0].item() == pytest.approx(0.25)
    losses = KTO(0.1, level=token_average)(out, batch)
    assert losses[1].item() == pytest.approx(1 / (1 + math.exp(0.1 * (0.75 - 0.25))), abs=1e-6)


def test_kto_without_mismatched_completions_says_how_to_make_them():
    batch = make_batch([1.0, -1.0], groups=[0, 1], ref=[[0.0] * 2] * 2, old=[[0.0] * 2] * 2)
    with pytest.raises(ValueError, match="with_mismatched"):
        Anchor()(batch)


# --- five completions that can be enumerated -------------------------------------------------------------------------

REWARD = torch.tensor([1.0, -0.5, 0.3, 0.0, 2.0], dtype=torch.float64)
REFERENCE = torch.tensor([0.4, 0.1, 0.2, 0.05, 0.25], dtype=torch.float64).log()


def every_pair(probability):
    """Every ordered pair (better, worse) of the five, weighted by how often it is labelled so."""
    order = list(permutations(range(5), 2))
    batch = make_batch([1.0, -1.0] * 20, groups=[i // 2 for i in range(40)], masks=[[1]] * 40)
    completion = torch.tensor(order).flatten()
    weight = torch.tensor([probability(REWARD[i], REWARD[j]) for i, j in order]).double().repeat_interleave(2)
    return completion, batch.put(ref=REFERENCE[completion], correction=weight)


def minimised(objective, probability, steps=12):
    """Log-probabilities of the tabular policy that minimises the expected loss, by Newton's method."""
    completion, batch = every_pair(probability)
    term = Term(Corrected(objective), group_mean)

    def loss(logits):
        return total(term, {"logp": logits.log_softmax(0)[completion]}, batch)

    logits = REFERENCE.clone()
    for _ in range(steps):
        gradient = torch.autograd.functional.jacobian(loss, logits)
        curvature = torch.autograd.functional.hessian(loss, logits)
        logits = logits - torch.linalg.pinv(curvature, atol=1e-12) @ gradient
    return logits.log_softmax(0)


def bradley_terry(better, worse):
    return torch.sigmoid(better - worse).item()


@pytest.mark.parametrize("beta", [0.3, 1.0], ids=str)
def test_dpo_recovers_the_optimum_of_the_rewards_behind_bradley_terry_labels(beta):
    expected = (REFERENCE + REWARD / beta).log_softmax(0)
    torch.testing.assert_close(minimised(DPO(beta), bradley_terry), expected, atol=1e-5, rtol=1e-5)


def test_dpo_with_smoothing_recovers_it_from_labels_that_were_flipped_that_often():
    def flipped(better, worse):
        return 0.8 * bradley_terry(better, worse) + 0.2 * bradley_terry(worse, better)

    beta, e = 1.0, 0.2
    plain = minimised(DPO(beta), flipped)
    smooth = minimised(DPO(beta, e), bradley_terry)
    torch.testing.assert_close(plain, smooth, atol=1e-5, rtol=1e-5)


def test_ipo_is_the_least_squares_fit_of_the_labels():
    """h_ij = (p_ij - p_ji) / (2 beta) is fitted best by f_i - f_j with f_i its mean over j."""
    beta = 0.5
    p = torch.sigmoid(REWARD[:, None] - REWARD[None])
    fit = ((p - p.T) / (2 * beta)).sum(1) / 5
    expected = (REFERENCE + fit).log_softmax(0)
    torch.testing.assert_close(minimised(IPO(beta), bradley_terry), expected, atol=1e-5, rtol=1e-5)


def accuracy(scores):
    """Share of pairs in the order of their rewards; a tie is no order."""
    return sum((scores[i] > scores[j]).item() for i, j in permutations(range(5), 2) if REWARD[i] > REWARD[j]) / 10


@pytest.mark.parametrize("objective", [SimPO(2.0, 0.5), IPO(0.1), DPO(0.1)], ids=lambda o: type(o).__name__)
def test_pairwise_accuracy_rises(objective):
    found = minimised(objective, bradley_terry)
    scores = found if isinstance(objective, SimPO) else found - REFERENCE
    before = REFERENCE if isinstance(objective, SimPO) else torch.zeros(5)
    assert accuracy(before) < accuracy(scores) == 1.0
