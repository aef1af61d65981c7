import math

import pytest
import torch

from guerdon.losses.divergence import KLToReference, adapt, k1, k2, k3
from guerdon.losses.policy import ImportanceWeighted
from tests.batches import make_batch


def expected_gradient(objective, policy, reference, sampled_from=None):
    """Logit gradient and value of a KL term, expected over both actions of a two-armed softmax policy."""
    behavior = sampled_from or policy
    logits = torch.tensor(policy, dtype=torch.float64).log().requires_grad_()
    logp = logits.log_softmax(0)
    batch = make_batch(behavior=[[math.log(b)] for b in behavior], ref=[[math.log(q)] for q in reference])
    loss = (torch.tensor(behavior) * objective({"logp": logp}, batch)).sum()
    loss.backward()
    return loss.item(), logits.grad.tolist()


@pytest.mark.parametrize(
    ("estimator", "value", "slope"),
    [(k1, 0.0823, 0.0), (k2, 0.0788, 0.1779), (k3, 0.0823, 0.2)],
    ids=["k1", "k2", "k3"],
)
def test_each_estimator_by_enumeration(estimator, value, slope):
    found, gradient = expected_gradient(KLToReference(estimator, estimator), (0.7, 0.3), (0.5, 0.5))
    assert found == pytest.approx(value, abs=5e-5)
    assert gradient == pytest.approx([slope, -slope], abs=5e-5)


@pytest.mark.parametrize(("estimator", "slope"), [(k1, 0.0), (k2, 0.22181), (k3, 0.3)], ids=["k1", "k2", "k3"])
def test_which_divergence_the_gradient_descends(estimator, slope):
    gradient = expected_gradient(KLToReference(k3, estimator), (0.8, 0.2), (0.5, 0.5))[1]
    assert gradient[0] == pytest.approx(slope, abs=1e-5)


def test_the_value_of_one_and_the_gradient_of_another():
    value, gradient = expected_gradient(KLToReference(value=k3, gradient=k2), (0.8, 0.2), (0.5, 0.5))
    assert value == pytest.approx(0.19274, abs=1e-5)
    assert gradient[0] == pytest.approx(0.22181, abs=1e-5)


@pytest.mark.parametrize("behavior", [(0.8, 0.2), (0.4, 0.6)], ids=["fresh", "stale"])
@pytest.mark.parametrize("estimator", [k1, k3], ids=["k1", "k3"])
def test_with_the_importance_weight_it_is_the_reverse_divergence_whoever_sampled(behavior, estimator):
    weighted = ImportanceWeighted(KLToReference(estimator, estimator))
    value, gradient = expected_gradient(weighted, (0.8, 0.2), (0.5, 0.5), sampled_from=behavior)
    assert value == pytest.approx(0.19274, abs=1e-5)
    assert gradient[0] == pytest.approx(0.22181, abs=1e-5)


def test_without_it_older_samples_descend_something_else():
    stale = expected_gradient(KLToReference(k3, k2), (0.8, 0.2), (0.5, 0.5), sampled_from=(0.4, 0.6))
    assert abs(stale[1][0] - 0.22181) > 0.1


def test_it_is_finite_far_away_and_blind_to_masked_tokens():
    logp = torch.tensor([-1e4, math.nan, 0.0], requires_grad=True)
    batch = make_batch(masks=[[1, 0, 1]], ref=[[0.0, math.nan, -1e4]])
    loss = KLToReference()({"logp": logp}, batch)
    loss.sum().backward()
    assert torch.isfinite(loss).all()
    assert torch.isfinite(logp.grad).all()
    assert loss[1] == 0


def test_it_trains_on_sequences_without_advantage():
    assert not KLToReference().inert_without_advantage
    assert KLToReference().needs == ("ref",)


def test_the_controller_raises_lowers_and_keeps_the_weight():
    assert adapt(0.1, kl=12.0, target=6.0, n=256) == pytest.approx(0.100512, abs=1e-9)
    assert adapt(0.1, kl=0.0, target=6.0, n=256) == pytest.approx(0.099488, abs=1e-9)
    assert adapt(0.1, kl=6.0, target=6.0, n=256) == 0.1
